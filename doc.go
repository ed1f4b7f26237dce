// Package obstat decides what an agent's tool call may do.
//
// A [Program] is what a configuration means: plain data, a pipeline of stages
// per mode over named lists of rules. [Compile] makes it a [Policy], immutable,
// indexed and safe for concurrent use, and [Policy.Decide] answers one [Call]
// with a [Decision]: allow, ask a human, or deny, by which rule of which file
// and line. Nothing here touches a file, a clock or the network: what a
// decision has to know of the machine comes through a [World], so that a
// recorded decision replays exactly.
//
// The package owns the words, the engine and the floor (what holds above every
// dialect for calls that run commands). It does not read anybody's
// configuration files: the dialect packages turn those into Programs.
package obstat

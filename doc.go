// Package obstat decides what an agent's tool call may do.
//
// A [Program] is the meaning of a configuration as plain data: a pipeline of
// stages per mode over named lists of rules. [Compile] makes it a [Policy], immutable,
// indexed and safe for concurrent use, and [Policy.Decide] answers one [Call]
// with a [Decision]: allow, ask a human, or deny, by which rule of which file
// and line. Nothing here touches a file, a clock or the network: home
// directories and symbolic links come through a [World], so that a recorded
// decision replays exactly.
//
// The package owns the words, the engine and the floor: under every dialect, each
// command of a call and each file it would write is judged by the same rules. It does not read anybody's
// configuration files: the dialect packages turn those into Programs.
package obstat

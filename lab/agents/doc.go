// Package agents runs the real agents against a scripted model, with obstat's
// hook installed by `obstat install`, and reads off the file system which calls
// ran.
//
// It owns the model server, which speaks the wire forms that agents use, the
// tool server that agents are given, how each agent is installed and started,
// the scenarios, and the table of results. It takes no part in deciding: obstat
// is a program that it starts, like the agents. Nothing in the product imports
// it.
package agents

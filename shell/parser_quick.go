//go:build obstat_quick

package shell

// slow is Parse with the parser, which this program is built without: it starts
// faster, and leaves to another one what it cannot read.
func slow(string, Options) *Script { panic(NoParser{}) }

// Command obstat answers an agent's tool calls: allow, ask or deny,
// and why. Everything it does is in internal/face/cli.
package main

import (
	"os"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/face/cli"
)

func main() {
	confine.Main() // the part of a confined run that is a process of its own
	os.Exit(int(cli.Main(os.Args[1:], cli.System())))
}

// Command obstat answers an agent's tool calls: allow, ask or deny,
// and why. Everything it does is in internal/face/cli.
package main

import (
	"os"

	"github.com/obstat/obstat/internal/face/cli"
)

func main() { os.Exit(int(cli.Main(os.Args[1:], cli.System()))) }

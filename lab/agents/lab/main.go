// Command lab runs the real agents with obstat's hook against a scripted model:
// `make test-agents`.
package main

import (
	"os"

	"github.com/obstat/obstat/lab/agents"
)

func main() { os.Exit(agents.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

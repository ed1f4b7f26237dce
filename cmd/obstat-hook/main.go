// Command obstat-hook answers one call of an agent, as `obstat hook AGENT` does,
// and starts faster: it answers what it can from policies that are cached,
// and leaves everything else to the obstat command beside it.
package main

import (
	"os"

	"github.com/obstat/obstat/internal/hookrun"
	_ "github.com/obstat/obstat/internal/roomy" // the stack grows once, at the beginning
)

func main() { os.Exit(hookrun.Quick(os.Args[1:])) }

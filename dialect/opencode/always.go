package opencode

import "github.com/obstat/obstat/shell"

func alwaysOf(src string, sc *shell.Command) []string { return nil }

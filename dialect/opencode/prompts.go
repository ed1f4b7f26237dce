package opencode

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// Prompts tells whether the program asks about a call in its own prompt: its asks come one after the other, and
// before one that asks no other may deny. It counts equal calls within one message alone, so that `doom_loop` is left
// out.
func (Dialect) Prompts(l *dialect.Loaded, call *obstat.Call, world obstat.World, approved map[string][]string) bool {
	mode := call.Mode
	if mode == "" {
		mode = l.Program.Mode
	}
	rules, known := l.Program.Rules[listAgent+string(mode)]
	if !known || OrderOf(l.Program) != Last {
		return false
	}
	once := *call
	once.Repeat = 0
	asks, err := Asks(Last, false, &once, world)
	if err != nil {
		return false
	}
	for i := range asks {
		a := &asks[i]
		asked := false
		for _, p := range a.Patterns {
			switch answer(rules, approved[a.Permission], a.Permission, p) {
			case obstat.Deny:
				return false
			case obstat.Ask:
				asked = true
			}
		}
		if asked {
			return true
		}
	}
	return false
}

// answer returns the program's answer to one pattern: by what a person has approved, else by the last rule that
// matches.
func answer(rules []obstat.Rule, approved []string, permission, pattern string) obstat.Verdict {
	if slices.ContainsFunc(approved, func(p string) bool { return wildcard(p, pattern) }) {
		return obstat.Allow
	}
	for i := len(rules) - 1; i >= 0; i-- {
		if r := RuleOf(&rules[i]); wildcard(r.Permission, permission) && wildcard(r.Pattern, pattern) {
			return r.Action
		}
	}
	return obstat.Ask
}

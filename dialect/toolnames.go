package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/tree"
)

// A ToolNamer is a Dialect whose rules name tools.
type ToolNamer interface {
	// ToolNames returns the names of tools in a rule, patterns left out. open: people give
	// tools names of their own in that system, so that only a misspelling is a mistake.
	ToolNames(r *obstat.Rule) (names []string, open bool)
}

// Lint returns what the dialect's own [Linter] finds, and warns of rules for tools that no agent has:
// they would never match.
func Lint(l *Loaded) (out obstat.Errors) {
	if d, ok := l.Dialect.(Linter); ok {
		out = d.Lint(l.Input, l.Program)
	}
	d, ok := l.Dialect.(ToolNamer)
	if !ok || l.Program.Dialect != "" && l.Program.Dialect != l.Dialect.Name() {
		return out // a Program that was printed from other files has their names
	}
	var own []string
	if lib := l.Dialect.Library(); lib != nil {
		for _, t := range lib.Own {
			own = append(own, t.Tools...)
		}
	}
	told := map[string]bool{}
	for _, rules := range l.Program.Rules {
		for i := range rules {
			r := &rules[i]
			if !slices.ContainsFunc(l.Input.Files, func(f File) bool { return f.Name == r.Pos.File }) {
				continue // one that comes with the system
			}
			names, open := d.ToolNames(r)
			for _, name := range names {
				if e := unknownTool(name, own, open, r.Pos); e != nil && !told[name+e.Pos.String()] {
					told[name+e.Pos.String()] = true
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// unknownTool warns of a name that no agent's tool has. One with a separator may be a server's tool, and is
// a mistake only where it is a letter away from another.
func unknownTool(name string, own []string, open bool, pos obstat.Pos) *obstat.Error {
	_, known := effect.Lookup(name)
	if known || slices.Contains(own, name) || name == "search" {
		return nil
	}
	if name == "" || strings.ContainsAny(name, "*?[") {
		return nil
	}
	names := own[:len(own):len(own)]
	for _, t := range effect.Tools() {
		names = append(names, t.Name, t.Canonical)
	}
	at := slices.IndexFunc(names, func(n string) bool { return misspelt(name, n) })
	e := &obstat.Error{Code: obstat.CodeNoEffect, Pos: pos, Warning: true,
		Msg: fmt.Sprintf("no agent has a tool %s", name), Hint: "docs/program.md has the kinds of tools"}
	switch {
	case at >= 0:
		e.Hint = fmt.Sprintf("did you mean %q?", names[at])
	case open || strings.ContainsAny(name, "_-:./"):
		return nil
	default:
		if near := Near(name, names...); near != "" {
			e.Hint = near
		}
	}
	return e
}

// misspelt tells whether two names are one slip apart: `Bsh` and `Bash`.
func misspelt(a, b string) bool {
	short, long := min(len(a), len(b)), max(len(a), len(b))
	return short >= 3 && long-short <= 1 && tree.Distance(a, b) == 1
}

// Near is the hint for a word that is written almost like a known one, "" where
// none is near.
func Near(word string, known ...string) string {
	if near, ok := tree.Nearest(word, known...); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

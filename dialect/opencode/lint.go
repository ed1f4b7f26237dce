package opencode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
)

var _ dialect.Linter = Dialect{}

// Lint finds rules that work as written and rarely as meant: a file that decides
// differently in the other order, rules that can never match, and agents that
// can start one another for ever.
func (Dialect) Lint(in *dialect.Input, p *obstat.Program) obstat.Errors {
	l := read(in)
	if l.Errs.Fatal() != nil {
		return nil // loading has said so
	}
	l.Errs = nil
	files, session := l.split()
	rules := Merge(files, session)
	l.otherOrder(rules)
	l.misspelled(rules)
	if l.order == Last {
		l.neverMatch(rules)
		l.circles(l.agentsOf(files, session))
	}
	return l.Errs
}

// maxTried bounds how many values are tried.
const maxTried = 50_000

// A difference is a value that the two orders answer differently.
type difference struct {
	permission, value string
	here, there       obstat.Verdict
	pos               obstat.Pos
}

// otherOrder names the first call of each file that the other order answers
// differently. Only the program reads "permission", and takes the last match: such a
// file is never misread, unless it lies where the document's does.
func (l *loader) otherOrder(rules Ruleset) {
	for _, d := range l.differences(rules) {
		if l.order == Last && !strings.HasSuffix(d.pos.File, documentFile) {
			continue
		}
		l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeRisky, Warning: true, Pos: d.pos, Hint: orderHints[l.order],
			Msg: fmt.Sprintf("this file decides differently with order %s: %s is %s here and %s there", l.order.other(),
				example(d.permission, d.value), d.here, d.there)})
	}
}

// differences tries values that the rules' patterns are about, and returns one
// difference a file.
func (l *loader) differences(rules Ruleset) (out []difference) {
	here, err := rules.policy(l.order)
	there, err2 := rules.policy(l.order.other())
	if err != nil || err2 != nil {
		return nil // a pattern that only one of the two can read
	}
	left, told := maxTried, map[string]bool{}
	for i := range rules {
		r := &rules[i]
		for _, permission := range l.permissions(r) {
			for _, value := range l.values(r) {
				if left--; told[r.Pos.File] || left < 0 {
					break
				}
				a, b := evaluate(here, permission, value), evaluate(there, permission, value)
				if a.Verdict == b.Verdict {
					continue
				}
				told[r.Pos.File] = true
				d := difference{permission, value, a.Verdict, b.Verdict, r.Pos}
				if a.Rule != nil && a.Rule.Pos.File == r.Pos.File {
					d.pos = a.Rule.Pos
				}
				out = append(out, d)
			}
		}
	}
	return out
}

var orderHints = map[Order]string{
	First: "opencode itself takes the last match; where the first is meant to count, put the special rules first and write patterns that mean the same in both",
	Last:  "the document takes the first match; whoever reads the file that way is misled",
}

// permissions returns the permissions to try a rule with.
func (l *loader) permissions(r *Rule) []string {
	switch {
	case r.Permission == "*":
		return []string{"bash", "read", "edit"}
	case plainName(r.Permission):
		return []string{r.Permission}
	}
	return []string{strings.NewReplacer("*", "x", "?", "x").Replace(r.Permission), r.Permission}
}

// values returns values that a rule may be about, in either order.
func (l *loader) values(r *Rule) (out []string) {
	for _, fill := range []string{"x", "a/b", ".x", "x y", ""} {
		out = appendNew(out, strings.NewReplacer("**/", "", "**", fill, "*", fill, "?", "x").Replace(r.Pattern))
	}
	return appendNew(out, strings.ReplaceAll(r.Pattern, "**", "x/y"))
}

// example writes a call that asks for a permission with a value.
func example(permission, value string) string {
	fields := map[string]string{"bash": "command", "read": "filePath", "edit": "filePath", "webfetch": "url",
		"websearch": "query",
		"glob":      "pattern", "grep": "pattern", "list": "path", "task": "subagent_type", "skill": "name"}
	if f := fields[permission]; f != "" {
		return fmt.Sprintf("%s {%s: %s}", permission, jsonx.Quote(f), jsonx.Quote(value))
	}
	return fmt.Sprintf("%s of %s", permission, jsonx.Quote(value))
}

// misspelled warns of permissions that no tool asks for and that are written almost like
// one that some tool does: `raed`, `Bash`.
func (l *loader) misspelled(rules Ruleset) {
	names := []string{permExternal, permDoomLoop}
	for _, t := range tools() {
		names = appendNew(names, t.permission)
	}
	slices.Sort(names)
	letters := func(s string) string { b := []byte(strings.ToLower(s)); slices.Sort(b); return string(b) }
	seen := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		known := builtinName(r.Permission) || slices.Contains(single, r.Permission)
		if seen[r.Permission] || known || !plainName(r.Permission) {
			continue
		}
		seen[r.Permission] = true
		near := r.Permission
		if at := slices.IndexFunc(names, func(n string) bool { return letters(n) == letters(r.Permission) }); at >= 0 {
			near = names[at]
		}
		if hint := dialect.Near(near, names...); hint != "" {
			l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeUnknownName, Warning: true, Pos: r.Pos, Hint: hint,
				Msg: fmt.Sprintf("no tool of opencode asks for %q", r.Permission)})
		}
	}
}

// neverMatch warns of rules that nothing the program asks can match.
func (l *loader) neverMatch(rules Ruleset) {
	for i := range rules {
		r := &rules[i]
		if msg, hint := dead(r); msg != "" {
			l.Errs = append(l.Errs, &obstat.Error{Code: obstat.CodeNoEffect, Warning: true, Pos: r.Pos, Msg: msg, Hint: hint})
		}
	}
}

// single are the permissions that are always asked with one pattern.
var single = []string{"lsp", "todowrite", "question", "plan_enter", "plan_exit"}

// dead tells why a rule can never match, and what to write instead; "" where it can.
func dead(r *Rule) (msg, hint string) {
	whole := fmt.Sprintf("write %q: %q", r.Permission, r.Action)
	absolute := needsHome(r.Pattern) || strings.HasPrefix(r.Pattern, "/") || strings.HasPrefix(r.Pattern, "~")
	matchesAll := wildcard(r.Pattern, "*")
	server := plainName(r.Permission) && strings.Contains(r.Permission, "_") && !builtinName(r.Permission)
	switch {
	case r.Short || r.Pattern == "*":
	case absolute && slices.Contains([]string{"read", "edit", "list"}, r.Permission):
		return fmt.Sprintf("%s is asked with paths relative to the worktree, so %q never matches", r.Permission, r.Pattern),
			"write the path from the worktree's root, or use external_directory"
	case slices.Contains(single, r.Permission) && !matchesAll:
		return fmt.Sprintf("%s has no patterns to match, so %q never matches", r.Permission, r.Pattern), whole
	case server && !matchesAll:
		return fmt.Sprintf("a tool of an MCP server is asked about as a whole, so %q never matches", r.Pattern), whole
	}
	return "", ""
}

// builtinName tells whether a permission is one of opencode's own.
func builtinName(name string) bool {
	if name == permExternal || name == permDoomLoop {
		return true
	}
	for _, t := range tools() {
		if t.permission == name {
			return true
		}
	}
	return false
}

// circles warns of agents that can start one another in a circle.
func (l *loader) circles(agents []agent) {
	byName := map[string]*agent{}
	var names []string
	for i := range agents {
		if a := &agents[i]; a.pos.IsValid() {
			byName[a.name] = a
			names = append(names, a.name)
		}
	}
	starts := func(a, b string) bool {
		rules := byName[a].rules
		own := func(r Rule) bool { return r.Permission == "task" && r.Layer != layerDefaults }
		if byName[b].mode == modePrimary || !slices.ContainsFunc(rules, own) {
			return false
		}
		pol, err := rules.policy(Last)
		return err == nil && evaluate(pol, "task", b).Verdict == obstat.Allow
	}
	const most = 64 // a person's files have a handful
	if len(names) > most {
		names = names[:most]
	}
	for i, a := range names {
		for _, b := range names[i:] {
			if !starts(a, b) || !starts(b, a) {
				continue
			}
			e := &obstat.Error{Code: obstat.CodeRisky, Warning: true, Pos: byName[b].pos, Also: []obstat.Pos{byName[a].pos},
				Msg:  fmt.Sprintf("the agents %s and %s may start one another for ever", a, b),
				Hint: "deny one of them to the other under task"}
			if a == b {
				e.Also, e.Msg = nil, fmt.Sprintf("the agent %s may start itself, for ever", a)
				e.Hint = "deny it to itself under task"
			}
			l.Errs = append(l.Errs, e)
		}
	}
}

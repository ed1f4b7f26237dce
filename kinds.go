package obstat

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// Rules of a Program that was written by hand are about kinds of tools, with the floor on: one for
// `Bash` is also for the `run_shell_command` of another agent, one for its `command` for whatever
// field that agent's tool has the command in, and one for `canary_poke` for `mcp__canary__poke`.

// kinds tells whether the Program's rules are about kinds of tools.
func (p *Program) kinds() bool {
	return (p.Dialect == "" || p.Dialect == "program") && p.View == "" && p.HasFloor()
}

// byKind files the rules for a tool under the kinds that they are for.
func (l *list) byKind(tool string, idx *toolIndex) {
	for _, k := range effect.ToolKinds(tool) {
		l.kinds[k] = append(l.kinds[k], idx)
	}
}

// kindMark begins the kinds among the tools of a When.
const kindMark = "kind "

// has tells whether a tool is among those of a When, by its name or by its kind.
func (st *step) has(tool string) bool {
	if _, named := st.tools[tool]; named || !st.kinds {
		return named
	}
	_, of := st.tools[kindMark+effect.ToolKind(tool)]
	return of
}

// isFor tells whether rules for t are for a tool.
func (l *list) isFor(t Text, tool string, compiled func(Text) *pattern.Pattern) (bool, error) {
	switch {
	case t.IsZero():
		return true, nil
	case l.kinds == nil || t.Flavour != pattern.Exact:
		return compiled(t).Match(tool)
	}
	return slices.Contains(effect.ToolKinds(t.Text), effect.ToolKind(tool)), nil
}

// fromAnchor returns a path of the call as rules write it, from where they start; "" where it is
// not below there.
func (c *Call) fromAnchor(p string) string {
	dir := c.Anchor()
	if !path.IsAbs(p) {
		p = path.Join(c.Dir, p)
	}
	p = path.Clean(p)
	if dir == "" || !path.IsAbs(p) || !paths.Inside(dir, p) || p == dir {
		return ""
	}
	return strings.TrimPrefix(p, strings.TrimSuffix(path.Clean(dir), "/")+"/")
}

// aliases adds, to the fields of a call, those that other agents' tools of the kind hold the same
// in: a rule about `file_path` sees the `filePath` of opencode.
func (pol *Policy) aliases(c *Call, subjects []Subject) []Subject {
	if !pol.kinds {
		return subjects
	}
	t, known := effect.Lookup(c.Tool)
	if !known {
		return subjects
	}
	n := len(subjects)
	add := func(field, text string) {
		if pol.fields[field] && text != "" {
			subjects = append(subjects, Subject{field, text})
		}
	}
	for k, names := range [...][]string{t.Paths, t.Command, t.URL, t.Dir} {
		for i := range subjects[:n] {
			s := subjects[i]
			if !slices.Contains(names, s.Field) {
				continue
			}
			for _, name := range names {
				if name != s.Field {
					add(name, s.Text)
				}
				if at := c.fromAnchor(s.Text); k == 0 && at != s.Text { // a path is also what it is from where rules start
					add(name, at)
				}
			}
		}
	}
	return subjects
}

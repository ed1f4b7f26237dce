package native

import (
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// maxCompared bounds how many pairs of rules are compared for one that can never apply.
const maxCompared = 4_000_000

// neverApplies reports rules that a stricter one always comes before: `allow: read .env` beside
// `deny: read .env`.
func (l *loader) neverApplies() {
	if len(l.rules)*len(l.rules) > maxCompared {
		return
	}
	for _, r := range l.rules {
		if len(r.after) > 0 && r.verdict == obstat.Allow {
			l.r.File = r.file
			l.r.Warn(r.after[0], obstat.CodeRisky,
				"deny or ask after what was done; an agent may do it in order to be allowed this",
				"an allow rule that comes after something")
		}
		for i := range r.targets {
			over := l.shadow(r, &r.targets[i])
			if over == nil {
				continue
			}
			e := r.file.Problem(0, obstat.CodeNoEffect, "this can never apply to %s: the %s rule %q comes first",
				or(r.targets[i].text, r.s.verbs[0]), over.verdict, over.node.Str)
			e.Pos, e.Also = r.file.Within(r.node, r.targets[i].at), []obstat.Pos{over.pos}
			e.Hint = "leave it out of that rule with `except`, or take this one out"
			e.Warning = r.file.Layer != over.file.Layer // the author of the one may not change the other
			l.r.Errs = append(l.r.Errs, e)
		}
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// shadow returns a stricter rule that holds wherever r does.
func (l *loader) shadow(r *rule, t *target) *rule {
	for _, o := range l.rules {
		if r.reversible && o.verdict == obstat.Ask {
			continue // which it comes before
		}
		if o.verdict >= r.verdict || len(o.conds) > 0 || len(o.except) > 0 {
			continue
		}
		for i := range o.targets {
			if o.targets[i].surely(t) && o.s.about(r.s.verbs) { // the verbs cost more
				return o
			}
		}
	}
	return nil
}

// surely tells whether all of o is in t, wherever the workspace and its secrets lie.
func (t *target) surely(o *target) bool {
	switch {
	case t.kind == place && o.kind == place:
		return t.place == o.place
	case t.kind == place:
		return t.place == placeWorkspace && o.kind == path && o.glob.base == fieldPath
	case o.kind == place:
		return t.kind == everything
	}
	return t.contains(o)
}

// about tells whether a stricter sentence is about all of some verbs.
func (s *sentence) about(verbs []string) bool {
	tools := s.tools(false)
	p, err := pattern.Compile(tools.Flavour, tools.Text)
	if err != nil {
		return false
	}
	for _, v := range verbs {
		if ok, _ := p.Match(v); !ok {
			return false
		}
	}
	return true
}

// The place in which examples are tried: a policy is read before it is known where it counts.
const (
	exampleDir  = "/workspace"
	exampleHome = "/home/user"
)

// checkExamples decides the examples of all rules; each has to get its rule's verdict.
func (l *loader) checkExamples(p *obstat.Program, lib *obstat.Library) {
	var pol *obstat.Policy
	for _, r := range l.rules {
		for _, n := range r.examples {
			l.r.File = r.file
			call, err := example(r, n)
			if err != nil {
				l.r.Fail(n, obstat.CodeBadValue, "use values that JSON has", "no call has this input: %v", err)
				continue
			}
			if pol == nil {
				var err error
				if pol, err = obstat.Compile(p, &obstat.Options{Library: lib}); err != nil {
					return // which is reported when the Program is compiled
				}
			}
			d := pol.Decide(call, &obstat.Snapshot{HomeDir: exampleHome, Dirs: []string{"/", exampleDir, exampleHome}})
			if d.Verdict != r.verdict {
				e := l.r.Fail(n, obstat.CodeConflict, "change the example, or the rule that decides it",
					"this example should be %s, and is %s: %s", past(r.verdict), past(d.Verdict), d.Reason())
				if d.Rule != nil && d.Rule.Pos.IsValid() {
					e.Also = append(e.Also, d.Rule.Pos)
				}
			}
		}
	}
}

func past(v obstat.Verdict) string {
	return [...]string{"denied", "asked about", "allowed"}[min(v, obstat.Allow)]
}

var exampleFields = []tree.Field{
	{Name: "tool", Kinds: []tree.Kind{tree.String}, Required: true},
	{Name: "input", Kinds: []tree.Kind{tree.Object}},
}

// exampleShapes reports examples that are neither a command nor a call.
func (l *loader) exampleShapes(list []*tree.Node) {
	for _, n := range list {
		switch {
		case n.Is(tree.Object):
			l.fields(n, exampleFields)
		case !n.Is(tree.String):
			l.r.Fail(n, obstat.CodeWrongType, "an example is a command, or `{tool: Read, input: {file_path: .env}}`",
				"an example is a command or a call, not %s", n.Kind)
		}
	}
}

// example returns the call of an example, made under the conditions of its rule.
func example(r *rule, n *tree.Node) (*obstat.Call, error) {
	sample := r.sample
	c := &sample
	c.Tool, c.Dir, c.Roots = "Bash", exampleDir, []string{exampleDir}
	for at := range obstat.Circumstances() {
		if at.Sample != "" && at.Values(c) == nil {
			at.Set(c, at.Sample)
		}
	}
	if c.Time.IsZero() {
		c.Time = exampleTime(0, 12, 0)
	}
	input := &tree.Node{Kind: tree.Object}
	if n.Is(tree.String) {
		input.Members = []tree.Member{{Key: "command", Value: n}}
	} else {
		c.Tool = n.Get("tool").Str
		if given := n.Get("input"); given != nil {
			input = given
		}
	}
	var err error
	c.Input, err = jsonx.Marshal(input)
	return c, err
}

// exampleTime is a time on the nth day of a week, Monday first.
func exampleTime(day, hour, minute int) time.Time {
	return time.Date(2000, 1, 3+day, hour, minute, 0, 0, time.UTC) // 3 January 2000 was a Monday
}

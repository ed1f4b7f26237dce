package obstat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A Cond is a condition on a call: Field has a value that one of the patterns matches;
// with Not, none does. A pattern of the flavour JSON looks at the value as JSON, any other
// at a text as it is.
//
// A field that begins with `call.` is a [Circumstance]: `call.branch`. `input.a.b` is a field of
// the input, and `input.list[].name` that of each element of a list. Any other is a subject of the
// question.
//
// An allow rule needs every value to fit, and one at least. To a deny or ask rule a value that fits is
// enough, and a circumstance of the call that is not known counts as one that does.
type Cond struct {
	Field string
	Any   []Text
	Not   bool
}

// Beginnings of the fields that are not subjects of a question.
const (
	callField  = "call."
	inputField = "input."
)

// A condValue is a value that a condition looks at.
type condValue struct{ text, json string }

// guarded tells whether the rule has conditions or exceptions.
func (r *Rule) guarded() bool { return len(r.If) > 0 || len(r.Except) > 0 }

// applies tells whether a rule whose pattern matches is about the question.
func (r *Rule) applies(f *Facts, q *Question, compiled func(Text) *pattern.Pattern) bool {
	for i := range r.If {
		if !r.If[i].holds(f, q, r.Verdict, compiled) {
			return false
		}
	}
	for i := range r.Except {
		if r.Except[i].leavesOut(q, r.Verdict == Allow, compiled) {
			return false
		}
	}
	return true
}

// leavesOut tells whether an exception is about a question. Where a subject is a set of
// paths, it is so if it may be, of an allow rule, and if it certainly is, of any other.
func (c *Cond) leavesOut(q *Question, possibly bool, compiled func(Text) *pattern.Pattern) bool {
	for i := range q.Subjects {
		s := &q.Subjects[i]
		if s.Field != c.Field {
			continue
		}
		for _, t := range c.Any {
			p := compiled(t)
			ok, err := p.Match(s.Text)
			if possibly && (err != nil || !ok && floor.MayLeaveOut(p, s.Text)) || ok && err == nil {
				return true
			}
		}
	}
	return false
}

// holds tells whether a condition of a rule with this verdict holds.
func (c *Cond) holds(f *Facts, q *Question, v Verdict, compiled func(Text) *pattern.Pattern) bool {
	values, known := c.values(f, q)
	if !known {
		return v != Allow
	}
	hit := func(val condValue) bool {
		return slices.ContainsFunc(c.Any, func(t Text) bool {
			text := val.text
			if t.Flavour == pattern.JSON {
				text = val.json
			}
			ok, err := compiled(t).Match(text)
			return ok && err == nil || err != nil && (v != Allow) != c.Not // in doubt, the stricter
		})
	}
	if v == Allow {
		return len(values) > 0 && !slices.ContainsFunc(values, func(val condValue) bool { return hit(val) == c.Not })
	}
	return slices.ContainsFunc(values, hit) != c.Not
}

// values returns the values of a condition's field; known is false where they cannot be told.
func (c *Cond) values(f *Facts, q *Question) (out []condValue, known bool) {
	if name, ok := strings.CutPrefix(c.Field, callField); ok {
		return f.circumstance(name)
	}
	if path, ok := strings.CutPrefix(c.Field, inputField); ok {
		if f == nil {
			return nil, false
		}
		return f.inputValues(path)
	}
	for i := range q.Subjects {
		if q.Subjects[i].Field == c.Field {
			out = append(out, condValue{text: q.Subjects[i].Text})
		}
	}
	return out, true
}

// circumstance returns the values of a circumstance. The mode is the one that the call is judged in.
func (f *Facts) circumstance(name string) (out []condValue, known bool) {
	at := circumstanceNamed(name)
	if f == nil || at == nil {
		return nil, false
	}
	if name == "mode" {
		return []condValue{{text: string(f.Mode)}}, f.Mode != ""
	}
	values, known := at.Compared(f.Call)
	for _, v := range values {
		out = append(out, condValue{text: v})
	}
	return out, known
}

// inputValues returns the values at a path of the input: `a.b`, `list[].name`.
func (f *Facts) inputValues(path string) (out []condValue, known bool) {
	if f.tree == nil {
		n, problems := jsonx.Parse(f.Call.Input, jsonx.Options{NUL: true, NoMark: true})
		if tree.Fatal(problems) || n == nil {
			if n = (&tree.Node{}); !blank(f.Call.Input) {
				return nil, false
			}
		}
		f.tree = n
	}
	nodes := []*tree.Node{f.tree}
	for key := range strings.SplitSeq(path, ".") {
		key, each := strings.CutSuffix(key, "[]")
		var next []*tree.Node
		for _, n := range nodes {
			switch v := n.Get(key); {
			case v == nil:
			case each && v.Is(tree.Array):
				next = append(next, v.Elems...)
			case !each:
				next = append(next, v)
			}
		}
		nodes = next
	}
	for _, n := range nodes {
		v := condValue{json: string(n.Source(f.Call.Input))}
		if v.text = v.json; n.Is(tree.String) {
			v.text = n.Str
		}
		out = append(out, v)
	}
	return out, true
}

// compileConds reads the conditions of a rule.
func (c *compiler) compileConds(r *Rule) {
	for _, conds := range [...][]Cond{r.If, r.Except} {
		for i := range conds {
			cond := &conds[i]
			name, isCall := strings.CutPrefix(cond.Field, callField)
			switch {
			case cond.Field == "" || len(cond.Any) == 0:
				c.fail(r.Pos, CodeMissing, "a condition of rule %s names no field or nothing to match", r)
			case isCall && circumstanceNamed(name) == nil:
				c.errs = append(c.errs, &Error{Code: CodeUnknownName, Pos: r.Pos,
					Msg: fmt.Sprintf("rule %s: a call has no %q", r, name), Hint: "it has " + circumstanceNames()})
			}
			c.policy.fields[cond.Field] = true
			for _, t := range cond.Any {
				if c.compileText(t, r); t.IsZero() {
					c.fail(r.Pos, CodeMissing, "a condition of rule %s has a pattern that matches everything", r)
				}
			}
		}
	}
}

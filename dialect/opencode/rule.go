package opencode

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// An Order says which of the rules that match decides, and in which language
// patterns are.
type Order string

// The orders.
const (
	First Order = "first" // the document: the first match, minimatch
	Last  Order = "last"  // the shipped program: the last match, its own wildcard
)

// pick returns how the engine picks.
func (o Order) pick() obstat.Pick {
	if o == First {
		return obstat.First
	}
	return obstat.Last
}

// other returns the other order.
func (o Order) other() Order {
	if o == First {
		return Last
	}
	return First
}

// flavour returns the pattern language of the order.
func (o Order) flavour() pattern.Flavour {
	if o == First {
		return pattern.Minimatch
	}
	return pattern.Wildcard
}

// A Rule gives an answer to the values that match a permission and a pattern.
type Rule struct {
	Permission string
	Pattern    string
	Action     obstat.Verdict
	// Short marks a rule that was written "permission": "action", without a
	// pattern; the program writes its keys in another order then.
	Short bool

	Layer string
	Pos   obstat.Pos
}

// same tells whether two rules say the same, wherever they stand.
func (r *Rule) same(o *Rule) bool {
	return r.Permission == o.Permission && r.Pattern == o.Pattern && r.Action == o.Action
}

// MarshalJSON writes the rule as the program does.
func (r Rule) MarshalJSON() ([]byte, error) {
	o := jsonx.Object{{Key: "permission", Value: r.Permission}, {Key: "pattern", Value: r.Pattern},
		{Key: "action", Value: r.Action.String()}}
	if r.Short {
		o[1], o[2] = o[2], o[1]
	}
	return jsonx.Marshal(o)
}

// UnmarshalJSON reads a rule of a session or a request, strictly.
func (r *Rule) UnmarshalJSON(data []byte) error {
	n, problems := jsonx.Parse(data, jsonx.Options{})
	problems = append(problems, n.Check(ruleFields()...)...)
	if tree.Fatal(problems) {
		return problems[0]
	}
	v, err := obstat.ParseVerdict(n.Get("action").Str)
	if err != nil {
		return err
	}
	*r = Rule{Permission: n.Get("permission").Str, Pattern: n.Get("pattern").Str, Action: v}
	return nil
}

// ruleFields are the keys of a rule in a list.
func ruleFields() (out []tree.Field) {
	for _, name := range []string{"permission", "pattern", "action"} {
		out = append(out, tree.Field{Name: name, Kinds: []tree.Kind{tree.String}, Required: true})
	}
	return out
}

// tool returns the rule's permission as a pattern.
func (r *Rule) tool(o Order) obstat.Text {
	switch {
	case r.Permission == "*":
		return obstat.Text{}
	case o == First || plainName(r.Permission):
		return obstat.Is(r.Permission)
	}
	return obstat.Text{Flavour: pattern.Wildcard, Text: r.Permission}
}

// text returns the rule's pattern. The program's * is everything;
// the document's stops at a slash.
func (r *Rule) text(o Order) obstat.Text {
	if o == Last && r.Pattern == "*" {
		return obstat.Text{}
	}
	return obstat.Text{Flavour: o.flavour(), Text: r.Pattern}
}

// plainName tells whether a permission's name means itself alone.
func plainName(s string) bool { return s != "" && sanitize(s) == s }

// fieldPattern is the field of every subject: opencode's rules look at one.
const fieldPattern = "pattern"

// compile returns the rule as the engine has it.
func (r *Rule) compile(o Order) obstat.Rule {
	out := obstat.Rule{Tool: r.tool(o), Pattern: r.text(o), Verdict: r.Action, Layer: r.Layer, Pos: r.Pos,
		Source: r.String()}
	if !out.Pattern.IsZero() {
		out.Field = fieldPattern
	}
	if out.Verdict != obstat.Allow {
		out.Reason = askedOf[r.Permission]
	}
	return out
}

// askedOf explains the permissions that are no tool's name.
var askedOf = map[string]string{permExternal: "it is about what lies outside the project",
	permDoomLoop: "it is about the same call, made three times in a row"}

// String returns the rule as a line of a configuration.
func (r *Rule) String() string {
	if r.Short {
		return jsonx.Quote(r.Permission) + ": " + jsonx.Quote(r.Action.String())
	}
	return fmt.Sprintf("%s: {%s: %s}", jsonx.Quote(r.Permission), jsonx.Quote(r.Pattern), jsonx.Quote(r.Action.String()))
}

// A Ruleset is a list of rules, in order.
type Ruleset []Rule

// FromConfig returns the rules of a "permissions" value in any of the document's three
// forms: `{"read": "allow"}`, `{"read": {"*.env": "ask"}}` or a list of rules.
func FromConfig(config []byte) (Ruleset, error) {
	r := reader{order: First}
	root := r.Parse(&dialect.File{Name: keyDocument, Data: config}, format)
	if root == nil {
		return nil, r.Errs
	}
	sec, list := r.rulesNode(root)
	return Merge(sec.flat(First, ""), list), r.Errs.Fatal()
}

// Merge puts rulesets one after the other.
func Merge(sets ...Ruleset) Ruleset { return slices.Concat(sets...) }

// compile returns the rules as the engine has them.
func (rs Ruleset) compile(o Order) []obstat.Rule {
	out := make([]obstat.Rule, len(rs))
	for i := range rs {
		out[i] = rs[i].compile(o)
	}
	return out
}

// Evaluate returns the rule that answers for a permission and a value, and its
// answer; where no rule does, the answer is ask and the rule nil. Rules that do not
// compile deny.
func (rs Ruleset) Evaluate(o Order, permission, value string) (obstat.Verdict, *Rule) {
	pol, err := rs.policy(o)
	if err != nil {
		return obstat.Deny, nil
	}
	d := evaluate(pol, permission, value)
	if d.Rule == nil {
		return d.Verdict, nil
	}
	r := RuleOf(d.Rule)
	r.Layer, r.Pos = d.Rule.Layer, d.Rule.Pos
	return d.Verdict, &r
}

// policy compiles the rules by themselves, to be asked with evaluate.
func (rs Ruleset) policy(o Order) (*obstat.Policy, error) {
	p := &obstat.Program{Dialect: "opencode", Mode: ModeRules, Rules: map[string][]obstat.Rule{listRules: rs.compile(o)},
		Pipelines: map[obstat.Mode]obstat.Pipeline{ModeRules: {Stages: []obstat.Stage{obstat.Match{Name: stageNames[o],
			Rules: listRules, Pick: o.pick()}}, Default: obstat.Ask}}}
	return obstat.Compile(p.WithFloor(false), nil)
}

// evaluate decides for a permission and a value; where no rule answers, it asks.
func evaluate(pol *obstat.Policy, permission, value string) obstat.Decision {
	return pol.Decide(&obstat.Call{Tool: permission, Subjects: []string{value}}, nil)
}

func matches(t obstat.Text, s string) (bool, error) { return patterns{}.match(t, s) }

// patterns are compiled patterns, so that none is compiled twice.
type patterns map[obstat.Text]*pattern.Pattern

func (ps patterns) match(t obstat.Text, s string) (bool, error) {
	if t.IsZero() {
		return true, nil
	}
	if ps[t] == nil {
		p, err := pattern.Compile(t.Flavour, t.Text)
		if err != nil {
			return false, err
		}
		ps[t] = p
	}
	return ps[t].Match(s)
}

// JSON writes the rules as the program writes them into its messages: without
// the escapes that are meant for web pages.
func (rs Ruleset) JSON() string {
	out := []byte{'['}
	for i := range rs {
		b, err := rs[i].MarshalJSON()
		if err != nil {
			continue // a text that JSON cannot hold is in no file
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return string(append(out, ']'))
}

// RuleOf returns a rule of a Program as it is written in a file.
func RuleOf(r *obstat.Rule) Rule {
	out := Rule{Permission: r.Tool.Text, Pattern: r.Pattern.Text, Action: r.Verdict}
	if r.Tool.IsZero() {
		out.Permission = "*"
	}
	if r.Pattern.IsZero() {
		out.Pattern = "*"
	}
	if out.Short = true; out.String() != r.Source {
		out.Short = false
	}
	return out
}

// About returns the rules of a mode whose permission is the one asked for.
func About(p *obstat.Program, mode obstat.Mode, permission string) Ruleset {
	if mode == "" {
		mode = p.Mode
	}
	out := Ruleset{}
	for _, s := range p.Pipelines[mode].Stages {
		m, ok := s.(obstat.Match)
		if !ok {
			continue
		}
		for i := range p.Rules[m.Rules] {
			r := &p.Rules[m.Rules][i]
			if ok, err := matches(r.Tool, permission); ok || err != nil {
				out = append(out, RuleOf(r))
			}
		}
	}
	return out
}

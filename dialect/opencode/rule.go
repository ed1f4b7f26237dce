package opencode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
	"github.com/obstat/obstat/pattern"
)

// An Order says which of the rules that match decides, and with it what a
// pattern means.
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

// MarshalJSON writes the rule as the program does.
func (r Rule) MarshalJSON() ([]byte, error) {
	o := jsonx.Object{{Key: "permission", Value: r.Permission}, {Key: "pattern", Value: r.Pattern}, {Key: "action", Value: r.Action.String()}}
	if r.Short {
		o[1], o[2] = o[2], o[1]
	}
	return jsonx.Marshal(o)
}

// UnmarshalJSON reads a rule of a session or a request, strictly.
func (r *Rule) UnmarshalJSON(data []byte) error {
	n, problems := jsonx.Parse(data, jsonx.Options{})
	problems = append(problems, n.Check(stringField("permission"), stringField("pattern"), stringField("action"))...)
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

func stringField(name string) tree.Field {
	return tree.Field{Name: name, Kinds: []tree.Kind{tree.String}, Required: true}
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
func plainName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c == '_' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	})
}

// fieldPattern is the field of every subject: opencode's rules look at one.
const fieldPattern = "pattern"

// compile returns the rule as the engine has it.
func (r *Rule) compile(o Order) obstat.Rule {
	out := obstat.Rule{Tool: r.tool(o), Pattern: r.text(o), Verdict: r.Action, Layer: r.Layer, Pos: r.Pos, Source: r.String()}
	if !out.Pattern.IsZero() {
		out.Field = fieldPattern
	}
	return out
}

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
	f := &dialect.File{Name: keyDocument, Data: config}
	root, problems := jsonx.Parse(config, jsonx.JSONC())
	if tree.Fatal(problems) {
		return nil, f.Problems(problems)
	}
	r := reader{order: First, file: f}
	sec, list := r.rulesNode(root)
	return Merge(sec.rules(First, ""), list), r.errs.Fatal()
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
// answer; where no rule does, the answer is ask and the rule nil. A pattern that
// cannot be read denies.
func (rs Ruleset) Evaluate(o Order, permission, value string) (obstat.Verdict, *Rule) {
	return rs.evaluate(o, permission, value, patterns{})
}

func (rs Ruleset) evaluate(o Order, permission, value string, known patterns) (obstat.Verdict, *Rule) {
	for i := range rs {
		r := &rs[i]
		if o == Last {
			r = &rs[len(rs)-1-i]
		}
		hit, err := known.match(r.tool(o), permission)
		if hit && err == nil {
			hit, err = known.match(r.text(o), value)
		}
		if err != nil {
			return obstat.Deny, r
		}
		if hit {
			return r.Action, r
		}
	}
	return obstat.Ask, nil
}

func matches(t obstat.Text, s string) (bool, error) { return patterns{}.match(t, s) }

// patterns are compiled patterns, so that none is compiled twice.
type patterns map[obstat.Text]*pattern.Pattern

// maxPatterns bounds how many compiled patterns are kept.
const maxPatterns = 20_000

func (ps patterns) match(t obstat.Text, s string) (bool, error) {
	if t.IsZero() {
		return true, nil
	}
	p := ps[t]
	if p == nil {
		var err error
		if p, err = pattern.Compile(t.Flavour, t.Text); err != nil {
			return false, err
		}
		if len(ps) >= maxPatterns {
			clear(ps)
		}
		ps[t] = p
	}
	return p.Match(s)
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

package opencode

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

var _ dialect.Editor = Dialect{}

const format = textedit.JSONC

// AddRule returns the configuration with an accepted rule in it, where it
// decides and lifts no deny. One that is there already is not written twice.
// A rule that would have no effect in this file is an error, and so is an agent file.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	if isMarkdown(f.Name) {
		return nil, fmt.Errorf("a rule is written to a configuration, not to the agent file %s", f.Name)
	}
	e := &editor{file: f, rule: RuleOf(&offer.Rule)}
	e.rule.Short = false
	e.order = Last
	if offer.Rule.Pattern.Flavour == pattern.Minimatch {
		e.order = First
	}
	if e.rule.Permission == "" || !writable(&e.rule, e.order) {
		return nil, fmt.Errorf("the rule %s would mean something else in a file", &e.rule)
	}
	before, err := e.read(f.Data)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(before, e.same) {
		return f.Data, nil
	}
	out, err := e.write(before)
	if err != nil {
		return nil, err
	}
	return out, e.check(before, out)
}

// An editor writes one rule into one file.
type editor struct {
	file  *dialect.File
	order Order
	rule  Rule
	node  *tree.Node // the value of permission or permissions
}

// read returns the rules of a text.
func (e *editor) read(data []byte) (Ruleset, error) {
	r := &reader{order: e.order, strict: true}
	f := &dialect.File{Name: e.file.Name, Layer: e.file.Layer, Data: data}
	root := r.parse(f)
	if root == nil {
		return nil, r.Errs
	}
	c := r.read(f, root)
	if err := r.Errs.Fatal(); err != nil {
		return nil, err
	}
	e.node = root.Get(e.order.key())
	return Merge(c.section.flat(e.order, ""), c.list), nil
}

// same tells whether a rule equals the new one.
func (e *editor) same(r Rule) bool { return r.same(&e.rule) }

// write makes the edit.
func (e *editor) write(rules Ruleset) ([]byte, error) {
	action := e.rule.Action.String()
	compiled := e.rule.compile(e.order)
	at := place(rules.compile(e.order), &compiled, e.order)
	key := e.order.key()
	patternValue := jsonx.Object{{Key: e.rule.Pattern, Value: action}}
	switch {
	case e.node == nil:
		return format.Set(e.file.Data, jsonx.Object{{Key: e.rule.Permission, Value: patternValue}}, key)
	case e.node.Is(tree.Array):
		value := jsonx.Object{{Key: "permission", Value: e.rule.Permission}, {Key: "pattern", Value: e.rule.Pattern},
			{Key: "action", Value: action}}
		return format.Insert(e.file.Data, at, value, key)
	case e.node.Is(tree.String):
		return format.Set(e.file.Data, jsonx.Object{{Key: "*", Value: e.node.Str},
			{Key: e.rule.Permission, Value: patternValue}}, key)
	}
	have := e.node.Get(e.rule.Permission)
	switch {
	case have.Is(tree.Object):
		return e.writePattern(rules, at, action)
	case have.Is(tree.String):
		value := jsonx.Object{{Key: "*", Value: have.Str}, {Key: e.rule.Pattern, Value: action}}
		if e.order == First {
			value[0], value[1] = value[1], value[0]
		}
		if e.rule.Pattern == "*" {
			return format.Set(e.file.Data, action, key, e.rule.Permission)
		}
		return format.Set(e.file.Data, value, key, e.rule.Permission)
	case e.order == First && len(e.node.Members) > 0:
		return e.writeKey(rules, at, patternValue)
	}
	return format.Set(e.file.Data, patternValue, key, e.rule.Permission)
}

// writePattern adds the pattern to a permission that has patterns, before the
// rule that it must not get behind.
func (e *editor) writePattern(rules Ruleset, at int, action string) ([]byte, error) {
	path := []any{e.order.key(), e.rule.Permission, e.rule.Pattern}
	for i := at; i < len(rules); i++ {
		if rules[i].Permission == e.rule.Permission && e.node.Get(e.rule.Permission).Member(e.rule.Pattern) == nil {
			return format.SetBefore(e.file.Data, rules[i].Pattern, action, path...)
		}
	}
	return format.Set(e.file.Data, action, path...)
}

// writeKey adds a permission that the file does not have, before the one that it
// must not get behind.
func (e *editor) writeKey(rules Ruleset, at int, value any) ([]byte, error) {
	path := []any{e.order.key(), e.rule.Permission}
	if at < len(rules) {
		return format.SetBefore(e.file.Data, rules[at].Permission, value, path...)
	}
	return format.Set(e.file.Data, value, path...)
}

// check holds the new file against the old one: the rule is there and decides
// something, and nothing that was denied is denied no more.
func (e *editor) check(before Ruleset, out []byte) error {
	after, err := e.read(out)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(after, e.same)
	if i < 0 {
		return fmt.Errorf("the rule %s is not in the file", &e.rule)
	}
	old, err := before.policy(e.order)
	if err != nil {
		return err
	}
	now, err := after.policy(e.order)
	if err != nil {
		return err
	}
	decides := false
	for _, s := range samples(after[i].text(e.order)) {
		r := evaluate(now, e.rule.Permission, s).Rule
		decides = decides || r != nil && e.same(RuleOf(r))
		if was := evaluate(old, e.rule.Permission, s); was.Verdict == obstat.Deny && e.rule.Action != obstat.Deny && was.Rule != nil {
			return fmt.Errorf("the rule %s would lift the rule %s", &e.rule, was.Rule.Source)
		}
	}
	if !decides {
		return fmt.Errorf("the rule %s would have no effect: a rule that comes before it in force is about the same", &e.rule)
	}
	for _, r := range before {
		for _, s := range samples(r.text(e.order)) {
			denies := func(p *obstat.Policy) bool { return evaluate(p, e.rule.Permission, s).Verdict == obstat.Deny }
			if r.Action == obstat.Deny && denies(old) && !denies(now) {
				return fmt.Errorf("the rule %s would lift the rule %s", &e.rule, &r)
			}
		}
	}
	return nil
}

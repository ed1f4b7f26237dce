package codex

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// The keys of requirements.
const (
	keyPolicies  = "allowed_approval_policies"
	keySandboxes = "allowed_sandbox_modes"
)

// sandboxModes are the sandboxes that requirements may allow.
var sandboxModes = []string{"read-only", "workspace-write", "danger-full-access", "external-sandbox"}

// requirements reads the administrator's file: the approval policies and sandboxes that are
// allowed, and rules that only tighten. Its other tables are about models, servers and
// accounts, and are not looked at.
func (l *loader) requirements(f *dialect.File) {
	root := l.Read(f, tomlx.Parse)
	if root == nil {
		return
	}
	for _, m := range root.Members {
		for _, key := range []string{keyPolicies, keySandboxes, "rules"} {
			if m.Key != key && dialect.Near(m.Key, key) != "" {
				l.Fail(m.KeyNode, obstat.CodeUnknownKey, dialect.Near(m.Key, key), "unknown key %q", m.Key)
			}
		}
	}
	l.approvals(root.Get(keyPolicies))
	if n := root.Get(keySandboxes); n != nil {
		modes := l.words(n, keySandboxes, sandboxModes...)
		l.params.ReadOnly = l.params.ReadOnly || !slices.ContainsFunc(modes, func(m string) bool { return m != "read-only" })
	}
	rules := root.Get("rules")
	if rules == nil || !l.Is(rules, "rules", tree.Object) {
		return
	}
	l.Fields(rules, tree.Field{Name: "prefix_rules", Kinds: []tree.Kind{tree.Array}, Required: true})
	list := rules.Get("prefix_rules")
	if list.Is(tree.Array) && len(list.Elems) == 0 {
		l.Fail(list, obstat.CodeMissing, "", "rules.prefix_rules has no rule; leave the table out")
	}
	for _, n := range list.Items() {
		l.required(f, n)
	}
}

// approvals reads the approval policies that are allowed. A granular one, a table, is
// taken as the mode that asks most.
func (l *loader) approvals(n *tree.Node) {
	if n == nil || !l.Is(n, keyPolicies, tree.Array) {
		return
	}
	allowed := []string{}
	for _, e := range n.Elems {
		word := e.Str
		switch {
		case e.Is(tree.Object):
			l.Warn(e, obstat.CodeNoEffect, "", "a granular approval policy is taken as %q here", modeUntrusted)
			word = modeUntrusted
		case !l.Is(e, "an element of "+keyPolicies, tree.String):
			continue
		case word == "on-failure":
			word = modeOnRequest
		case !slices.Contains(modeNames, word):
			l.Fail(e, obstat.CodeBadValue, dialect.Near(word, modeNames...), "there is no approval policy %q; there are %s",
				word, strings.Join(modeNames, ", "))
			continue
		}
		allowed = append(allowed, word)
	}
	if len(allowed) == 0 {
		l.Fail(n, obstat.CodeMissing, "", keyPolicies+" allows none")
		return
	}
	l.allowed = allowed
}

// words reads a list of known words.
func (l *loader) words(n *tree.Node, what string, known ...string) (out []string) {
	for _, e := range l.Texts(n, what) {
		if !slices.Contains(known, e.Str) {
			l.Fail(e, obstat.CodeBadValue, dialect.Near(e.Str, known...), "%s does not take %q; it takes %s", what, e.Str,
				strings.Join(known, ", "))
			continue
		}
		out = append(out, e.Str)
	}
	return out
}

// required reads one rule of the requirements.
func (l *loader) required(f *dialect.File, n *tree.Node) {
	if !l.Is(n, "a rule of prefix_rules", tree.Object) {
		return
	}
	text := []tree.Kind{tree.String}
	l.Fields(n, tree.Field{Name: "pattern", Kinds: []tree.Kind{tree.Array}, Required: true},
		tree.Field{Name: "decision", Kinds: text, Required: true}, tree.Field{Name: "justification", Kinds: text})
	p, pat := &prefixRule{}, n.Get("pattern")
	if j := n.Get("justification"); j.Is(tree.String) {
		if p.justification = j.Str; strings.TrimSpace(j.Str) == "" {
			l.Fail(j, obstat.CodeBadValue, "", "justification says nothing")
		}
	}
	dec := n.Get("decision")
	if !pat.Is(tree.Array) || !dec.Is(tree.String) {
		return
	}
	var known bool
	if p.verdict, known = decisions[dec.Str]; !known || p.verdict == obstat.Allow {
		l.Fail(dec, obstat.CodeBadValue, dialect.Near(dec.Str, "prompt", "forbidden"),
			"the decision of a requirement is \"prompt\" or \"forbidden\", not %q: the strictest rule decides, so an allowing one would do nothing", dec.Str)
	}
	if len(pat.Elems) == 0 {
		l.Fail(pat, obstat.CodeMissing, "", "the pattern has no word")
		return
	}
	for _, e := range pat.Elems {
		p.pattern = append(p.pattern, l.token(e))
	}
	if !slices.ContainsFunc(p.pattern, func(alts []string) bool { return alts == nil }) && known {
		l.add(p, f.Layer, l.Pos(n))
	}
}

// token reads a word of a pattern: {token = "rm"} or {any_of = ["-rf", "-fr"]}; nil: it
// cannot be used.
func (l *loader) token(n *tree.Node) []string {
	if !l.Is(n, "a word of the pattern", tree.Object) {
		return nil
	}
	l.Fields(n, tree.Field{Name: "token", Kinds: []tree.Kind{tree.String}},
		tree.Field{Name: "any_of", Kinds: []tree.Kind{tree.Array}})
	one, some := n.Get("token"), n.Get("any_of")
	var out []string
	switch {
	case (one == nil) == (some == nil):
		l.Fail(n, obstat.CodeConflict, "", "a word of the pattern has either token or any_of")
		return nil
	case one.Is(tree.String):
		out = []string{one.Str}
	case some.Is(tree.Array):
		for _, e := range l.Texts(some, "any_of") {
			out = append(out, e.Str)
		}
	}
	if len(out) == 0 || slices.ContainsFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" }) {
		l.Fail(n, obstat.CodeBadValue, "", "a word of the pattern is empty")
		return nil
	}
	return out
}

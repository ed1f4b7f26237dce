package jiuwen

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/tree"
)

// builtinYAML is our own list of built-in rules, under the document's classes.
//
//go:embed builtin_rules.yaml
var builtinYAML []byte

// builtinRules reads the list that is in force. A user's file replaces ours,
// except that a denial of ours holds until the file has a rule of its id: a
// list that was emptied, or is not finished, does not lift a denial that no rule of the
// user's could lift.
func builtinRules(user *dialect.File, strict, bare bool) ([]ruleConfig, obstat.Errors) {
	own := ownRules()
	if strict {
		own = ownStrict()
	}
	if user == nil {
		return own, nil
	}
	theirs := &reader{Reader: kit.Reader{File: user}, bare: bare}
	list := theirs.builtinList(strict, true)
	for i := range own {
		same := func(r ruleConfig) bool { return r.label == own[i].label }
		if own[i].always && own[i].verdict == obstat.Deny && !slices.ContainsFunc(list, same) {
			list = append(list, own[i])
		}
	}
	return list, theirs.Errs
}

// ownRules and ownStrict are our list in each mode. A test tries its examples,
// and that nothing is wrong with it.
var (
	ownRules  = sync.OnceValue(func() []ruleConfig { return readOwn(false) })
	ownStrict = sync.OnceValue(func() []ruleConfig { return readOwn(true) })
)

func readOwn(strict bool) []ruleConfig {
	r := newReader("builtin_rules.yaml (built in)", builtinYAML)
	r.ours = true
	return r.builtinList(strict, false)
}

// builtinList reads a builtin_rules.yaml: an object with a list of rules, or
// the list alone.
func (r *reader) builtinList(strict, examples bool) []ruleConfig {
	root := r.document()
	if root == nil {
		return nil
	}
	list := root
	if root.Is(tree.Object) {
		list = root.Get("rules")
	}
	if list == nil || list.Is(tree.Null) {
		r.Warn(root, obstat.CodeMissing, "remove the file to have the built-in rules back", "the file has no rules")
	} else if !r.Is(list, "rules", tree.Array) {
		return nil
	}
	return r.ruleList("builtin", list, strict, examples)
}

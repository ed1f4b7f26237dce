package adkfluent

import (
	"bytes"
	"fmt"
	"path"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// The keys of a policy file beside its lists.
const (
	keyMode        = "mode"
	keyPatternMode = "pattern_mode"
	keyMutating    = "mutating_tools"
)

func fields() []tree.Field {
	out := []tree.Field{{Name: keyMode, Kinds: []tree.Kind{tree.String}},
		{Name: keyPatternMode, Kinds: []tree.Kind{tree.String}}, {Name: keyMutating, Kinds: []tree.Kind{tree.Array}}}
	for i := range lists {
		out = append(out, tree.Field{Name: lists[i].key, Kinds: []tree.Kind{tree.Array}})
	}
	return out
}

// Parse reads a policy file, JSON or YAML by its name or else by its first
// character. Problems come all at once, each with its place.
func Parse(name string, data []byte) (*Policy, error) {
	p := parse(&dialect.File{Name: name, Data: data})
	if err := p.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// format tells a file's format by its name, or else by its first character.
func format(f *dialect.File) textedit.Format {
	switch path.Ext(f.Name) {
	case ".json":
		return textedit.JSON
	case ".jsonc":
		return textedit.JSONC
	case ".yaml", ".yml":
		return textedit.YAML
	}
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return textedit.JSON
	}
	return textedit.YAML
}

// A reader makes a policy of one file.
type reader struct {
	kit.Reader
	*Policy
}

// parse returns a policy with the file's problems in it.
func parse(f *dialect.File) *Policy {
	r := &reader{Policy: &Policy{mode: ModeDefault, patternMode: Glob}}
	switch root := r.Parse(f, format(f)); {
	case root == nil:
	case root.Is(tree.Null):
		r.Fail(nil, obstat.CodeMissing, "", "the file is empty; write {} for a policy that asks for everything")
	default:
		r.Add(root.Check(fields()...)...)
		if root.Is(tree.Object) {
			r.read(root)
		}
	}
	r.errs = append(r.errs, r.Errs...)
	r.errs.Sort()
	return r.Policy
}

func (r *reader) read(root *tree.Node) {
	if n := root.Get(keyMode); n.Is(tree.String) {
		r.mode = obstat.Mode(n.Str)
	}
	if n := root.Get(keyPatternMode); n.Is(tree.String) {
		r.patternMode = PatternMode(n.Str)
	}
	r.checkWords(r.Pos(root.Get(keyMode)), r.Pos(root.Get(keyPatternMode)))
	for i := range lists {
		if n := root.Get(lists[i].key); n.Is(tree.Array) {
			r.rules[i] = r.list(&lists[i], n)
		}
	}
	r.mutating = DefaultMutatingTools()
	if n := root.Get(keyMutating); n.Is(tree.Array) {
		var names []string
		for _, e := range r.Texts(n, keyMutating) {
			names = append(names, e.Str)
		}
		r.mutating = sortedSet(names)
	}
}

// list reads a list of names, or of patterns.
func (r *reader) list(l *list, n *tree.Node) (out []obstat.Rule) {
	add := func(n *tree.Node, how PatternMode) {
		rule := l.rule(n.Str, how)
		rule.Layer, rule.Pos = r.File.Layer, r.Pos(n)
		out = append(out, rule)
	}
	if !l.patterns {
		for _, n := range r.Texts(n, l.key) {
			add(n, "")
		}
		return nameSet(out)
	}
	for i, e := range n.Elems {
		text, how := r.pattern(e, fmt.Sprintf("%s[%d]", l.key, i))
		if how != Glob && how != Regex {
			continue // checkWords has said so, once
		}
		add(text, how)
		r.Compiles(text, obstat.Text{Flavour: how.flavour(), Text: text.Str}, fmt.Sprintf("%s pattern %q", how, text.Str))
	}
	return out
}

// pattern reads a pattern: a text, read as pattern_mode says, or an object of one
// key that says for itself: {"glob": ...}, {"regex": ...}.
func (r *reader) pattern(n *tree.Node, what string) (text *tree.Node, how PatternMode) {
	how, text = r.patternMode, n
	if n.Is(tree.Object) && len(n.Members) == 1 {
		how, text = PatternMode(n.Members[0].Key), n.Members[0].Value
	}
	if !text.Is(tree.String) || n.Is(tree.Object) && how != Glob && how != Regex {
		r.Fail(n, obstat.CodeWrongType, `write "read_*", {"glob": "read_*"} or {"regex": "read_.*"}`,
			"%s should be a text, or an object with the one key glob or regex, not %s", what, n.Kind)
		return nil, ""
	}
	return text, how
}

// MarshalJSON writes the policy as a file holds it; it reads back as the same
// policy. A pattern of the other mode than the policy's has its own word. Refiners
// are code and are not in it.
func (p *Policy) MarshalJSON() ([]byte, error) {
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("a policy with an error has no written form: %w", err)
	}
	out := jsonx.Object{{Key: keyMode, Value: string(p.mode)}, {Key: keyPatternMode, Value: string(p.patternMode)},
		{Key: keyMutating, Value: append([]string{}, p.mutating...)}}
	for i := range lists {
		texts := make([]any, len(p.rules[i]))
		for k, r := range p.rules[i] {
			how := Glob
			if r.Tool.Flavour == pattern.Full {
				how = Regex
			}
			if texts[k] = r.Source; lists[i].patterns && how != p.patternMode {
				texts[k] = jsonx.Object{{Key: string(how), Value: r.Source}}
			}
		}
		out = append(out, jsonx.Field{Key: lists[i].key, Value: texts})
	}
	return jsonx.Marshal(out)
}

package dialect

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// Without returns the configuration, and the bytes of the file, with the rule taken out that is
// written at a place: the element of a list or the member of an object that stands there. Every
// other byte stays. It is refused where another rule would go, or change, with it.
func (l *Loaded) Without(at obstat.Pos) (*Loaded, []byte, error) {
	i := slices.IndexFunc(l.Input.Files, func(f File) bool { return f.Name == at.File })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s is not a file of this policy", at.File)
	}
	in := *l.Input
	in.Files = slices.Clone(in.Files)
	f := &in.Files[i]
	var refused error
	for _, format := range []textedit.Format{textedit.JSON, textedit.JSONC, textedit.YAML} {
		root, problems := format.Parse(f.Data)
		if tree.Fatal(problems) {
			continue
		}
		path := pathTo(f, root, at)
		if path == nil {
			continue
		}
		text, err := format.Delete(f.Data, path...)
		if err != nil {
			refused = err
			continue
		}
		f.Data = text
		without, err := Load(l.Dialect, &in)
		if err != nil {
			return nil, nil, fmt.Errorf("without the rule the policy would not load: %w", err)
		}
		if !lacksOnly(l.Program, without.Program, at) {
			return nil, nil, fmt.Errorf("%s: more than this rule would go with it", at)
		}
		return without, text, nil
	}
	if refused != nil {
		return nil, nil, refused
	}
	return nil, nil, fmt.Errorf("%s: there is no rule here that can be taken out", at)
}

// Remove takes the rule at a place out of its file; see [Loaded.Without].
func (l *Loaded) Remove(at obstat.Pos) error {
	return textedit.UpdateFile(at.File, func(old []byte) ([]byte, error) {
		now := *l
		in := *l.Input
		in.Files = slices.Clone(in.Files)
		for i := range in.Files {
			if f := &in.Files[i]; f.Name == at.File && string(f.Data) != string(old) {
				return nil, fmt.Errorf("%s has changed meanwhile", at.File)
			}
		}
		now.Input = &in
		_, text, err := now.Without(at)
		return text, err
	})
}

// pathTo returns the way to the innermost element or member that begins at a place, nil if there
// is none.
func pathTo(f *File, n *tree.Node, at obstat.Pos) []any {
	is := func(n *tree.Node) bool {
		p := f.Pos(n.Start)
		return p.Line == at.Line && p.Col == at.Col
	}
	for i, e := range n.Elems {
		if path := pathTo(f, e, at); path != nil {
			return append([]any{i}, path...)
		}
		if is(e) {
			return []any{i}
		}
	}
	for i := range n.Members {
		m := &n.Members[i]
		if path := pathTo(f, m.Value, at); path != nil {
			return append([]any{m.Key}, path...)
		}
		if m.KeyNode != nil && is(m.KeyNode) || is(m.Value) {
			return []any{m.Key}
		}
	}
	return nil
}

// lacksOnly tells whether the rules of b are those of a without those of one place.
func lacksOnly(a, b *obstat.Program, at obstat.Pos) bool {
	for name, rules := range a.Rules {
		var want []obstat.Rule
		for _, r := range rules {
			if r.Pos != at {
				want = append(want, r)
			}
		}
		if !slices.EqualFunc(want, b.Rules[name], func(x, y obstat.Rule) bool { return x.Same(&y) }) {
			return false
		}
	}
	return true
}

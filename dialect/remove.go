package dialect

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Without returns the configuration, and the bytes of the file, with the rule taken out that is
// written at a place: the element of a list, the member of an object or the statement that stands
// there, with the comment that is about it alone. Every other byte stays. It is refused where
// another rule would go, or change, with it.
func (l *Loaded) Without(at obstat.Pos) (*Loaded, []byte, error) {
	i := slices.IndexFunc(l.Input.Files, func(f File) bool { return f.Name == at.File })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s is not a file of this policy", at.File)
	}
	in := *l.Input
	in.Files = slices.Clone(in.Files)
	f := &in.Files[i]
	old := f.Data
	refused := fmt.Errorf("%s: there is no rule here that can be taken out", at)
	for _, text := range cuts(l.Dialect, f, at) {
		f.Data = tidy(old, text)
		without, err := Load(l.Dialect, &in)
		switch {
		case err != nil:
			refused = fmt.Errorf("without the rule the policy would not load: %w", err)
		case !lacksOnly(l.Program, without.Program, at):
			refused = fmt.Errorf("%s: more than this rule would go with it", at)
		default:
			return without, f.Data, nil
		}
	}
	return nil, nil, refused
}

// A Liner is a dialect with files that are neither JSON nor YAML.
type Liner interface {
	Dialect
	// RuleLines returns the first and the last line of the statement that is written at a
	// place, zeros where there is none that stands alone.
	RuleLines(f *File, at obstat.Pos) (first, last int)
}

// cuts returns the text of a file without what is written at a place, and without what that is a
// part of: of `{rule: run make, until: 2026-12-31}` the sentence is at the rule's place.
func cuts(d Dialect, f *File, at obstat.Pos) (out [][]byte) {
	if d, ok := d.(Liner); ok {
		if first, last := d.RuleLines(f, at); first > 0 {
			lines := slices.Collect(bytes.Lines(f.Data))
			return [][]byte{bytes.Join(slices.Delete(lines, first-1, last), nil)}
		}
	}
	for _, format := range []textedit.Format{textedit.JSON, textedit.JSONC, textedit.YAML} {
		root, problems := format.Parse(f.Data)
		if tree.Fatal(problems) {
			continue
		}
		path := pathTo(f, root, at)
		for n := len(path); n > max(len(path)-2, 0); n-- {
			if text, err := format.Delete(f.Data, path[:n]...); err == nil {
				out = append(out, text)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// tidy looks at where whole lines were taken out of a text: a comment right above goes with them
// if no further line follows that it could be about, and of two blank lines that meet there, or one
// that would begin a list, one goes. A comment that the file begins with stays.
func tidy(old, text []byte) []byte {
	if rest, ok := bytes.CutPrefix(old, text); ok && !bytes.HasSuffix(old, []byte("\n")) {
		// It is the last line, and has no line break.
		brk := rest[:bytes.IndexByte(rest, '\n')+1]
		if len(brk) == 0 || len(bytes.TrimSpace(brk)) > 0 {
			return text
		}
		return bytes.TrimSuffix(tidy(slices.Concat(old, brk), slices.Concat(text, brk)), brk)
	}
	n, at := len(old)-len(text), 0
	for at < len(text) && old[at] == text[at] {
		at++
	}
	at = bytes.LastIndexByte(text[:at], '\n') + 1
	if n <= 0 || !bytes.Equal(old[at+n:], text[at:]) {
		return text // not whole lines
	}
	after, _, _ := bytes.Cut(text[at:], []byte("\n"))
	gone := old[at : at+n]
	margin := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }
	start := at
	next := bytes.TrimSpace(after)
	ends := len(next) == 0 || isComment(next) || bytes.IndexByte([]byte("]})"), next[0]) >= 0
	if ends || margin(after) < margin(gone) {
		for start > 0 && isComment(lineBefore(text, start)) {
			start -= len(lineBefore(text, start))
		}
		if start == 0 {
			start = at
		}
	}
	above := lineBefore(text, start)
	switch blank := len(bytes.TrimSpace(after)) == 0; {
	case start > 0 && !opens(above) || !blank:
	case at == len(text) && len(bytes.TrimSpace(above)) == 0:
		start -= len(above)
	default:
		at = min(at+len(after)+1, len(text))
	}
	return slices.Concat(text[:start], text[at:])
}

// lineBefore returns the line that ends where another starts.
func lineBefore(text []byte, start int) []byte {
	if start == 0 {
		return nil
	}
	return text[bytes.LastIndexByte(text[:start-1], '\n')+1 : start]
}

// opens tells whether a line is blank, or what follows it belongs to it: `allow:`, `rules = [`.
func opens(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || bytes.IndexByte([]byte(":[{("), line[len(line)-1]) >= 0
}

func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//"))
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

// lacksOnly tells whether the rules of b are those of a without those of one place. Rules without
// a place follow from others.
func lacksOnly(a, b *obstat.Program, at obstat.Pos) bool {
	written := func(rules []obstat.Rule, not obstat.Pos) []obstat.Rule {
		return slices.DeleteFunc(slices.Clone(rules), func(r obstat.Rule) bool { return !r.Pos.IsValid() || r.Pos == not })
	}
	for name, rules := range a.Rules {
		left, now := written(rules, at), written(b.Rules[name], obstat.Pos{})
		if !slices.EqualFunc(left, now, func(x, y obstat.Rule) bool { return x.Same(&y) }) {
			return false
		}
	}
	return true
}

package pattern

import "strings"

// Wildcard is opencode's matcher: * is anything, newlines and slashes too, ?
// one UTF-16 unit, \ means / in pattern and subject, and a final " *" may be
// missing together with its space: "ls *" matches "ls" and "ls -la".

func compileWildcard(text string) (matcher, trees, error) {
	text = strings.ReplaceAll(text, `\`, "/")
	g := wildcardGlob(text)
	head, optional := strings.CutSuffix(text, " *")
	if !optional {
		return g, g.later(), nil
	}
	w := &optionalTail{head: wildcardGlob(head), whole: g}
	return w, trees{grow: w.trees}, nil
}

func wildcardGlob(text string) *glob {
	var b globBuilder
	for _, r := range text {
		switch r {
		case '*':
			b.anyStar()
		case '?':
			b.any()
		default:
			b.lit(r)
		}
	}
	return newGlob(b.done(), true, true)
}

// optionalTail matches the texts of either of two globs: whole is head with
// " *" after it.
type optionalTail struct{ head, whole *glob }

func (o *optionalTail) match(s string) (bool, error) {
	if ok, err := o.whole.match(s); ok || err != nil {
		return ok, err
	}
	return o.head.match(s)
}

// trees are those of head, with or without a space and anything after it.
func (o *optionalTail) trees() trees {
	t := o.head.trees()
	tail := repeatNode(cat(charNode(' '), anything()), 0, 1)
	t.tree = flatCat([]*node{t.tree, tail})
	t.may = flatCat([]*node{t.may, tail})
	t.must = flatCat([]*node{t.must, tail})
	return t
}

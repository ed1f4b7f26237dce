package pattern

import (
	"strings"
	"sync"
)

// Full and Search are Python's re.fullmatch and re.search (CPython 3.11) on
// text. An expression is read into a tree by our own reader, so that it is
// taken or refused as Python does it, and becomes one of:
//
//   - the text itself, when nothing else can match;
//   - a glob, when it is literals, single characters and .* in a row: on a
//     subject without a newline . is any character and $ is the end;
//   - a program for the runner of revm.go.

func compileRE(text string, full bool) (matcher, trees, error) {
	tree, groups, err := parseRE(text)
	if err != nil {
		return nil, trees{}, err
	}
	tree = trimmed(simplify(tree), full)
	t := exactly(tree)
	if !full {
		t = exactly(wholeStrings(tree))
	}
	t.known = t.shape()
	if p, ok := treeForms(t.tree); ok && !t.known.Exact {
		later := sync.OnceValue(func() matcher { return programOf(text, full) })
		return &plainly{p, later}, t, nil
	}
	return compileTree(tree, groups, full)
}

// plainly takes the forms on plain texts, else the matcher behind them, which
// is made when it is first wanted.
type plainly struct {
	plain
	rest func() matcher
}

func (p *plainly) match(s string) (bool, error) {
	if !p.unless.has(s) {
		return p.plain.match(s), nil
	}
	return p.rest().match(s)
}

// programOf compiles an expression that is known to be one and to be small.
func programOf(text string, full bool) matcher {
	tree, groups, err := parseRE(text)
	if err != nil {
		return broken{err}
	}
	m, _, err := compileTree(trimmed(simplify(tree), full), groups, full)
	if err != nil {
		return broken{err}
	}
	return m
}

// trimmed is trimSearch where nothing depends on what a repetition took.
func trimmed(tree *node, full bool) *node {
	if !full && !tree.any(func(n *node) bool { return n.op == nRef || n.op == nCond }) {
		return trimSearch(tree, true, true)
	}
	return tree
}

// compileTree compiles a simplified, trimmed tree.
func compileTree(tree *node, groups int, full bool) (matcher, trees, error) {
	whole := tree
	if !full {
		whole = wholeStrings(tree)
	}
	t := exactly(whole)
	shape := t.shape()
	t.known = shape
	switch g, always := treeGlob(tree, full); {
	case shape.Exact:
		return exact(shape.Prefix), t, nil
	case g != nil && always:
		return g, t, nil
	case g != nil:
		prog := sync.OnceValue(func() *prog { return compileProg(tree, groups, full) })
		return &oneLine{g, prog}, t, nil
	}
	p := compileProg(tree, groups, full)
	if p == nil {
		return nil, trees{}, &SyntaxError{0, "the repetitions make the expression too large"}
	}
	return newFiltered(p, shape), t, nil
}

// oneLine takes the glob when there is no newline, else the program, which is
// made when it is first wanted.
type oneLine struct {
	glob *glob
	prog func() *prog
}

func (o *oneLine) match(s string) (bool, error) {
	if strings.IndexByte(s, '\n') < 0 {
		return o.glob.match(s)
	}
	p := o.prog()
	if p == nil {
		return false, ErrTime // too large to be run
	}
	return p.match(s)
}

// filtered looks for what every match holds before it runs the program.
type filtered struct {
	suffix, fragment string
	prog             *prog
}

func newFiltered(p *prog, sh *Shape) matcher {
	f := &filtered{suffix: sh.Suffix, prog: p}
	for _, frag := range sh.Fragments {
		if len(frag) > len(f.fragment) {
			f.fragment = frag
		}
	}
	if f.fragment == p.prefix && !p.full {
		f.fragment = "" // the search for a start looks for it anyway
	}
	if f.suffix == "" && f.fragment == "" {
		return p
	}
	return f
}

func (f *filtered) match(s string) (bool, error) {
	if !strings.HasSuffix(s, f.suffix) || !strings.Contains(s, f.fragment) {
		return false, nil
	}
	return f.prog.match(s)
}

// trimSearch drops what a search need not look for: at its start (and, by the
// same token, at its end) a repetition has no reason to go on once it went
// round often enough.
func trimSearch(n *node, start, end bool) *node {
	switch n.op {
	case nRepeat:
		if n.mode == possessive || n.min == n.max {
			return n
		}
		c := *n
		c.max = n.min
		return simpleRepeat(&c)
	case nAlt:
		c := *n
		c.subs = make([]*node, len(n.subs))
		for i, sub := range n.subs {
			c.subs[i] = trimSearch(sub, start, end)
		}
		return &c
	case nCat:
		subs := append([]*node{}, n.subs...)
		for start && len(subs) > 0 {
			if subs[0] = trimSearch(subs[0], true, false); !subs[0].empty() {
				break
			}
			subs = subs[1:]
		}
		for end && len(subs) > 0 {
			last := len(subs) - 1
			if subs[last] = trimSearch(subs[last], false, true); !subs[last].empty() {
				break
			}
			subs = subs[:last]
		}
		return flatCat(subs)
	}
	return n
}

// sequenceOf returns the parts of a sequence, which may be just one.
func sequenceOf(n *node) []*node {
	if n.op == nCat {
		return n.subs
	}
	return []*node{n}
}

// treeGlob writes a tree as a glob. always: it holds for every subject, not
// only for those without a newline.
func treeGlob(n *node, full bool) (g *glob, always bool) {
	items := sequenceOf(n)
	var b globBuilder
	always = true
	start, end := full, full
	if len(items) > 0 && items[0].op == nAt && (items[0].at == atStart || items[0].at == atLineStart) {
		always = items[0].at == atStart
		start, items = true, items[1:]
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && items[k].at <= atLineEnd && items[k].at >= atEnd {
		always = always && (full || items[k].at == atEnd)
		end, items = true, items[:k]
	}
	if !start {
		b.anyStar()
	}
	for _, it := range items {
		once, ok := b.tree(it)
		if !ok {
			return nil, false
		}
		always = always && once
	}
	if !end {
		b.anyStar()
	}
	return newGlob(b.done(), false, false), always
}

// tree adds one part of a sequence, if a glob can say it.
func (b *globBuilder) tree(n *node) (always, ok bool) {
	lo, hi := 1, 1
	if n.op == nRepeat && n.mode != possessive {
		lo, hi = n.min, n.max
		n = n.subs[0]
	}
	if n.op != nSet || lo > 64 {
		return false, false
	}
	line := sameSpans(n.set.spans, lineSet().spans)
	wild := line || n.set.full()
	if hi != lo && (hi != unlimited || !wild) {
		return false, false
	}
	for ; lo > 0; lo-- {
		if wild {
			b.any()
		} else {
			b.set(n.set)
		}
	}
	if hi == unlimited {
		b.anyStar()
	}
	return !line, true
}

func sameSpans(a, b []span) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

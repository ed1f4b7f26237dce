package pattern

import (
	"strings"
	"unicode/utf8"
)

// A form is a simple language: a prefix, anything, a fragment, anything, ...,
// a suffix.
type form struct {
	prefix, suffix string
	fragments      []string
	exact          bool // the prefix is all
	inside         bool // the only gap takes no slash
	least          int  // bytes that the only gap takes at least: one, or none
}

// plain says which plain texts (those of no kind of unless) a pattern matches:
// those of one of the forms.
type plain struct {
	unless kinds
	forms  []form
}

// match reports whether a form takes s, which must be plain.
func (p *plain) match(s string) bool {
	for i := range p.forms {
		if p.forms[i].match(s) {
			return true
		}
	}
	return false
}

func (f *form) match(s string) bool {
	if f.exact {
		return s == f.prefix
	}
	if len(s) < len(f.prefix)+len(f.suffix)+f.least || !strings.HasPrefix(s, f.prefix) || !strings.HasSuffix(s, f.suffix) {
		return false
	}
	s = s[len(f.prefix) : len(s)-len(f.suffix)]
	if f.inside {
		return strings.IndexByte(s, '/') < 0
	}
	for _, frag := range f.fragments {
		i := strings.Index(s, frag)
		if i < 0 {
			return false
		}
		s = s[i+len(frag):]
	}
	return true
}

const (
	maxForms     = 16   // of a pattern
	maxFormBytes = 2048 // of all of them
)

// forget drops the body, which can be made again from the text.
func (p *Pattern) forget() {
	if b := p.made.Load(); b != nil && !b.settled {
		p.made.CompareAndSwap(b, nil)
	}
}

// A gap is the stretch between two literals.
type gap struct {
	inside bool // no slash
	least  int
}

// A draft is a form that is being written: literals and the gaps between them.
type draft struct {
	lits []string // one more than gaps
	gaps []gap
}

// A formWriter writes several forms at once, one for each way through the
// alternatives so far.
type formWriter struct {
	drafts []draft
	unless kinds
	failed bool
}

func newFormWriter() *formWriter {
	return &formWriter{drafts: []draft{{lits: []string{""}}}}
}

func (w *formWriter) lit(s string) {
	total := 0
	for i := range w.drafts {
		lits := w.drafts[i].lits
		lits[len(lits)-1] += s
		total += len(lits[len(lits)-1])
	}
	w.failed = w.failed || total > maxFormBytes
}

// gap adds a gap. One that follows another is one with it, if that can be said.
func (w *formWriter) gap(g gap) {
	w.failed = w.failed || g.least > 1 // which would be characters, not bytes
	for i := range w.drafts {
		d := &w.drafts[i]
		k := len(d.gaps) - 1
		if k < 0 || d.lits[k+1] != "" {
			d.lits, d.gaps = append(d.lits, ""), append(d.gaps, g)
			continue
		}
		last := &d.gaps[k]
		if last.least+g.least > 1 || last.inside != g.inside && last.least+g.least > 0 {
			w.failed = true
		}
		last.inside, last.least = last.inside && g.inside, last.least+g.least
	}
}

// either goes every one of some ways.
func (w *formWriter) either(ways ...func()) {
	before := w.drafts
	var after []draft
	for _, way := range ways {
		w.drafts = make([]draft, len(before))
		for i, d := range before {
			w.drafts[i] = draft{append([]string{}, d.lits...), append([]gap{}, d.gaps...)}
		}
		way()
		after = append(after, w.drafts...)
		if len(after) > maxForms {
			w.failed = true
		}
		if w.failed {
			return
		}
	}
	w.drafts = after
}

// plain returns the forms. Where a form has several gaps, only one that
// takes anything at all may take it where it is found first.
func (w *formWriter) plain() (plain, bool) {
	if w.failed {
		return plain{}, false
	}
	p := plain{unless: w.unless, forms: make([]form, 0, len(w.drafts))}
	for _, d := range w.drafts {
		k := len(d.gaps)
		f := form{prefix: d.lits[0]}
		switch k {
		case 0:
			f.exact = true
		case 1:
			f.suffix, f.inside, f.least = d.lits[1], d.gaps[0].inside, d.gaps[0].least
		default:
			for _, g := range d.gaps {
				if g.inside || g.least > 0 {
					return plain{}, false
				}
			}
			f.fragments, f.suffix = d.lits[1:k], d.lits[k]
		}
		p.forms = append(p.forms, f)
	}
	return p, true
}

// treeForms writes a tree of whole strings as forms, if it can be.
func treeForms(n *node) (plain, bool) {
	w := newFormWriter()
	w.sequence(withoutEnds(n))
	return w.plain()
}

// sequence writes nodes one after the other, the characters of a literal at
// once.
func (w *formWriter) sequence(subs []*node) {
	for len(subs) > 0 && !w.failed {
		lit, n := literalRun(subs)
		if n > 0 {
			w.lit(lit)
		} else {
			w.node(subs[0])
			n = 1
		}
		subs = subs[n:]
	}
}

func (w *formWriter) node(n *node) {
	if w.failed {
		return
	}
	switch n.op {
	case nSet:
		w.set(n.set)
	case nCat:
		w.sequence(n.subs)
	case nAlt:
		ways := make([]func(), len(n.subs))
		for i, sub := range n.subs {
			ways[i] = func() { w.node(sub) }
		}
		w.either(ways...)
	case nRepeat:
		w.repeat(n)
	default:
		w.failed = true
	}
}

// set writes one character of a few.
func (w *formWriter) set(s *set) {
	const few = 4
	if len(s.spans) == 2 && s.spans[0] == (span{'/', '/'}) && s.spans[1] == (span{'\\', '\\'}) {
		w.unless |= backslashed
		w.lit("/")
		return
	}
	var chars []string
	for _, sp := range s.spans {
		for r := sp.lo; r <= sp.hi; r++ {
			if len(chars) == few || !utf8.ValidRune(r) {
				w.failed = true
				return
			}
			chars = append(chars, string(r))
		}
	}
	if len(chars) == 1 {
		w.lit(chars[0])
		return
	}
	ways := make([]func(), len(chars))
	for i, c := range chars {
		ways[i] = func() { w.lit(c) }
	}
	w.either(ways...)
}

func (w *formWriter) repeat(n *node) {
	const few = 8
	body := n.subs[0]
	switch {
	case n.mode == possessive || n.min > few || n.max > few:
		w.failed = true
	case n.max == unlimited && body.op == nSet && body.set.full():
		w.gap(gap{least: n.min})
	case n.max == unlimited && body.op == nSet && sameSpans(body.set.spans, lineSet.spans):
		w.unless |= manyLines
		w.gap(gap{least: n.min})
	case n.max == unlimited:
		w.failed = true
	case n.min == 0 && n.max == 1 && body.op == nSet && body.set == oneSet('\n'):
		w.unless |= manyLines // of a $
	default:
		for range n.min {
			w.node(body)
		}
		w.optional(body, n.max-n.min)
	}
}

// optional writes n up to count times.
func (w *formWriter) optional(n *node, count int) {
	if count > 0 && !w.failed {
		w.either(func() {}, func() { w.node(n); w.optional(n, count-1) })
	}
}

// plain returns the forms of p, if it has any: those of its shape, its rows or
// its tree.
func (p *Pattern) plain() (plain, bool) {
	b := p.body()
	switch m := b.m.(type) {
	case *plainly:
		return m.plain, true
	case *minimatch:
		return plain{}, false // or it were one of those
	}
	if sh := p.shape(); sh.Exact || sh.Ordered {
		return plain{forms: []form{{prefix: sh.Prefix, suffix: sh.Suffix, fragments: sh.Fragments, exact: sh.Exact}}}, true
	}
	if b.settled {
		return plain{}, false
	}
	t := p.trees()
	if t.tree == nil || t.loose {
		return plain{}, false
	}
	return treeForms(t.tree)
}

package minimatch

import (
	"slices"

	"github.com/obstat/obstat/pattern/internal/re"
)

// A segment stands between two slashes of a minimatch pattern.
type segment struct {
	kind segmentKind
	lit  string // segLiteral: the text; segGlob: the literal it starts with
	in   []item // of the others
}

type segmentKind uint8

const (
	segLiteral  segmentKind = iota
	segGlob                 // literals, sets, ? and * in a row
	segTree                 // with extended globs
	segStarStar             // any number of segments
)

// newSegment reads a segment.
func newSegment(text string) segment {
	if text == "**" {
		return segment{kind: segStarStar}
	}
	src := []rune(text)
	if lit, ok := literal(src); ok {
		return segment{kind: segLiteral, lit: lit}
	}
	g := segment{kind: segGlob, in: parse(src)}
	// A set of one character is no literal here: it does not match a leading dot.
	for _, it := range g.in {
		if it.lit == 0 {
			break
		}
		g.lit += string(it.lit)
	}
	if slices.ContainsFunc(g.in, func(it item) bool { return it.ext != 0 }) {
		g.kind = segTree
	}
	return g
}

// An item is a character or a set of them, a *, a ?, or an extended glob.
type item struct {
	set  *re.Set // nil: any character, unless star or ext
	lit  rune    // the character, if it was written as one
	star bool
	ext  rune     // one of !?+*@
	alts [][]item // of an extended glob
}

func litItem(r rune) item { return item{set: re.One(r), lit: r} }

// token is an item, or a mark of an extended glob that may turn out to be
// plain text.
type token struct {
	item  item
	open  rune // ( after this character
	bar   bool
	close bool
	end   int // of an open one: where it is closed, if it is
}

// parse reads a segment that is more than text.
func parse(s []rune) []item {
	if t := string(s); t == "*()" || t == "?()" {
		return []item{{star: t[0] == '*'}, litItem('('), litItem(')')} // nothing but an empty one is none
	}
	toks := tokens(s)
	var opens []int
	for i := range toks {
		switch {
		case toks[i].open != 0:
			opens = append(opens, i)
		case toks[i].close && len(opens) > 0:
			toks[opens[len(opens)-1]].end = i
			opens = opens[:len(opens)-1]
		}
	}
	return alternatives(toks, 0, len(toks), true)[0]
}

func tokens(s []rune) []token {
	var toks []token
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			if i+1 < len(s) {
				i++
			}
			toks = append(toks, token{item: litItem(s[i])})
			continue
		case c == '[':
			if set, n := class(s[i:]); n > 0 {
				toks = append(toks, token{item: item{set: set}})
				i += n - 1
				continue
			}
		case isExt(c) && i+1 < len(s) && s[i+1] == '(':
			toks = append(toks, token{open: c})
			i++
			continue
		}
		switch c {
		case '|':
			toks = append(toks, token{bar: true})
		case ')':
			toks = append(toks, token{close: true})
		case '*':
			toks = append(toks, token{item: item{star: true}})
		case '?':
			toks = append(toks, token{item: item{}})
		default:
			toks = append(toks, token{item: litItem(c)})
		}
	}
	return toks
}

func isExt(r rune) bool { return r == '!' || r == '?' || r == '+' || r == '*' || r == '@' }

// alternatives makes the alternatives between two tokens. One that is not closed
// is never inside one that is, so | and ) are text only at the top.
func alternatives(toks []token, from, to int, top bool) [][]item {
	alts := [][]item{nil}
	add := func(items ...item) { alts[len(alts)-1] = append(alts[len(alts)-1], items...) }
	for i := from; i < to; i++ {
		switch t := &toks[i]; {
		case t.open != 0 && t.end > 0:
			add(item{ext: t.open, alts: alternatives(toks, i+1, t.end, false)})
			i = t.end
		case t.open != 0:
			add(litItem(t.open), litItem('('))
		case t.bar && !top:
			alts = append(alts, nil)
		case t.bar:
			add(litItem('|'))
		case t.close:
			add(litItem(')'))
		default:
			add(t.item)
		}
	}
	return alts
}

// itemTree writes items as a tree. top: outside of every !(...), where a
// wildcard must not match a leading dot.
func itemTree(items []item, top bool) *re.Node {
	var out []*re.Node
	for _, it := range items {
		if it.ext != 0 {
			out = append(out, extTree(it, top))
			continue
		}
		if top && it.lit == 0 {
			out = append(out, &re.Node{Op: re.OpAt, At: re.AtNoDot})
		}
		out = append(out, it.node())
	}
	return &re.Node{Op: re.OpCat, Subs: out}
}

func extTree(it item, top bool) *re.Node {
	alts := make([]*re.Node, len(it.alts))
	for i, a := range it.alts {
		alts[i] = itemTree(a, top && it.ext != '!')
	}
	body := &re.Node{Op: re.OpAlt, Subs: alts}
	switch it.ext {
	case '!':
		return &re.Node{Op: re.OpNot, Not: top, Subs: []*re.Node{body}}
	case '?':
		return &re.Node{Op: re.OpRepeat, Max: 1, Subs: []*re.Node{body}}
	case '*':
		return &re.Node{Op: re.OpRepeat, Max: re.Unlimited, Subs: []*re.Node{body}}
	case '+':
		return &re.Node{Op: re.OpRepeat, Min: 1, Max: re.Unlimited, Subs: []*re.Node{body}}
	}
	return body
}

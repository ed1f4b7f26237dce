package pattern

import "slices"

// A segment stands between two slashes of a minimatch pattern.
type segment struct {
	kind segmentKind
	lit  string   // segLiteral: the text; segGlob: the literal it starts with
	in   []mmItem // of the others
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
	if lit, ok := mmLiteral(src); ok {
		return segment{kind: segLiteral, lit: lit}
	}
	g := segment{kind: segGlob, in: mmParse(src)}
	// A set of one character is no literal here: it does not match a leading dot.
	for _, it := range g.in {
		if it.lit == 0 {
			break
		}
		g.lit += string(it.lit)
	}
	if slices.ContainsFunc(g.in, func(it mmItem) bool { return it.ext != 0 }) {
		g.kind = segTree
	}
	return g
}

// An mmItem is a character or a set of them, a *, a ?, or an extended glob.
type mmItem struct {
	set  *set // nil: any character, unless star or ext
	lit  rune // the character, if it was written as one
	star bool
	ext  rune       // one of !?+*@
	alts [][]mmItem // of an extended glob
}

func litItem(r rune) mmItem { return mmItem{set: oneSet(r), lit: r} }

// mmToken is an mmItem, or a mark of an extended glob that may turn out to be
// plain text.
type mmToken struct {
	item  mmItem
	open  rune // ( after this character
	bar   bool
	close bool
	end   int // of an open one: where it is closed, if it is
}

// mmParse reads a segment that is more than text.
func mmParse(s []rune) []mmItem {
	if t := string(s); t == "*()" || t == "?()" {
		return []mmItem{{star: t[0] == '*'}, litItem('('), litItem(')')} // nothing but an empty one is none
	}
	toks := mmTokens(s)
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
	return mmBuild(toks, 0, len(toks), true)[0]
}

func mmTokens(s []rune) []mmToken {
	var toks []mmToken
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			if i+1 < len(s) {
				i++
			}
			toks = append(toks, mmToken{item: litItem(s[i])})
			continue
		case c == '[':
			if set, n := mmClass(s[i:]); n > 0 {
				toks = append(toks, mmToken{item: mmItem{set: set}})
				i += n - 1
				continue
			}
		case isExt(c) && i+1 < len(s) && s[i+1] == '(':
			toks = append(toks, mmToken{open: c})
			i++
			continue
		}
		switch c {
		case '|':
			toks = append(toks, mmToken{bar: true})
		case ')':
			toks = append(toks, mmToken{close: true})
		case '*':
			toks = append(toks, mmToken{item: mmItem{star: true}})
		case '?':
			toks = append(toks, mmToken{item: mmItem{}})
		default:
			toks = append(toks, mmToken{item: litItem(c)})
		}
	}
	return toks
}

func isExt(r rune) bool { return r == '!' || r == '?' || r == '+' || r == '*' || r == '@' }

// mmBuild makes the alternatives between two tokens. One that is not closed
// is never inside one that is, so | and ) are text only at the top.
func mmBuild(toks []mmToken, from, to int, top bool) [][]mmItem {
	alts := [][]mmItem{nil}
	add := func(items ...mmItem) { alts[len(alts)-1] = append(alts[len(alts)-1], items...) }
	for i := from; i < to; i++ {
		switch t := &toks[i]; {
		case t.open != 0 && t.end > 0:
			add(mmItem{ext: t.open, alts: mmBuild(toks, i+1, t.end, false)})
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

// mmTree writes items as a tree. top: outside of every !(...), where a
// wildcard must not match a leading dot.
func mmTree(items []mmItem, top bool) *node {
	var out []*node
	for _, it := range items {
		if it.ext != 0 {
			out = append(out, mmExt(it, top))
			continue
		}
		if top && it.lit == 0 {
			out = append(out, &node{op: nAt, at: atNoDot})
		}
		out = append(out, it.node())
	}
	return &node{op: nCat, subs: out}
}

func mmExt(it mmItem, top bool) *node {
	alts := make([]*node, len(it.alts))
	for i, a := range it.alts {
		alts[i] = mmTree(a, top && it.ext != '!')
	}
	body := &node{op: nAlt, subs: alts}
	switch it.ext {
	case '!':
		return &node{op: nNot, not: top, subs: []*node{body}}
	case '?':
		return &node{op: nRepeat, max: 1, subs: []*node{body}}
	case '*':
		return &node{op: nRepeat, max: unlimited, subs: []*node{body}}
	case '+':
		return &node{op: nRepeat, min: 1, max: unlimited, subs: []*node{body}}
	}
	return body
}

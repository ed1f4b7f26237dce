package paths

import (
	"path"
	"strings"
)

// glob looks for rows of which a sample name is reached by the shell pattern p.
func (t *Table) glob(p string, m *matches) {
	if t.broken != nil {
		m.broken = t.broken
		return
	}
	var buf [16]globSeg
	g := globbing{t: t, segs: buf[:0], m: m}
	for s := range strings.SplitSeq(strings.Trim(strings.ToLower(p), "/"), "/") {
		g.segs = append(g.segs, newGlobSeg(s))
	}
	g.run()
}

// globbing is one search.
type globbing struct {
	t        *Table
	x        *globIndex
	segs     []globSeg
	m        *matches
	anywhere bool // a segment before the last has wildcards
}

// run tries the rows that the pattern can reach. Nearly always only its last segment has
// wildcards: then they are few, as literal names are found by lookup, and only at the end.
func (g *globbing) run() {
	last := &g.segs[len(g.segs)-1]
	for i := range g.segs[:len(g.segs)-1] {
		g.anywhere = g.anywhere || !g.segs[i].literal
	}
	if last.literal && !g.anywhere {
		return
	}
	g.x = g.t.globs()
	switch {
	case g.anywhere, !last.generic && last.prefix == "" && last.suffix == "":
		for i := range g.t.rows {
			if r := &g.t.rows[i]; r.is(rowDir) || g.near(r) {
				g.try(i)
			}
		}
	case last.generic:
		if len(g.segs) > 1 {
			g.chain(g.x.parent[hash(g.segs[len(g.segs)-2].text)&255], g.x.nextParent)
		}
		g.chain(g.x.wildParent, g.x.nextParent)
	case len(last.prefix) > 1:
		g.chain(g.x.pair[pairKey(last.prefix)], g.x.nextPair)
		g.chain(g.x.wildPair, g.x.nextPair)
	case last.prefix != "":
		g.chain(g.x.first[last.prefix[0]], g.x.nextFirst)
		g.chain(g.x.first['*'], g.x.nextFirst)
	case len(last.suffix) > 1:
		g.chain(g.x.end[pairKey(last.suffix[len(last.suffix)-2:])], g.x.nextEnd)
		g.chain(g.x.wildEnd, g.x.nextEnd)
	default:
		g.chain(g.x.last[last.suffix[len(last.suffix)-1]], g.x.nextLast)
		g.chain(g.x.last['*'], g.x.nextLast)
	}
}

// chain tries the rows of a chain.
func (g *globbing) chain(at uint16, next []uint16) {
	for ; at != 0; at = next[at-1] {
		if g.near(&g.t.rows[at-1]) {
			g.try(int(at) - 1)
		}
	}
}

// near reports whether the last segment may reach the row's name, at the end of the path. Most
// rows are not reached by the ends of their name alone.
func (g *globbing) near(r *row) bool {
	last := &g.segs[len(g.segs)-1]
	switch {
	case last.generic || r.is(rowStar):
		return true
	case last.literal:
		return r.pat[r.last:] == last.text
	}
	return strings.HasSuffix(r.pat, last.suffix) && strings.HasPrefix(r.pat[r.last:], last.prefix)
}

// try adds row i if the pattern reaches it.
func (g *globbing) try(i int) {
	r := &g.t.rows[i]
	last := len(g.segs) - int(r.segs)
	if last < 0 || r.is(rowNot) || r.is(rowRooted) && last != 0 && !(r.is(rowDir) && g.anywhere) {
		return
	}
	from, to := last, last
	if r.is(rowDir) && g.anywhere {
		from = 0
	}
	if r.is(rowRooted) {
		to = 0
	}
	for at := from; at <= to; at++ {
		if g.reached(r, i, g.segs[at:at+int(r.segs)]) {
			g.m.add(r)
			return
		}
	}
}

// reached compares the row's segments, from the last, with those of the pattern.
func (g *globbing) reached(r *row, i int, globs []globSeg) bool {
	pat := r.pat
	if last := &globs[len(globs)-1]; last.literal && !r.is(rowStar) && last.text != r.pat[r.last:] {
		return false
	}
	for k := len(globs) - 1; k >= 0; k-- {
		cut := strings.LastIndexByte(pat, '/')
		seg := pat[cut+1:]
		pat = pat[:max(cut, 0)]
		s := [2]string{seg, seg}
		if r.is(rowStar) {
			s = g.x.samples[i][k]
		}
		if !globs[k].reaches(s, len(globs) > 1) {
			return false
		}
	}
	return true
}

// reaches reports whether the segment can stand for one of the samples. dir/* reaches dir/name,
// as long as another segment tells.
func (g *globSeg) reaches(s [2]string, more bool) bool {
	if g.generic {
		return more && s[0] != "" && s[0][0] != '.' && s[0] == s[1]
	}
	return g.match(s[0]) || s[0] != s[1] && g.match(s[1])
}

// globIndex finds rows by the letters or the directory of their last segment: chains of rows
// plus one.
type globIndex struct {
	first, last [256]uint16 // by the first byte and the last, which may be a *
	pair, end   [256]uint16 // by the first two bytes and the last two
	wildPair    uint16      // if one of these is a *, or there are not two
	wildEnd     uint16
	parent      [256]uint16 // by hash of the segment before it
	wildParent  uint16      // if that has a *

	nextFirst, nextLast, nextPair, nextEnd, nextParent []uint16

	samples [][][2]string // of a row with a *: for each segment two names that it stands for
}

func pairKey(s string) byte { return s[0]*31 + s[1] }

func (t *Table) makeGlobs() *globIndex {
	n := len(t.rows)
	next := make([]uint16, 5*n)
	x := &globIndex{nextFirst: next[:n], nextLast: next[n : 2*n], nextPair: next[2*n : 3*n], nextEnd: next[3*n : 4*n], nextParent: next[4*n:], samples: make([][][2]string, n)}
	for i := n - 1; i >= 0; i-- {
		r := &t.rows[i]
		name := r.name()
		link(&x.first[name[0]], x.nextFirst, i)
		link(&x.last[name[len(name)-1]], x.nextLast, i)
		linkPair(&x.pair, &x.wildPair, x.nextPair, name[:min(2, len(name))], i)
		linkPair(&x.end, &x.wildEnd, x.nextEnd, name[max(0, len(name)-2):], i)
		if r.is(rowStar) {
			x.samples[i] = samplesOf(r.pat)
		}
		if r.segs < 2 || r.is(rowDir) {
			continue
		}
		dir := r.pat[:len(r.pat)-len(name)-1]
		dir = dir[strings.LastIndexByte(dir, '/')+1:]
		chain := &x.parent[hash(dir)&255]
		if strings.IndexByte(dir, '*') >= 0 {
			chain = &x.wildParent
		}
		link(chain, x.nextParent, i)
	}
	return x
}

func link(chain *uint16, next []uint16, i int) { next[i], *chain = *chain, uint16(i+1) }

func linkPair(chains *[256]uint16, wild *uint16, next []uint16, pair string, i int) {
	if len(pair) == 2 && pair[0] != '*' && pair[1] != '*' {
		wild = &chains[pairKey(pair)]
	}
	link(wild, next, i)
}

// samplesOf gives each segment of a pattern two names that it stands for.
func samplesOf(pat string) [][2]string {
	var out [][2]string
	for seg := range strings.SplitSeq(pat, "/") {
		out = append(out, [2]string{strings.ReplaceAll(seg, "*", ""), strings.ReplaceAll(seg, "*", "x")})
	}
	return out
}

// globSeg is one segment of a shell pattern.
type globSeg struct {
	text           string // as path.Match takes it
	prefix, suffix string // literal ends
	literal        bool
	generic        bool // says nothing about the name it stands for
}

func newGlobSeg(s string) globSeg {
	first, last := strings.IndexAny(s, `*?[\`), strings.LastIndexAny(s, `*?]\`)
	if first < 0 {
		return globSeg{text: s, literal: true}
	}
	g := globSeg{text: strings.ReplaceAll(openClasses(s), "[!", "[^"), prefix: s[:first]}
	if last >= first && s[last] != '\\' {
		g.suffix = s[last+1:]
	}
	g.generic = s[0] != '.' && strings.Trim(s, "*?[]!^-.") == ""
	return g
}

// openClasses writes the classes of a pattern that name characters, `[[:lower:]]`, as any character.
func openClasses(s string) string {
	for i := 0; strings.Contains(s, "[:") || strings.Contains(s, "[=") || strings.Contains(s, "[."); i++ {
		at := strings.IndexByte(s[min(i, len(s)):], '[')
		if at < 0 {
			break
		}
		at += i
		if end := classEnd(s, at); end > 0 && strings.IndexByte(s[at+1:end], '[') >= 0 {
			s = s[:at] + "?" + s[end+1:]
		}
		i = at
	}
	return s
}

func (g *globSeg) match(s string) bool {
	if g.literal {
		return g.text == s
	}
	if !strings.HasPrefix(s, g.prefix) || !strings.HasSuffix(s, g.suffix) {
		return false
	}
	if s != "" && s[0] == '.' && g.prefix == "" {
		return false // a wildcard does not stand for a leading dot
	}
	ok, err := path.Match(g.text, s)
	return ok || err != nil
}

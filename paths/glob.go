package paths

import (
	"path"
	"strings"
)

// glob looks for rows of which a sample name is reached by the shell pattern p.
func (t *table) glob(p string, m *matches) {
	var buf [16]globSeg
	g := globbing{segs: buf[:0]}
	for s := range strings.SplitSeq(strings.Trim(strings.ToLower(p), "/"), "/") {
		g.segs = append(g.segs, newGlobSeg(s))
	}
	for i := range g.segs[:len(g.segs)-1] {
		g.anywhere = g.anywhere || !g.segs[i].literal
	}
	last := &g.segs[len(g.segs)-1]
	if last.literal && !g.anywhere {
		return // lookup finds it
	}
	want := last.ends()
	if last.generic && len(g.segs) > 1 && g.segs[len(g.segs)-2].literal {
		want.put(parentAt, lastByte(g.segs[len(g.segs)-2].text))
	}
	for i := range t.ends {
		if e := &t.ends[i]; !g.anywhere && (e.value^want.value)&e.mask&want.mask != 0 {
			continue
		}
		if r := &t.rows[i]; g.near(r) && g.reached(r) {
			m.add(r)
		}
	}
}

// nameEnds holds bytes at the ends of a row's last name and the last byte of the name before;
// mask has those that are known, not a *. They lie together, so that a search is soon through.
type nameEnds struct{ value, mask uint32 }

// The places of the bytes.
const (
	firstAt  = 0
	lastAt   = 8
	beforeAt = 16 // the byte before the last
	parentAt = 24
)

func (e *nameEnds) put(at int, b byte) {
	if b != '*' {
		e.value |= uint32(b) << at
		e.mask |= 0xff << at
	}
}

// putLast puts the last two bytes of a name.
func (e *nameEnds) putLast(name string) {
	n := len(name)
	if e.put(lastAt, name[n-1]); n > 1 && name[n-1] != '*' {
		e.put(beforeAt, name[n-2])
	}
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

func (r *row) ends() (e nameEnds) {
	e.put(firstAt, r.name()[0])
	e.putLast(r.name())
	e.put(parentAt, lastByte(r.pat[:max(int(r.last)-1, 0)]))
	return e
}

// ends returns the bytes that a name has to begin and end with.
func (g *globSeg) ends() (e nameEnds) {
	if g.prefix != "" && !g.generic {
		e.put(firstAt, g.prefix[0])
	}
	if g.suffix != "" && !g.generic {
		e.putLast(g.suffix)
	}
	return e
}

// globbing is one search.
type globbing struct {
	segs     []globSeg
	anywhere bool // a segment before the last has wildcards
}

// near rules most rows out by the ends of their last name.
func (g *globbing) near(r *row) bool {
	last := &g.segs[len(g.segs)-1]
	switch {
	case r.is(rowDir) && g.anywhere:
		return true
	case last.generic:
		return !r.is(rowDir)
	case last.literal:
		return r.is(rowStar) || r.name() == last.text
	}
	name := r.name()
	if name[0] == '.' && last.prefix == "" {
		return false // a wildcard does not stand for a leading dot
	}
	head, tail := name, name
	if r.is(rowStar) {
		if i := strings.IndexByte(name, '*'); i >= 0 {
			head, tail = name[:i], name[strings.LastIndexByte(name, '*')+1:]
		}
	}
	n, k := min(len(head), len(last.prefix)), min(len(tail), len(last.suffix))
	return head[:n] == last.prefix[:n] && tail[len(tail)-k:] == last.suffix[len(last.suffix)-k:]
}

// reached reports whether the pattern reaches the row, where it may stand: at the end of a path
// or, if it stands for a directory, before it.
func (g *globbing) reached(r *row) bool {
	n := int(r.segs)
	last := len(g.segs) - n
	dir := r.is(rowDir) && g.anywhere
	if last < 0 || r.is(rowNot) || r.is(rowRooted) && last != 0 && !dir {
		return false
	}
	from, to := last, last
	if dir {
		from = 0
	}
	if r.is(rowRooted) {
		to = 0
	}
	for at := from; at <= to; at++ {
		if reachedAt(r.pat, g.segs[at:at+n]) {
			return true
		}
	}
	return false
}

// reachedAt compares the segments of a row's pattern with those of the shell pattern.
func reachedAt(pat string, globs []globSeg) bool {
	for k := range globs {
		var seg string
		seg, pat, _ = strings.Cut(pat, "/")
		if !globs[k].reaches(seg, len(globs) > 1) {
			return false
		}
	}
	return true
}

// reaches reports whether the segment can stand for a name, or for one of two samples of a name
// with stars. `dir/*` reaches dir/name, as long as another segment tells.
func (g *globSeg) reaches(name string, more bool) bool {
	stars := strings.IndexByte(name, '*') >= 0
	if g.generic {
		return more && name != "" && name[0] != '.' && !stars
	}
	if !stars {
		return g.match(name)
	}
	return g.match(strings.ReplaceAll(name, "*", "")) || g.match(strings.ReplaceAll(name, "*", "x"))
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

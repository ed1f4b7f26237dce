package paths

import (
	"path"
	"strings"
)

// glob looks for entries of which a sample name is reached by the shell pattern p.
func (t *Table) glob(p string, m *matches) {
	if t.broken != nil {
		m.add(t.broken)
		return
	}
	var buf [16]globSeg
	segs := buf[:0]
	for s := range strings.SplitSeq(strings.Trim(strings.ToLower(p), "/"), "/") {
		segs = append(segs, newGlobSeg(s))
	}
	list, anywhere := t.candidates(segs)
	for _, e := range list {
		if !e.not && e.reachedBy(segs, anywhere) {
			m.add(e)
		}
	}
}

// candidates are the entries that a pattern can reach. Nearly always only its last segment
// has wildcards: then what has to be looked at is little, as literal names are found by lookup, and only at the end.
func (t *Table) candidates(segs []globSeg) (list []*Entry, anywhere bool) {
	for i := range segs[:len(segs)-1] {
		if !segs[i].literal {
			return t.all, true
		}
	}
	switch last := &segs[len(segs)-1]; {
	case last.literal:
		return nil, false
	case last.generic:
		return t.nested, false
	case last.prefix == "" && last.suffix != "":
		return t.byEnd[last.suffix[len(last.suffix)-1]], false
	case last.prefix == "":
		return t.bySample[0], false
	default:
		return t.bySample[last.prefix[0]], false
	}
}

func (e *Entry) reachedBy(segs []globSeg, anywhere bool) bool {
	last := len(segs) - len(e.segs)
	if last < 0 || e.rooted && last != 0 && !(e.dir && anywhere) {
		return false
	}
	from, to := last, last
	if e.dir && anywhere {
		from = 0
	}
	if e.rooted {
		to = 0
	}
	for i := from; i <= to; i++ {
		if e.reached(segs[i : i+len(e.segs)]) {
			return true
		}
	}
	return false
}

func (e *Entry) reached(globs []globSeg) bool {
	for i := range globs {
		g, s := &globs[i], e.samples[i]
		if g.generic {
			if s[0] == "" || s[0][0] == '.' || s[0] != s[1] || len(globs) < 2 {
				return false
			}
			continue // dir/* reaches dir/name, as long as another segment tells
		}
		if !g.match(s[0]) && (s[0] == s[1] || !g.match(s[1])) {
			return false
		}
	}
	return true
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
	g := globSeg{text: strings.ReplaceAll(s, "[!", "[^"), prefix: s[:first]}
	if last >= first && s[last] != '\\' {
		g.suffix = s[last+1:]
	}
	g.generic = s[0] != '.' && strings.Trim(s, "*?[]!^-.") == ""
	return g
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

package paths

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed sensitive.txt
var sensitiveText string

var defaultTable = sync.OnceValue(func() *Table {
	t, err := ParseTable(sensitiveText)
	if err != nil {
		// The embedded text is checked by a test. Should it ever be broken, every path is
		// sensitive: nothing may fail open.
		return &Table{broken: &Entry{Class: "unknown", Reason: err.Error(), Secret: true, Guarded: true}}
	}
	return t
})

// Entry says why a path is sensitive.
type Entry struct {
	Class   string // e.g. "ssh", "shell-startup"
	Pattern string // as written in the table
	Reason  string // a phrase for a person
	Secret  bool   // reading it gives a secret away
	Guarded bool   // writing it changes what runs, who may log in, or the machine

	segs    []string    // pattern's segments, lower case
	samples [][2]string // of each segment: names that it stands for
	head    string      // what is before the first * of the last segment, "" if there is none
	tail    string      // what follows its last *, or all of it
	rooted  bool        // pattern begins at /
	dir     bool        // pattern stands for everything below it
	not     bool        // pattern takes a path out of the table
}

// Table is a parsed list of sensitive paths. It is immutable.
type Table struct {
	byName    map[string][]*Entry // keyed by the pattern's last segment, if that has no *
	lengths   [256]uint64         // of the names in byName, by first byte: most segments need no look-up
	dirs      []*Entry            // those with a * that stand for a directory
	byFirst   [256][]*Entry       // the others, by the first byte before their *,
	byLast    [256][]*Entry       // by the last byte after it,
	rest      []*Entry            // or neither
	all       []*Entry
	heads     map[string][]*Entry // secrets, by each segment of the directories they lie in
	belowRoot *Entry              // one that is anchored at the root
	nested    []*Entry            // of more than one segment, not standing for a directory
	byEnd     [256][]*Entry       // by its last byte, if the first is not a dot
	bySample  [256][]*Entry       // by the first byte of a sample of the last segment; 0: not a dot
	broken    *Entry
}

// ParseTable reads a table: one entry a line, `class access pattern reason`, where access is
// `secret`, `write`, `both` or `not` (an exception). A pattern that begins with / is anchored
// there; any other matches the last segments of a path, and one that ends in / everything
// below such a directory. `*` stands for any characters but /. Case does not matter.
func ParseTable(text string) (*Table, error) {
	t := &Table{byName: map[string][]*Entry{}, heads: map[string][]*Entry{}}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("line %d: want class, access, pattern and reason", n+1)
		}
		e := &Entry{Class: f[0], Pattern: f[2], Reason: strings.Join(f[3:], " ")}
		switch f[1] {
		case "secret":
			e.Secret = true
		case "write":
			e.Guarded = true
		case "both":
			e.Secret, e.Guarded = true, true
		case "not":
			e.not = true
		default:
			return nil, fmt.Errorf("line %d: access %q is not secret, write, both or not", n+1, f[1])
		}
		t.add(e)
	}
	return t, nil
}

func (t *Table) add(e *Entry) {
	p := strings.ToLower(e.Pattern)
	e.rooted = strings.HasPrefix(p, "/")
	e.dir = strings.HasSuffix(p, "/")
	e.segs = strings.Split(strings.Trim(p, "/"), "/")
	if e.segs[len(e.segs)-1] == "" {
		return // the pattern / stands for no place in particular
	}
	for _, seg := range e.segs {
		e.samples = append(e.samples, [2]string{strings.ReplaceAll(seg, "*", ""), strings.ReplaceAll(seg, "*", "x")})
	}
	t.addSamples(e)
	t.addHeads(e)
	last := e.segs[len(e.segs)-1]
	e.tail = last[strings.LastIndexByte(last, '*')+1:]
	e.head = last[:max(0, strings.IndexByte(last, '*'))]
	t.all = append(t.all, e)
	switch first, end := last[0], last[len(last)-1]; {
	case !strings.Contains(last, "*"):
		t.byName[last] = append(t.byName[last], e)
		t.lengths[first] |= 1 << (len(last) & 63)
	case e.dir:
		t.dirs = append(t.dirs, e)
	case first != '*':
		t.byFirst[first] = append(t.byFirst[first], e)
	case end != '*':
		t.byLast[end] = append(t.byLast[end], e)
	default:
		t.rest = append(t.rest, e)
	}
}

func (t *Table) addSamples(e *Entry) {
	if len(e.segs) > 1 && !e.dir {
		t.nested = append(t.nested, e)
	}
	last := e.samples[len(e.samples)-1]
	for i, s := range last {
		if s == "" || i == 1 && s == last[0] {
			continue
		}
		first, end := s[0], s[len(s)-1]
		t.bySample[first] = appendNew(t.bySample[first], e)
		if first != '.' {
			t.bySample[0] = appendNew(t.bySample[0], e)
			t.byEnd[end] = appendNew(t.byEnd[end], e)
		}
	}
}

func appendNew(list []*Entry, e *Entry) []*Entry {
	if n := len(list); n > 0 && list[n-1] == e {
		return list
	}
	return append(list, e)
}

// Sensitive classifies paths. The zero value uses the built-in table.
type Sensitive struct {
	Extra *Table // asked first; nil: none
	Bare  bool   // leave the built-in table out
}

// Class returns the class of a path and why it is sensitive.
func (s Sensitive) Class(p string) (class, reason string, ok bool) {
	e, ok := s.Lookup(p)
	return e.Class, e.Reason, ok
}

// Lookup returns the entry that p falls under. Extra is asked first, and an exception there
// takes a path out of the built-in table, too.
func (s Sensitive) Lookup(p string) (Entry, bool) {
	var m matches
	if s.Extra != nil {
		s.Extra.lookup(p, &m)
	}
	if !s.Bare {
		defaultTable().lookup(p, &m)
	}
	return m.best()
}

// Glob returns an entry that a shell pattern such as `.env?` or `*.pem` would reach. A
// pattern without a telling letter, such as `*`, reaches nothing: it stands for
// whatever lies there.
func (s Sensitive) Glob(p string) (Entry, bool) {
	var m matches
	if s.Extra != nil {
		s.Extra.glob(p, &m)
	}
	if !s.Bare {
		defaultTable().glob(p, &m)
	}
	return m.best()
}

// Below returns a secret that the tables know to lie below a directory, such as the keys
// below .ssh. Only places are known this way, not names that may lie anywhere.
func (s Sensitive) Below(dir string) (Entry, bool) {
	dir = strings.ToLower(dir)
	if s.Extra != nil {
		if e := s.Extra.below(dir); e != nil {
			return *e, true
		}
	}
	if !s.Bare {
		if e := defaultTable().below(dir); e != nil {
			return *e, true
		}
	}
	return Entry{}, false
}

func (t *Table) below(dir string) *Entry {
	if t.broken != nil {
		return t.broken
	}
	rooted := strings.HasPrefix(dir, "/")
	dir = strings.Trim(dir, "/")
	if dir == "" && rooted {
		return t.belowRoot
	}
	for _, e := range t.heads[dir[strings.LastIndexByte(dir, '/')+1:]] {
		for k := 1; k < len(e.segs); k++ {
			head := Entry{segs: e.segs[:k], rooted: e.rooted}
			if (rooted || !e.rooted) && head.match(dir) {
				return e
			}
		}
	}
	return nil
}

// addHeads makes a secret's directories known: .config and .config/gh of .config/gh/hosts.yml.
func (t *Table) addHeads(e *Entry) {
	if !e.Secret || !e.rooted && e.segs[0][0] != '.' {
		return
	}
	if e.rooted && t.belowRoot == nil {
		t.belowRoot = e
	}
	for _, seg := range e.segs[:len(e.segs)-1] {
		t.heads[seg] = append(t.heads[seg], e)
	}
}

// matches collects the entries that speak for one path. A path has few; a shell pattern may
// have more than fit: then secrets stay.
type matches struct {
	list [16]*Entry
	n    int
}

func (m *matches) add(e *Entry) {
	if m.n < len(m.list) {
		m.list[m.n] = e
		m.n++
		return
	}
	for i, old := range m.list {
		if e.Secret && !old.Secret && !old.not {
			m.list[i] = e
			return
		}
	}
}

// best is the first entry that no exception of its class takes out, a secret before what is
// only guarded.
func (m *matches) best() (Entry, bool) {
	var best *Entry
	for _, e := range m.list[:m.n] {
		if !e.not && !m.excepted(e.Class) && (best == nil || e.Secret && !best.Secret) {
			best = e
		}
	}
	if best == nil {
		return Entry{}, false
	}
	return *best, true
}

func (m *matches) excepted(class string) bool {
	for _, e := range m.list[:m.n] {
		if e.not && (e.Class == class || e.Class == "*") {
			return true
		}
	}
	return false
}

func (t *Table) lookup(p string, m *matches) {
	if t.broken != nil {
		m.add(t.broken)
		return
	}
	p = strings.ToLower(strings.Trim(p, "/"))
	for end := 0; end < len(p); end++ {
		start := end
		for end < len(p) && p[end] != '/' {
			end++
		}
		if start == end {
			continue
		}
		name, whole := p[start:end], end == len(p)
		if t.lengths[name[0]]>>(len(name)&63)&1 != 0 {
			for _, e := range t.byName[name] {
				if (e.dir || whole) && e.match(p[:end]) {
					m.add(e)
				}
			}
		}
		m.addAll(t.dirs, p[:end], name)
		if whole {
			m.addAll(t.byFirst[name[0]], p, name)
			m.addAll(t.byLast[name[len(name)-1]], p, name)
			m.addAll(t.rest, p, name)
		}
	}
}

// addAll adds the entries that match p, whose last segment is name. Most do not by the first
// and last letters of the name alone.
func (m *matches) addAll(list []*Entry, p, name string) {
	for _, e := range list {
		if strings.HasPrefix(name, e.head) && strings.HasSuffix(name, e.tail) && e.match(p) {
			m.add(e)
		}
	}
}

// match reports whether the last segments of p are the pattern's.
func (e *Entry) match(p string) bool {
	if !strings.HasSuffix(p, e.tail) || e.rooted && strings.Count(p, "/") != len(e.segs)-1 {
		return false
	}
	for i := len(e.segs) - 1; i >= 0; i-- {
		if p == "" {
			return false
		}
		seg := p
		if j := strings.LastIndexByte(p, '/'); j >= 0 {
			seg, p = p[j+1:], p[:j]
		} else {
			p = ""
		}
		if !star(e.segs[i], seg) {
			return false
		}
	}
	return true
}

// star matches `*` within a segment, in time linear in both per star.
func star(pat, s string) bool {
	first, rest, ok := strings.Cut(pat, "*")
	if !ok {
		return pat == s
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		part, more, ok := strings.Cut(rest, "*")
		if !ok {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

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

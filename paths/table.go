package paths

import (
	_ "embed"
	"fmt"
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
	mid     string      // what is between its first two *, "" if there are not two
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
	if parts := strings.SplitN(last, "*", 3); len(parts) == 3 {
		e.mid = parts[1]
	}
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
		if strings.HasPrefix(name, e.head) && strings.HasSuffix(name, e.tail) && strings.Contains(name, e.mid) && e.match(p) {
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

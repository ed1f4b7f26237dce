package paths

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed sensitive.txt
var sensitiveText string

// builtIn is the table of sensitive.txt.
var builtIn = sync.OnceValue(func() *table {
	t, err := parseTable(sensitiveText)
	if err != nil {
		panic("paths: sensitive.txt: " + err.Error()) // a test reads it
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
}

// table is a parsed list of sensitive paths. It is immutable.
//
// A process that decides one call builds one, so it is small: rows refer to the text, and are
// found by hash or by letter through chains of two-byte numbers.
type table struct {
	rows    []row
	ends    []nameEnds  // of the rows
	slots   []uint16    // row plus one, by hash of the pattern's last segment, if that has no *
	lengths [256]uint64 // of those segments, by first byte: most names need no look-up
	first   [256]uint16 // rows with a *, by the first byte before it,
	last    [256]uint16 // by the last byte after it,
	rest    uint16      // or neither,
	least   int         // which takes a name of that length at least;
	dirs    uint16      // and those that stand for a directory

	heads func() map[string][]head
}

// row is a line of the table.
type row struct {
	line string // as written
	pat  string // the pattern in lower case, without slashes around it
	last uint16 // where its last segment begins
	next uint16 // row plus one that is found in the same way
	segs uint8  // how many segments it has
	flag rowFlag
}

type rowFlag uint8

const (
	rowSecret  rowFlag = 1 << iota
	rowGuarded         // writing counts
	rowNot             // the pattern takes a path out of the table
	rowRooted          // the pattern begins at /
	rowDir             // the pattern stands for everything below it
	rowStar            // the pattern has a *
)

func (r *row) is(f rowFlag) bool { return r.flag&f != 0 }

// entry is the row for others.
func (r *row) entry() Entry {
	class, rest := field(r.line)
	_, rest = field(rest)
	pattern, rest := field(rest)
	reason := strings.TrimSpace(rest)
	return Entry{Class: class, Pattern: pattern, Reason: reason, Secret: r.is(rowSecret), Guarded: r.is(rowGuarded)}
}

func (r *row) class() string {
	class, _ := field(r.line)
	return class
}

// name is the last segment of the pattern.
func (r *row) name() string { return r.pat[r.last:] }

// field cuts the first word off a line.
func field(s string) (word, rest string) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	j := i
	for j < len(s) && s[j] != ' ' && s[j] != '\t' && s[j] != '\r' {
		j++
	}
	return s[i:j], s[j:]
}

// The limits of a table.
const (
	maxRows    = 1<<16 - 2
	maxPattern = 250 // bytes
)

// parseTable reads a table: one entry a line, `class access pattern reason`, where access is
// `secret`, `write`, `both` or `not` (an exception). A pattern that begins with / is anchored
// there; any other matches the last segments of a path, and one that ends in / everything
// below such a directory. `*` stands for any characters but /. Case does not matter.
func parseTable(text string) (*table, error) {
	t := &table{rows: make([]row, 0, min(len(text)/bytesOfRow+8, maxRows))}
	t.heads = sync.OnceValue(t.makeHeads)
	for n := 1; text != ""; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		class, rest := field(line)
		if class == "" || class[0] == '#' {
			continue
		}
		access, rest := field(rest)
		pattern, _ := field(rest)
		f, ok := accessFlags(access)
		switch {
		case pattern == "":
			return nil, fmt.Errorf("line %d: want class, access, pattern and reason", n)
		case !ok:
			return nil, fmt.Errorf("line %d: access %q is not secret, write, both or not", n, access)
		case len(t.rows) >= maxRows:
			return nil, fmt.Errorf("line %d: more than %d entries", n, maxRows)
		case len(pattern) > maxPattern:
			return nil, fmt.Errorf("line %d: a pattern of more than %d bytes", n, maxPattern)
		}
		t.addRow(line, pattern, f)
	}
	t.index()
	return t, nil
}

// bytesOfRow is about how long a line of a table is, comments left out.
const bytesOfRow = 64

func accessFlags(access string) (f rowFlag, ok bool) {
	switch access {
	case "secret":
		return rowSecret, true
	case "write":
		return rowGuarded, true
	case "both":
		return rowSecret | rowGuarded, true
	case "not":
		return rowNot, true
	}
	return 0, false
}

func (t *table) addRow(line, pattern string, f rowFlag) {
	if pattern[0] == '/' {
		f |= rowRooted
	}
	if pattern[len(pattern)-1] == '/' {
		f |= rowDir
	}
	p := strings.ToLower(strings.Trim(pattern, "/"))
	if p == "" {
		return // the pattern / stands for no place in particular
	}
	if strings.IndexByte(p, '*') >= 0 {
		f |= rowStar
	}
	last := strings.LastIndexByte(p, '/') + 1
	t.rows = append(t.rows, row{line: line, pat: p, last: uint16(last), segs: uint8(strings.Count(p, "/") + 1), flag: f})
}

// index makes the rows found, those of one chain in their order.
func (t *table) index() {
	size := 16
	for size < 2*len(t.rows) {
		size *= 2
	}
	t.slots, t.ends = make([]uint16, size), make([]nameEnds, len(t.rows))
	for i := len(t.rows) - 1; i >= 0; i-- {
		r := &t.rows[i]
		t.ends[i] = r.ends()
		chain := t.chain(r)
		r.next, *chain = *chain, uint16(i+1)
	}
}

// chain is where the rows begin that are found in the same way as r.
func (t *table) chain(r *row) *uint16 {
	name := r.name()
	switch first, last := name[0], name[len(name)-1]; {
	case strings.IndexByte(name, '*') < 0:
		t.lengths[first] |= 1 << (len(name) & 63)
		return t.slot(name)
	case r.is(rowDir):
		return &t.dirs
	case first != '*':
		return &t.first[first]
	case last != '*':
		return &t.last[last]
	}
	if n := len(name) - strings.Count(name, "*"); t.rest == 0 || n < t.least {
		t.least = n
	}
	return &t.rest
}

// slot is where the chain of a name begins. Chains of other names may share it.
func (t *table) slot(name string) *uint16 {
	return &t.slots[hash(name)&uint32(len(t.slots)-1)]
}

// hash is FNV-1a.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

func (t *table) lookup(p string, m *matches) {
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
			t.collect(*t.slot(name), p[:end], name, whole, m)
		}
		t.collect(t.dirs, p[:end], name, whole, m)
		if whole {
			t.collect(t.first[name[0]], p, name, true, m)
			t.collect(t.last[name[len(name)-1]], p, name, true, m)
			if len(name) >= t.least {
				t.collect(t.rest, p, name, true, m)
			}
		}
	}
}

// collect adds the rows of a chain that match p, whose last segment is name; whole says that
// nothing follows p.
func (t *table) collect(at uint16, p, name string, whole bool, m *matches) {
	for at != 0 {
		r := &t.rows[at-1]
		alone := r.segs == 1 && !r.is(rowRooted)
		if (whole || r.is(rowDir)) && star(r.name(), name) && (alone || r.match(p)) {
			m.add(r)
		}
		at = r.next
	}
}

// match reports whether the last segments of p are the pattern's.
func (r *row) match(p string) bool {
	pat := r.pat
	for {
		i, j := strings.LastIndexByte(pat, '/'), strings.LastIndexByte(p, '/')
		if !star(pat[i+1:], p[j+1:]) {
			return false
		}
		if i < 0 {
			return j < 0 || !r.is(rowRooted)
		}
		if j < 0 {
			return false
		}
		pat, p = pat[:i], p[:j]
	}
}

// star matches `*` within a segment, in time linear in both per star.
func star(pat, s string) bool {
	i := strings.IndexByte(pat, '*')
	if i < 0 {
		return pat == s
	}
	first, rest := pat[:i], pat[i+1:]
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

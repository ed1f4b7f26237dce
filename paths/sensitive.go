package paths

import "strings"

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

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
		if e, ok := s.Extra.below(dir); ok {
			return e, true
		}
	}
	if !s.Bare {
		return defaultTable().below(dir)
	}
	return Entry{}, false
}

func (t *Table) below(dir string) (Entry, bool) {
	if t.broken != nil {
		return *t.broken, true
	}
	rooted := strings.HasPrefix(dir, "/")
	dir = strings.Trim(dir, "/")
	x := t.heads()
	if dir == "" && rooted {
		if x.root == 0 {
			return Entry{}, false
		}
		return t.rows[x.root-1].entry(), true
	}
	for _, at := range [...]uint16{*x.slot(dir[strings.LastIndexByte(dir, '/')+1:]), x.wild} {
		for ; at != 0; at = x.list[at-1].next {
			r := &t.rows[x.list[at-1].row]
			head := row{pat: r.pat[:x.list[at-1].end], flag: r.flag}
			if (rooted || !r.is(rowRooted)) && head.match(dir) {
				return r.entry(), true
			}
		}
	}
	return Entry{}, false
}

// headIndex finds secrets by the directories they lie in: .config and .config/gh of
// .config/gh/hosts.yml.
type headIndex struct {
	slots [512]uint16 // place in list plus one, by hash of the directory's last segment
	wild  uint16      // likewise, if that has a *
	list  []head
	root  uint16 // row plus one of a secret that is anchored at the root
}

type head struct {
	row, end uint16 // pattern up to where
	next     uint16
}

func (t *Table) makeHeads() *headIndex {
	x := &headIndex{list: make([]head, 0, 256)}
	for i := range t.rows {
		r := &t.rows[i]
		if !r.is(rowSecret) || !r.is(rowRooted) && r.pat[0] != '.' {
			continue
		}
		if r.is(rowRooted) && x.root == 0 {
			x.root = uint16(i + 1)
		}
		for end := 0; end < len(r.pat) && len(x.list) < maxRows; end++ {
			if r.pat[end] == '/' {
				x.list = append(x.list, head{row: uint16(i), end: uint16(end)})
			}
		}
	}
	for i := len(x.list) - 1; i >= 0; i-- {
		h := &x.list[i]
		dir := t.rows[h.row].pat[:h.end]
		dir = dir[strings.LastIndexByte(dir, '/')+1:]
		slot := x.slot(dir)
		if strings.IndexByte(dir, '*') >= 0 {
			slot = &x.wild
		}
		h.next, *slot = *slot, uint16(i+1)
	}
	return x
}

func (x *headIndex) slot(name string) *uint16 { return &x.slots[hash(name)%uint32(len(x.slots))] }

// matches collects the rows that speak for one path. A path has few; a shell pattern may
// have more than fit: then secrets stay.
type matches struct {
	list   [16]*row
	n      int
	broken *Entry
}

func (m *matches) add(r *row) {
	if m.n < len(m.list) {
		m.list[m.n] = r
		m.n++
		return
	}
	for i, old := range m.list {
		if r.is(rowSecret) && !old.is(rowSecret) && !old.is(rowNot) {
			m.list[i] = r
			return
		}
	}
}

// best is the first entry that no exception of its class takes out, a secret before what is
// only guarded.
func (m *matches) best() (Entry, bool) {
	if m.broken != nil {
		return *m.broken, true
	}
	var best *row
	for _, r := range m.list[:m.n] {
		if !r.is(rowNot) && (best == nil || r.is(rowSecret) && !best.is(rowSecret)) && !m.excepted(r) {
			best = r
		}
	}
	if best == nil {
		return Entry{}, false
	}
	return best.entry(), true
}

func (m *matches) excepted(r *row) bool {
	for _, e := range m.list[:m.n] {
		if e.is(rowNot) {
			if class := e.class(); class == "*" || class == r.class() {
				return true
			}
		}
	}
	return false
}

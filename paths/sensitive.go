package paths

import "strings"

// Sensitive returns the entry of the built-in table that a path falls under.
func Sensitive(p string) (Entry, bool) {
	var m matches
	builtIn().lookup(p, &m)
	return m.best()
}

// Listed returns the patterns of the built-in table's entries for which is holds, exceptions left out.
func Listed(is func(*Entry) bool) (out []string) {
	t := builtIn()
	for i := range t.rows {
		if e := t.rows[i].entry(); !t.rows[i].is(rowNot) && is(&e) {
			out = append(out, e.Pattern)
		}
	}
	return out
}

// SensitiveGlob returns an entry that a shell pattern such as `.env?` or `*.pem` would reach. A
// pattern without a telling letter, such as `*`, reaches nothing: it stands for
// whatever lies there.
func SensitiveGlob(p string) (Entry, bool) {
	var m matches
	builtIn().glob(p, &m)
	return m.best()
}

// SensitiveBelow returns a secret that the table knows to lie below a directory, such as the keys
// below .ssh. Only places are known this way, not names that may lie anywhere.
func SensitiveBelow(dir string) (Entry, bool) {
	t := builtIn()
	dir = strings.ToLower(dir)
	rooted := strings.HasPrefix(dir, "/")
	dir = strings.Trim(dir, "/")
	heads := t.heads()
	if dir == "" {
		if list := heads[""]; rooted && len(list) > 0 {
			return list[0].r.entry(), true
		}
		return Entry{}, false
	}
	for _, name := range [...]string{dir[strings.LastIndexByte(dir, '/')+1:], "*"} {
		for _, h := range heads[name] {
			inside := row{pat: h.r.pat[:h.end], flag: h.r.flag}
			if (rooted || !h.r.is(rowRooted)) && inside.match(dir) {
				return h.r.entry(), true
			}
		}
	}
	return Entry{}, false
}

// A head is a directory that a secret lies in: .config and .config/gh of .config/gh/hosts.yml.
type head struct {
	r   *row
	end int // of the directory in the row's pattern
}

// makeHeads files the directories of secrets by their last name, "*" if that has a star, and "" for
// the root.
func (t *table) makeHeads() map[string][]head {
	heads := map[string][]head{}
	for i := range t.rows {
		r := &t.rows[i]
		if !r.is(rowSecret) || !r.is(rowRooted) && r.pat[0] != '.' {
			continue
		}
		if r.is(rowRooted) {
			heads[""] = append(heads[""], head{r, 0})
		}
		for end := range len(r.pat) {
			if r.pat[end] != '/' {
				continue
			}
			name := r.pat[strings.LastIndexByte(r.pat[:end], '/')+1 : end]
			if strings.IndexByte(name, '*') >= 0 {
				name = "*"
			}
			heads[name] = append(heads[name], head{r, end})
		}
	}
	return heads
}

// matches collects the rows that speak for one path. A path has few; a shell pattern may
// have more than fit: then secrets stay.
type matches struct {
	list [16]*row
	n    int
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

// best is the first entry that no exception of its class takes out, a secret before one that is
// only guarded.
func (m *matches) best() (Entry, bool) {
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
		if e.is(rowNot) && e.class() == r.class() {
			return true
		}
	}
	return false
}

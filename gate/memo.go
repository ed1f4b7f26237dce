package gate

import (
	"strings"

	"github.com/obstat/obstat"
)

// A memo is a World that looks at each path of another one once. It is for one
// call: `cat a.go b.go` is resolved by the rules, the floor and self-protection,
// and each of them looks at every directory above every path.
type memo struct {
	of     obstat.World
	seen   []look
	index  map[string]int // of seen, once that is long
	walked []walk
	// secrets are the looks for secrets, by directory.
	secrets map[string]search
}

// A search is the result of a look for secrets.
type search struct {
	files []string
	all   bool
}

// A walk is the result of a look at a whole path.
type walk struct {
	path          string
	straight, dir bool
}

// A look is the knowledge of one path.
type look struct {
	path   string
	target string
	link   bool // it is a symbolic link, to target
	dir    bool
	file   bool
	// The looks that were taken.
	asLink, asDir, asFile bool
}

// maxList is how many paths are searched one by one.
const maxList = 32

// at returns the look at a path.
func (m *memo) at(path string) *look {
	if m.index != nil {
		if i, ok := m.index[path]; ok {
			return &m.seen[i]
		}
	} else {
		for i := range m.seen {
			if m.seen[i].path == path {
				return &m.seen[i]
			}
		}
	}
	m.seen = append(m.seen, look{path: path})
	switch n := len(m.seen); {
	case m.index != nil:
		m.index[path] = n - 1
	case n > maxList:
		m.index = make(map[string]int, 4*maxList)
		for i := range m.seen {
			m.index[m.seen[i].path] = i
		}
	}
	return &m.seen[len(m.seen)-1]
}

// look takes the first look at a path, which tells of all but links everything that can be asked.
func (m *memo) look(path string) *look {
	l := m.at(path)
	k, ok := m.of.(interface {
		Kind(string) (link, dir, file bool)
	})
	if l.asFile || !ok {
		return l
	}
	link, dir, file := k.Kind(path)
	l.file, l.asFile = file, true
	if !link {
		l.dir, l.asDir, l.asLink = dir, true, true
	}
	return l
}

// Home returns a home directory.
func (m *memo) Home(user string) (string, bool) { return m.of.Home(user) }

// Readlink returns the target of a symbolic link.
func (m *memo) Readlink(path string) (string, bool) {
	l := m.look(path)
	if !l.asLink {
		l.target, l.link = m.of.Readlink(path)
		l.asLink = true
	}
	return l.target, l.link
}

// Walk reports whether a path leads through no link, and whether it is a directory. Once `/a/b/c` is known to
// have no links, `/a/b` has none either and is not looked at again.
func (m *memo) Walk(path string) (straight, dir bool) {
	for _, w := range m.walked {
		if w.path == path {
			return w.straight, w.dir
		}
		if w.straight && strings.HasPrefix(w.path, path) && w.path[len(path)] == '/' {
			return true, false // perhaps a directory
		}
	}
	w, ok := m.of.(interface{ Walk(string) (bool, bool) })
	if !ok || len(m.walked) == maxList {
		return false, false
	}
	straight, dir = w.Walk(path)
	m.walked = append(m.walked, walk{path, straight, dir})
	return straight, dir
}

// List returns the names of the links and directories in a directory.
func (m *memo) List(dir string) (links, dirs []string, all bool) {
	l, ok := m.of.(interface {
		List(string) (links, dirs []string, all bool)
	})
	if !ok {
		return nil, nil, true
	}
	return l.List(dir)
}

// Secrets returns the secrets in a directory.
func (m *memo) Secrets(dir string) (files []string, all bool) {
	s, ok := m.of.(interface {
		Secrets(string) (files []string, all bool)
	})
	if !ok {
		return nil, false
	}
	found, known := m.secrets[dir]
	if !known {
		found.files, found.all = s.Secrets(dir)
		if m.secrets == nil {
			m.secrets = map[string]search{}
		}
		m.secrets[dir] = found
	}
	return found.files, found.all
}

// IsFile reports whether path is a file.
func (m *memo) IsFile(path string) bool {
	l := m.look(path)
	if f, ok := m.of.(interface{ IsFile(string) bool }); ok && !l.asFile {
		l.file, l.asFile = f.IsFile(path), true
	}
	return l.file
}

// IsDir reports whether path is a directory.
func (m *memo) IsDir(path string) bool {
	for _, w := range m.walked {
		if w.straight && w.path == path {
			return w.dir
		}
	}
	l := m.look(path)
	if !l.asDir {
		l.dir, l.asDir = m.of.IsDir(path), true
	}
	return l.dir
}

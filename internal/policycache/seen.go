package policycache

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Kind says what was found under a name.
type Kind uint8

// What can be found.
const (
	File   Kind = iota + 1 // a file with these bytes
	Dir                    // a directory with these names in it
	Absent                 // a directory without these names in it
)

// A Seen is one look at the file system.
type Seen struct {
	Name string
	Is   Kind
	Sum  [sha256.Size]byte // of the bytes, or of the names
	// Missing are the names that were not there, and Stamp is what tells that
	// nothing has come or gone since; zero tells nothing.
	Missing []string
	Stamp   stamp
}

// A stamp changes whenever an entry of a directory does. It is taken before the
// directory is looked at, and only of one that has been left alone for a while:
// a change in the same instant could leave it as it is.
type stamp struct{ device, inode, changed, modified int64 }

// settling is how long a directory has to be left alone.
const settling = time.Second

// still tells whether another look finds the same.
func (s *Seen) still() bool {
	switch s.Is {
	case File:
		data, err := readFile(s.Name)
		return err == nil && sha256.Sum256(data) == s.Sum
	case Dir:
		names, err := list(s.Name)
		return err == nil && sumOf(names) == s.Sum
	case Absent:
		if s.Stamp != (stamp{}) && stampOf(s.Name) == s.Stamp {
			return true
		}
		for _, name := range s.Missing {
			if !missing(s.Name + string(filepath.Separator) + name) {
				return false
			}
		}
		return true
	}
	return false
}

// A Looker looks at the file system and remembers what it found. What it cannot
// remember makes Err say why, and then nothing may be cached.
type Looker struct {
	// Read reads a file; nil is [os.ReadFile].
	Read func(name string) ([]byte, error)
	Err  error

	files  map[string]*look
	seen   []Seen
	stamps map[string]stamp
}

type look struct {
	data []byte
	err  error
}

// ReadFile reads a file, once.
func (l *Looker) ReadFile(name string) ([]byte, error) {
	if have := l.files[name]; have != nil {
		return have.data, have.err
	}
	read := l.Read
	if read == nil {
		read = os.ReadFile
	}
	if l.files == nil {
		l.files, l.stamps = map[string]*look{}, map[string]stamp{}
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if _, ok := l.stamps[dir]; ok {
			break
		}
		l.stamps[dir] = settled(dir)
	}
	data, err := read(name)
	l.files[name] = &look{data, err}
	switch {
	case !filepath.IsAbs(name):
		l.Err = errors.New("a name that depends on the current directory")
	case err == nil:
		l.seen = append(l.seen, Seen{Name: name, Is: File, Sum: sha256.Sum256(data)})
	case errors.Is(err, fs.ErrNotExist):
		l.absent(name)
	default:
		l.Err = err
	}
	return data, err
}

// ReadDir returns the names in a directory, sorted.
func (l *Looker) ReadDir(name string) ([]string, error) {
	names, err := list(name)
	switch {
	case err == nil && filepath.IsAbs(name):
		l.seen = append(l.seen, Seen{Name: name, Is: Dir, Sum: sumOf(names)})
	case errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(name):
		l.absent(name)
	default:
		l.Err = errors.Join(err, errors.New("a directory that cannot be remembered"))
	}
	return names, err
}

// absent remembers that there is nothing under a name: where the directory is
// missing too, that says it for everything in it.
func (l *Looker) absent(name string) {
	dir := filepath.Dir(name)
	for dir != filepath.Dir(dir) && missing(dir) {
		name, dir = dir, filepath.Dir(dir)
	}
	name = filepath.Base(name)
	at := slices.IndexFunc(l.seen, func(s Seen) bool { return s.Is == Absent && s.Name == dir })
	if at < 0 {
		at = len(l.seen)
		l.seen = append(l.seen, Seen{Name: dir, Is: Absent, Stamp: l.stamps[dir]})
	}
	if s := &l.seen[at]; !slices.Contains(s.Missing, name) {
		s.Missing = append(s.Missing, name)
	}
}

// settled returns the stamp of a directory that has been left alone for a while.
func settled(dir string) stamp {
	s := stampOf(dir)
	if max(s.changed, s.modified) > time.Now().Add(-settling).UnixNano() {
		return stamp{}
	}
	return s
}

// Seen returns everything that was looked at.
func (l *Looker) Seen() []Seen { return l.seen }

func list(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out, nil
}

func sumOf(names []string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(names, "\x00")))
}

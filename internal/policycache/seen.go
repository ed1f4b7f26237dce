package policycache

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Kind says what was found under a name.
type Kind uint8

// What can be found.
const (
	Absent Kind = iota + 1 // nothing
	File                   // a file with these bytes
	Dir                    // a directory with these names in it
)

// A Seen is one look at the file system.
type Seen struct {
	Name string
	Is   Kind
	Sum  [sha256.Size]byte // of the bytes, or of the names
}

// still tells whether another look finds the same.
func (s *Seen) still() bool {
	switch s.Is {
	case Absent:
		return missing(s.Name)
	case File:
		data, err := os.ReadFile(s.Name)
		return err == nil && sha256.Sum256(data) == s.Sum
	case Dir:
		names, err := list(s.Name)
		return err == nil && sumOf(names) == s.Sum
	}
	return false
}

// A Looker looks at the file system and remembers what it found. What it cannot
// remember makes Err say why, and then nothing may be cached.
type Looker struct {
	// Read reads a file; nil is [os.ReadFile].
	Read func(name string) ([]byte, error)
	Err  error

	files map[string]*look
	seen  []Seen
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
	data, err := read(name)
	if l.files == nil {
		l.files = map[string]*look{}
	}
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
	for {
		dir := filepath.Dir(name)
		if _, err := os.Stat(dir); dir == name || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = dir
	}
	s := Seen{Name: name, Is: Absent}
	if !slices.Contains(l.seen, s) {
		l.seen = append(l.seen, s)
	}
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

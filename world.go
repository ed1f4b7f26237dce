package obstat

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"slices"
	"syscall"

	"github.com/obstat/obstat/paths"
)

// A World answers the questions that a decision has about the machine: home
// directories, symbolic links, which paths are directories. A nil World knows none
// of them.
type World = paths.FS

// OS is the World of the machine the program runs on.
type OS struct{}

var _ World = OS{}

// Home returns the home directory of the named user, or of the current one.
func (OS) Home(name string) (string, bool) {
	if name == "" {
		h, err := os.UserHomeDir()
		return h, err == nil && h != ""
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	return u.HomeDir, true
}

// maxLinks is how many entries of a directory are looked at for links.
const maxLinks = 10_000

// LinksIn returns the names of the symbolic links in a directory.
func (OS) LinksIn(dir string) (names []string, all bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	list, err := f.ReadDir(maxLinks)
	for _, e := range list {
		if e.Type()&os.ModeSymlink != 0 {
			names = append(names, e.Name())
		}
	}
	return names, len(list) < maxLinks && (err == nil || err == io.EOF || errors.Is(err, syscall.ENOTDIR))
}

// IsFile reports whether path is a plain file.
func (OS) IsFile(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular()
}

// A Snapshot is a World that is plain data: for cases, for tests and for
// replaying a decision on the observations of its time.
type Snapshot struct {
	HomeDir string            `json:"home,omitempty"`
	Homes   map[string]string `json:"homes,omitempty"` // other users' homes
	Links   map[string]string `json:"links,omitempty"` // symbolic link to target
	Dirs    []string          `json:"dirs,omitempty"`  // directories that exist
	Files   []string          `json:"files,omitempty"` // files that exist, of those that were asked for
}

var _ World = (*Snapshot)(nil)

// Home returns the recorded home directory.
func (s *Snapshot) Home(name string) (string, bool) {
	if name == "" {
		return s.HomeDir, s.HomeDir != ""
	}
	h, ok := s.Homes[name]
	return h, ok
}

// Readlink returns the recorded target of a link.
func (s *Snapshot) Readlink(name string) (string, bool) {
	t, ok := s.Links[name]
	return t, ok
}

// IsDir reports whether path was recorded as a directory.
func (s *Snapshot) IsDir(name string) bool {
	for _, d := range s.Dirs {
		if d == name {
			return true
		}
	}
	return false
}

// IsFile reports whether path was recorded as a file.
func (s *Snapshot) IsFile(name string) bool { return slices.Contains(s.Files, name) }

// LinksIn returns the names of the recorded links in a directory.
func (s *Snapshot) LinksIn(dir string) (out []string, all bool) {
	if len(s.Links) > maxLinks {
		return nil, false
	}
	for link := range s.Links {
		if path.Dir(link) == dir {
			out = append(out, path.Base(link))
		}
	}
	slices.Sort(out)
	return out, true
}

package obstat

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path"
	"path/filepath"
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
		return h, err == nil // an empty one is an error
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	return u.HomeDir, true
}

// maxListed is how many entries of a directory are looked at.
const maxListed = 10_000

// List returns the names of the symbolic links and of the directories in a directory.
func (OS) List(dir string) (links, dirs []string, all bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil, errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	list, err := f.ReadDir(maxListed)
	for _, e := range list {
		switch {
		case e.Type()&os.ModeSymlink != 0:
			links = append(links, e.Name())
		case e.IsDir():
			dirs = append(dirs, e.Name())
		}
	}
	return links, dirs, len(list) < maxListed && (err == nil || err == io.EOF || errors.Is(err, syscall.ENOTDIR))
}

// IsFile reports whether path is a plain file.
func (OS) IsFile(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular()
}

// The bounds of a look for secrets: entries that are looked at, and secrets that are told.
const (
	maxSearched = 4_000
	maxSecrets  = 16
)

// Secrets looks for secrets in a directory and below it, near ones first. The directories of packages and of git have
// none that are the user's own.
func (OS) Secrets(dir string) (files []string, all bool) {
	left, linked := maxSearched, false
	for dirs := []string{dir}; len(dirs) > 0; dirs = dirs[1:] {
		list, err := os.ReadDir(dirs[0])
		if left -= len(list); left < 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, false
		}
		for _, e := range list {
			at := path.Join(dirs[0], e.Name())
			switch {
			case e.IsDir():
				if n := e.Name(); n != ".git" && n != "node_modules" {
					dirs = append(dirs, at)
				}
			case e.Type()&os.ModeSymlink != 0: // where it leads is no file of this directory
				to, err := filepath.EvalSymlinks(at)
				linked = linked || err != nil || isSecret(to)
			case isSecret(at):
				if files = append(files, at); len(files) == maxSecrets {
					return files, false
				}
			}
		}
	}
	return files, !linked
}

// isSecret tells whether a path is a secret, or a directory that has some.
func isSecret(p string) bool {
	entry, ok := paths.Sensitive(p)
	if !ok || !entry.Secret {
		_, below := paths.SensitiveBelow(p)
		return below
	}
	return true
}

// A Snapshot is a World that is plain data: for cases, for tests and for
// replaying a decision on the observations of its time.
type Snapshot struct {
	HomeDir string            `json:"home,omitempty"`
	Homes   map[string]string `json:"homes,omitempty"` // other users' homes
	Links   map[string]string `json:"links,omitempty"` // symbolic link to target
	Dirs    []string          `json:"dirs,omitempty"`  // directories that exist
	Files   []string          `json:"files,omitempty"` // files that exist, of those that were asked for
	// Searched are directories of which Files has all the secrets, those below them as well.
	Searched []string `json:"searched,omitempty"`
	// Hard are hard links: each with another name of its file.
	Hard map[string]string `json:"hard,omitempty"`
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

// Secrets returns the recorded files in a directory that are secrets.
func (s *Snapshot) Secrets(dir string) (files []string, all bool) {
	for _, f := range s.Files {
		if isSecret(f) && paths.Inside(dir, f) {
			files = append(files, f)
		}
	}
	return files, slices.Contains(s.Searched, dir)
}

// Twins returns the recorded other names of a file.
func (s *Snapshot) Twins(file string) []string {
	if len(s.Hard) == 0 {
		return nil
	}
	same := map[string]bool{file: true}
	for more := true; more; {
		more = false
		for a, b := range s.Hard {
			if same[a] != same[b] {
				same[a], same[b], more = true, true, true
			}
		}
	}
	delete(same, file)
	return slices.Sorted(maps.Keys(same))
}

// List returns the names of the recorded links and directories in a directory.
func (s *Snapshot) List(dir string) (links, dirs []string, all bool) {
	if len(s.Links) > maxListed || len(s.Dirs) > maxListed {
		return nil, nil, false
	}
	for link := range s.Links {
		if path.Dir(link) == dir {
			links = append(links, path.Base(link))
		}
	}
	for _, d := range s.Dirs {
		if path.Dir(d) == dir && d != dir {
			dirs = append(dirs, path.Base(d))
		}
	}
	slices.Sort(links)
	return links, dirs, true
}

package changes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/obstat/obstat/paths"
)

// A Reach is paths that a call may change.
type Reach struct {
	Paths paths.Set
	// Except are directories that are not looked into, since nothing in them is lost: git's objects only grow.
	Except []string
}

// reachJSON is a Reach as it is kept.
type reachJSON struct {
	Text   Name   `json:"text"`
	Below  bool   `json:"below,omitempty"`
	Except []Name `json:"except,omitempty"`
}

// A Gap is a path that cannot be taken back, and why.
type Gap struct {
	Path Name   `json:"path,omitempty"`
	Why  string `json:"why"`
	// Stays: the path stays as the call left it, and the others are taken back without it.
	Stays bool `json:"stays,omitempty"`
}

// String says the gap: `/p/disk.img: it is larger than 64 MB`.
func (g Gap) String() string {
	if g.Path == "" {
		return g.Why
	}
	return string(g.Path) + ": " + g.Why
}

// A look collects the states of the paths that a call reaches.
type look struct {
	s    *Store
	keep bool // contents are kept, not only compared
	seen tree
	// before are states that were seen earlier: a file that was not touched since is not read again.
	before tree
	bytes  int64
	gaps   []Gap
	full   bool // nothing more is kept, which is one gap
}

// errMany is the error of a call that reaches more than is kept.
var errMany = errors.New("it reaches more files than are kept for one call")

// reach looks at everything that a reach has.
func (l *look) reach(r *Reach) error {
	set := r.Paths
	switch {
	case set.IsZero():
		return nil
	case set.Exact():
		return l.path(set.Text)
	case !set.Marked():
		return l.below(set.Text, set, r.Except)
	}
	return l.below(filepath.Dir(set.Known()+"x"), set, r.Except)
}

// path looks at one path.
func (l *look) path(p string) error {
	return l.add(p, straight(filepath.Dir(p)))
}

// add looks at a path, of which there is nothing where a link leads to its directory by now.
func (l *look) add(p string, there bool) error {
	if _, done := l.seen[p]; done {
		return nil
	}
	if len(l.seen) >= l.s.limits.Files {
		return errMany
	}
	var st State
	var err error
	if there {
		st, err = l.s.stateSince(p, l.keep, l.before[p])
	}
	if l.keep && noRoom(err) {
		return fmt.Errorf("%s: %s", p, plain(err))
	}
	if err != nil {
		l.gaps = append(l.gaps, Gap{Path: Name(p), Why: plain(err)})
	}
	if st.Kind == Other {
		l.gaps = append(l.gaps, Gap{Path: Name(p), Why: "it is a device, a pipe or a socket"})
	}
	l.seen[p] = &st
	if l.bytes += st.Size; l.keep && l.bytes > l.s.limits.Call {
		return fmt.Errorf("it reaches more than %s, the most that is kept for one call", bytesText(l.s.limits.Call))
	}
	return nil
}

// noRoom tells whether the store has no room: that is not a matter of one path, and the next would fail as well.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// below looks at a directory and everything in it that the set has. It keeps nothing of one that is too large.
func (l *look) below(top string, set paths.Set, except []string) error {
	if !straight(filepath.Dir(top)) {
		return nil
	}
	var found []string
	visited, bytes, known := 0, l.bytes, set.Known()
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if visited++; visited > 16*l.s.limits.Files {
			return errMany
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil && set.Has(p):
			l.gaps = append(l.gaps, Gap{Path: Name(p), Why: plain(err)})
			return nil
		case d != nil && d.IsDir() && slices.Contains(except, p):
			return fs.SkipDir
		case p != top && !strings.HasPrefix(p, known): // of `/p/a*` neither `/p/b` nor anything below `/p/src`
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !set.Has(p):
			return nil
		}
		found = append(found, p)
		if l.keep {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
		}
		if l.keep && (len(l.seen)+len(found) > l.s.limits.Files || bytes > l.s.limits.Call) {
			return errMany
		}
		return nil
	})
	for _, p := range found {
		if err != nil {
			break
		}
		err = l.add(p, true)
	}
	return err
}

// settled is how long the time of a file's last change must be past for a later change to have another: file systems
// count it in steps of up to two seconds.
const settled = 3 * time.Second

// stampOf returns the time of a file's last change, of contents or rights, 0 for one that is too recent to tell later
// changes from. A program can set the time of its contents to any it likes, but not this one.
func stampOf(info fs.FileInfo) int64 {
	at := changedAt(info)
	if at.IsZero() || time.Since(at) < settled {
		return 0
	}
	return at.UnixNano()
}

// stateSince is stateOf for a path that was seen earlier; one that has not changed since is as it was.
func (s *Store) stateSince(p string, keep bool, before *State) (State, error) {
	if before == nil || before.Stamp == 0 || before.Digest == "" {
		return s.stateOf(p, keep)
	}
	info, err := os.Lstat(p)
	if err == nil && info.Mode().IsRegular() && stampOf(info) == before.Stamp && inodeOf(info) == before.Inode {
		return *before, nil
	}
	return s.stateOf(p, keep)
}

// stateOf returns the state of a path now. An error comes with what is known nevertheless.
func (s *Store) stateOf(p string, keep bool) (State, error) {
	info, err := os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return State{}, nil
	} else if err != nil {
		return State{Kind: Other}, err
	}
	st := State{Mode: info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)}
	st.UID, st.GID = ownerOf(info)
	switch mode := info.Mode(); {
	case mode.IsDir():
		st.Kind = Dir
		return st, st.attrs(p)
	case mode&fs.ModeSymlink != 0:
		st.Kind, st.Mode = Link, 0
		target, err := os.Readlink(p)
		st.Target = Name(target)
		return st, err
	case mode.IsRegular():
		st.Kind, st.Size, st.Inode, st.Stamp = File, info.Size(), inodeOf(info), stampOf(info)
		return s.fileState(p, st, keep)
	}
	st.Kind = Other
	return st, nil
}

// attrs reads the attributes of a directory. One that cannot be opened has none that could be told.
func (st *State) attrs(p string) error {
	if !hasAttrs(p) {
		return nil
	}
	if f, err := openPlain(p); err == nil {
		st.Attrs = attrsOf(f)
		f.Close()
	}
	return nil
}

// fileState reads a file's contents. One that is written to meanwhile is read again.
func (s *Store) fileState(p string, st State, keep bool) (State, error) {
	for try := 0; ; try++ {
		f, err := openPlain(p)
		if err != nil {
			return st, err
		}
		st.Attrs = attrsOf(f)
		if keep {
			st.Digest, st.Sparse, err = s.keepFile(f, st.Size)
		} else {
			st.Digest, err = digestOf(f)
		}
		f.Close()
		if !errors.Is(err, errMoving) || try == 2 {
			return st, err
		}
	}
}

// resolved returns a reach with the links on the way to its directory followed, and the directories that a write
// would make: for `mkdir -p a/b/c` all three.
func resolved(r Reach) (out []Reach) {
	set := r.Paths
	if set.IsZero() || set.IsAnything() {
		return []Reach{r}
	}
	dir := filepath.Dir(set.Known())
	if set.Marked() {
		dir = filepath.Dir(set.Known() + "x")
	}
	missing, real := "", dir
	for {
		to, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = to
			break
		}
		if real == filepath.Dir(real) {
			return []Reach{r}
		}
		missing, real = filepath.Join(filepath.Base(real), missing), filepath.Dir(real)
	}
	at := real
	for _, name := range strings.FieldsFunc(missing, func(c rune) bool { return c == filepath.Separator }) {
		at = filepath.Join(at, name)
		out = append(out, Reach{Paths: paths.Exactly(at)})
	}
	rest := strings.TrimPrefix(set.Text, dir)
	set.Text = strings.TrimSuffix(filepath.Join(real, missing), "/") + "/" + strings.TrimPrefix(rest, "/")
	return append(out, Reach{Paths: set, Except: r.Except})
}

// plain is the reason of an error, without the path that is shown beside it.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

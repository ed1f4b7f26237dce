package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// layers are the directories of one overlay run, below the workspace's state directory. A lock
// on one of their files says that the run is alive; leftovers of killed runs are found by it.
type layers struct {
	dir, upper, work, mask string
	root                   string // the workspace
	began                  int64  // ctime of the lock's file: later changes of the workspace are conflicts
	lock                   *os.File
	done                   bool // nothing is left for Recover
}

// Layers have a name with layersPrefix once they are locked, so that Recover takes no new ones for those of a killed
// run, and one with newPrefix for the moment before.
const (
	layersPrefix = "run-"
	newPrefix    = "new-"
)

// newLayers makes empty layers above a directory.
func newLayers(state, root string) (*layers, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(state, newPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := lockLayers(made, os.O_CREATE)
	dir := filepath.Join(state, layersPrefix+strings.TrimPrefix(filepath.Base(made), newPrefix))
	if err == nil {
		err = os.Rename(made, dir)
	}
	if err != nil {
		os.RemoveAll(made)
		return nil, err
	}
	l := &layers{dir: dir, upper: dir + "/upper", work: dir + "/work", root: root, lock: lock}
	if err := l.fill(); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *layers) fill() error {
	if _, err := l.lock.WriteString(l.root); err != nil { // for Recover
		return err
	}
	info, err := l.lock.Stat()
	if err != nil {
		return err
	}
	l.began = changeTime(info)
	if err := os.Mkdir(l.work, 0o700); err != nil {
		return err
	}
	return mirrorDir(l.root, l.upper)
}

// lockLayers takes the lock of a run's directory; os.ErrExist says that the run is alive.
func lockLayers(dir string, create int) (*os.File, error) {
	f, err := os.OpenFile(dir+"/lock", create|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, os.ErrExist
	}
	return f, nil
}

// mirrorDir makes a directory with the owner, mode and times of another: the upper one of two
// merged directories is the one whose attributes show.
func mirrorDir(from, to string) error {
	info, err := os.Stat(from)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "mirror", Path: from, Err: unix.ENOTDIR}
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	sys := info.Sys().(*unixStat)
	if err := os.Lchown(to, int(sys.Uid), int(sys.Gid)); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()|info.Mode()&(os.ModeSetgid|os.ModeSticky)); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// hide puts whiteouts for names of the workspace into a layer of their own, so that the upper
// one holds nothing but the command's changes.
func (l *layers) hide(names []string) error {
	for _, name := range names {
		rel, err := filepath.Rel(l.root, name)
		if err != nil || rel == "." || strings.HasPrefix(rel, "../") {
			continue
		}
		if l.mask == "" {
			l.mask = l.dir + "/mask"
			if err := mirrorDir(l.root, l.mask); err != nil {
				return err
			}
		}
		if err := l.whiteout(rel); err != nil && !isDir(filepath.Dir(name)) {
			continue // its directory is gone, perhaps just now, as in a /tmp that others use
		} else if err != nil {
			return fmt.Errorf("hide %s: %w", name, err)
		}
	}
	return nil
}

func (l *layers) whiteout(rel string) error {
	at := ""
	for part := range strings.SplitSeq(filepath.Dir(rel), "/") {
		if at = filepath.Join(at, part); at == "." {
			continue
		}
		if isWhiteout(filepath.Join(l.mask, at)) {
			return nil // hidden with its directory
		}
		if err := mirrorDir(filepath.Join(l.root, at), filepath.Join(l.mask, at)); err != nil {
			return err
		}
	}
	to := filepath.Join(l.mask, rel)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	parent := filepath.Dir(to)
	before, err := os.Stat(parent)
	if err != nil {
		return err
	}
	if err := unix.Mknod(to, unix.S_IFCHR, 0); err != nil {
		return err
	}
	return os.Chtimes(parent, before.ModTime(), before.ModTime())
}

func isWhiteout(path string) bool {
	var stat unix.Stat_t
	return unix.Lstat(path, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFCHR && stat.Rdev == 0
}

// remove deletes the layers. The kernel leaves a directory without any mode in work.
func (l *layers) remove() error {
	err := removeTree(l.dir)
	if l.lock != nil {
		l.lock.Close()
	}
	return err
}

func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Recover puts the state directory of overlay workspaces in order after runs that were killed:
// a commit that had begun is finished; layers that had not come that far are dropped. The changes of both are
// returned. Runs that are alive are left alone.
func Recover(state string) ([]Change, error) {
	entries, err := os.ReadDir(state)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []Change
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newPrefix) {
			sweep(filepath.Join(state, e.Name()))
		}
		if !e.IsDir() || !strings.HasPrefix(e.Name(), layersPrefix) {
			continue
		}
		done, err := recoverRun(filepath.Join(state, e.Name()))
		out = append(out, done...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// sweep removes layers without a lock, which a process has left that was killed while it made or removed them.
func sweep(dir string) {
	if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
		removeTree(dir)
	}
}

// Abandoned lists changes of killed runs with this State that will not count. The next run removes and returns them.
func Abandoned(state string) (out []Change) {
	dirs, _ := filepath.Glob(filepath.Join(state, layersPrefix+"*")) // the pattern is sound
	for _, dir := range dirs {
		if _, err := os.Lstat(filepath.Join(dir, journalName)); err == nil {
			continue // it will count
		}
		lock, err := os.Open(dir + "/lock")
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil { // no run is alive
			l := layers{dir: dir, upper: dir + "/upper"}
			out = append(out, l.abandoned()...)
		}
		lock.Close()
	}
	return out
}

func recoverRun(dir string) ([]Change, error) {
	lock, err := lockLayers(dir, 0)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, nil
	case errors.Is(err, os.ErrNotExist): // it is being removed, or was when its process was killed
		sweep(dir)
		return nil, nil
	case err != nil:
		return nil, err
	}
	l := layers{dir: dir, upper: dir + "/upper", lock: lock}
	text, err := os.ReadFile(dir + "/" + journalName)
	var j journal
	if err != nil || json.Unmarshal(text, &j) != nil { // it is written whole before it gets its name: never half
		lost := l.abandoned()
		return lost, l.remove()
	}
	l.root = j.Root
	changes, err := l.apply(&j, 0)
	if err != nil {
		lock.Close()
		return changes, err
	}
	return changes, l.remove()
}

// maxAbandoned bounds the changes of a killed run that are told.
const maxAbandoned = 1000

// abandoned lists the files that a killed run has written or deleted.
func (l *layers) abandoned() (out []Change) {
	root, err := os.ReadFile(l.dir + "/lock")
	if err != nil || len(root) == 0 {
		return nil // killed before it had begun
	}
	_ = filepath.WalkDir(l.upper, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // unreadable, and not told
		}
		c := Change{Path: string(root) + strings.TrimPrefix(path, l.upper), Kind: Changed, Type: "file", Outcome: Dropped,
			Why: "the run was killed before its changes were judged"}
		if isWhiteout(path) {
			c.Kind = Deleted
		}
		if out = append(out, c); len(out) == maxAbandoned {
			return filepath.SkipAll
		}
		return nil
	})
	return out
}

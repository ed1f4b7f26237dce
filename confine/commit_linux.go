package confine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// judge sets the outcome of each change: names that the Profile protects are refused, then the
// caller is asked, and a change below something that does not come about does not either.
func (l *layers) judge(changes []Change, hidden, readOnly []string, ask func(Change) Verdict) {
	lost := map[string]bool{} // directories that will not be made
	for i := range changes {
		c := &changes[i]
		switch {
		case below(c.Path, hidden):
			c.Outcome, c.Why = Refused, "the name is hidden from the command"
		case below(c.Path, readOnly):
			c.Outcome, c.Why = Refused, "the name is read-only"
		case c.Type != "dir" && c.Kind != Deleted && holds(c.Path, hidden, readOnly):
			c.Outcome, c.Why = Refused, "a protected name would lie behind it"
		case c.Type == "socket" || c.Type == "device":
			c.Outcome, c.Why = Dropped, "a "+c.Type+" is of no use after the run"
		case c.Kind != Deleted && lost[filepath.Dir(c.rel)]:
			c.Outcome, c.Why = Dropped, "its directory is not made"
		case c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 && c.Type == "file":
			c.Outcome, c.Why = Refused, "a program that runs with another user's rights"
		case l.conflicts(*c):
			c.Outcome, c.Why = Conflict, "the workspace's own file was changed during the run"
		case ask == nil || ask(*c) != Commit:
			c.Outcome, c.Why = Dropped, "not accepted"
		default:
			c.Outcome = Committed
		}
		if c.Type == "dir" && c.Kind == Created && c.Outcome != Committed {
			lost[c.rel] = true
		}
	}
}

func below(path string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return isBelow(path, n) })
}

// holds reports whether a protected name lies below a path: with a link there, as in
// `ln -s evil .git`, the name would lead elsewhere.
func holds(path string, lists ...[]string) bool {
	return slices.ContainsFunc(slices.Concat(lists...), func(n string) bool { return n != path && isBelow(n, path) })
}

// conflicts reports whether the workspace's file was made, changed or removed since the run
// began. Directories change whenever their entries do and are not looked at.
func (l *layers) conflicts(c Change) bool {
	switch {
	case c.Type == "dir":
		return false
	case c.lower.Exists:
		return c.lower.Change > l.began
	}
	// A copy of a file that is not there: it was removed outside, or renamed or linked inside.
	return c.origin && c.Moved == "" && l.emptied(filepath.Dir(c.rel))
}

// emptied reports whether an entry of a directory, or the directory itself, may have been removed since the run
// began.
func (l *layers) emptied(dir string) bool {
	for {
		info, err := os.Lstat(filepath.Join(l.root, dir))
		if err == nil {
			return changeTime(info) > l.began
		}
		if dir == "." {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// A journal is a commit that has begun. It is written whole before its first step; the steps
// can be done twice, so that a killed commit is finished by doing them again.
type journal struct {
	Root  string
	Steps []step
}

// A step puts one change into place.
type step struct {
	Do    string // "delete", "mkdir", "put", "mode", "times"
	Path  string // below the root, and below the upper layer
	Dir   bool   `json:",omitempty"`
	Mode  fs.FileMode
	Lower identity
	Times [2]time.Time
	Whole bool `json:",omitempty"` // a new directory with all its contents
	UID   int
	GID   int
}

const journalName = "journal.json"

// Begun tells whether a run with this State has changes that have begun to count, and not ended.
func Begun(state string) bool {
	names, _ := filepath.Glob(filepath.Join(state, layersPrefix+"*", journalName)) // the pattern is sound
	return len(names) > 0
}

// commit brings the accepted changes into the workspace. Outcomes change where one turns out
// to be in conflict after all.
func (l *layers) commit(changes []Change, stopAfter int) error {
	j := journal{Root: l.root}
	whole := l.wholeDirs(changes)
	for _, c := range changes {
		if c.Outcome == Committed && !insideWhole(c, whole) {
			j.Steps = append(j.Steps, stepOf(c, whole[c.rel]))
		}
	}
	if len(j.Steps) == 0 {
		return nil
	}
	if err := l.writeJournal(&j); err != nil {
		return err
	}
	failed, err := l.apply(&j, stopAfter)
	for _, f := range failed {
		for i := range changes {
			if changes[i].Path == f.Path && changes[i].Outcome == Committed {
				changes[i].Outcome, changes[i].Why = f.Outcome, f.Why
			}
		}
	}
	return err
}

func stepOf(c Change, whole bool) step {
	s := step{Path: c.rel, Dir: c.Type == "dir", Mode: c.Mode, Lower: c.lower, Times: c.times, Whole: whole}
	s.UID, s.GID = -1, -1
	if info, err := os.Lstat(c.Layer); err == nil {
		o := owner(info)
		s.UID, s.GID = int(o[0]), int(o[1])
	}
	switch {
	case c.Kind == Deleted:
		s.Do = "delete"
	case whole:
		s.Do = "put"
	case s.Dir && c.Kind == Created:
		s.Do = "mkdir"
	case c.Kind == ModeChanged:
		s.Do = "mode"
	case c.Kind == Touched:
		s.Do = "times"
	default:
		s.Do = "put"
	}
	return s
}

// wholeDirs finds new directories that can be moved with all their contents in one step:
// accepted to the last file, and on the workspace's own file system.
func (l *layers) wholeDirs(changes []Change) map[string]bool {
	out := map[string]bool{}
	if !sameDevice(l.upper, l.root) {
		return out
	}
	for _, c := range changes {
		if c.Kind == Created && c.Type == "dir" && !c.lower.Exists {
			out[c.rel] = true
		}
	}
	for _, c := range changes {
		if c.Outcome == Committed && c.Kind == Created {
			continue
		}
		for dir := c.rel; dir != "."; dir = filepath.Dir(dir) {
			delete(out, dir)
		}
	}
	return out
}

func insideWhole(c Change, whole map[string]bool) bool {
	for dir := filepath.Dir(c.rel); dir != "."; dir = filepath.Dir(dir) {
		if whole[dir] {
			return true
		}
	}
	return false
}

// sameDevice reports whether files can be renamed from one directory to another: both lie on one mount. Two mounts
// of the same file system, as a bind mount makes them, do not let that.
func sameDevice(a, b string) bool {
	var x, y unix.Statx_t
	for name, stat := range map[string]*unix.Statx_t{a: &x, b: &y} {
		if unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_MNT_ID, stat) != nil || stat.Mask&unix.STATX_MNT_ID == 0 {
			return false
		}
	}
	return x.Mnt_id == y.Mnt_id
}

// writeJournal makes the journal appear whole or not at all.
func (l *layers) writeJournal(j *journal) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	name := filepath.Join(l.dir, journalName)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	return err
}

// errStopped ends a commit early, as a test of killed ones wants.
var errStopped = errors.New("confine: stopped in the middle of a commit")

// apply does the steps of a journal and returns those that could not be done.
func (l *layers) apply(j *journal, stopAfter int) ([]Change, error) {
	root, err := openReal(j.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	var out []Change
	for i, s := range j.Steps {
		if stopAfter > 0 && i == stopAfter {
			return out, errStopped
		}
		err := l.applyStep(root, s)
		var conflict *conflictError
		switch {
		case errors.As(err, &conflict):
			out = append(out, Change{Path: filepath.Join(j.Root, s.Path), Outcome: Conflict, Why: conflict.why})
		case err != nil:
			return out, &fs.PathError{Op: s.Do, Path: filepath.Join(j.Root, s.Path), Err: err}
		default:
			out = append(out, Change{Path: filepath.Join(j.Root, s.Path), Outcome: Committed})
		}
	}
	return out, nil
}

type conflictError struct{ why string }

func (e *conflictError) Error() string { return e.why }

// applyStep works in the directory of the step's path, reached without following links: the
// workspace may have got one since.
func (l *layers) applyStep(root int, s step) error {
	parent, err := openBelow(root, filepath.Dir(s.Path))
	if errors.Is(err, unix.ENOENT) && s.Do == "delete" {
		return nil
	} else if err != nil {
		return &conflictError{"its directory is gone or has become a link"}
	}
	defer unix.Close(parent)
	name := filepath.Base(s.Path)
	switch s.Do {
	case "delete":
		return deleteStep(parent, name, s)
	case "mkdir":
		return mkdirStep(parent, name, s)
	case "put":
		return l.putStep(parent, name, s)
	case "mode":
		if err := sameFile(parent, name, s); err != nil {
			return err
		}
		return modeStep(parent, name, s)
	case "times":
		if err := sameFile(parent, name, s); err != nil {
			return err
		}
		return timesStep(parent, name, s)
	}
	return errors.New("unknown step " + s.Do)
}

// openBelow opens a directory below another one, without following links.
func openBelow(root int, rel string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC}
	how.Resolve = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH
	return unix.Openat2(root, rel, &how)
}

// openReal opens a directory by its path, in which there are no links.
func openReal(dir string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	return unix.Openat2(unix.AT_FDCWD, dir, &how)
}

// TakeOut moves a name below root to another place or, on another file system, to the name spare beside it, and returns
// where it is now. A directory that is empty then is removed. No link is followed: a command in the background may put
// one in the place of a directory meanwhile.
func TakeOut(root, rel, to, spare string) (string, error) {
	top, err := openReal(root)
	if err != nil {
		return "", err
	}
	defer unix.Close(top)
	dir := filepath.Dir(rel)
	parent, err := openBelow(top, dir)
	if err != nil {
		return "", err
	}
	defer unix.Close(parent)
	name := filepath.Base(rel)
	if unix.Renameat(parent, name, unix.AT_FDCWD, to) != nil {
		to = filepath.Join(root, dir, spare)
		return to, unix.Renameat(parent, name, parent, spare)
	}
	if above, err := openBelow(top, filepath.Dir(dir)); dir != "." && err == nil {
		_ = unix.Unlinkat(above, filepath.Base(dir), unix.AT_REMOVEDIR) // stays where something else is in it
		unix.Close(above)
	}
	return to, nil
}

// sameFile looks whether the workspace's file is still the one that the change was judged by.
func sameFile(parent int, name string, s step) error {
	var stat unix.Stat_t
	err := unix.Fstatat(parent, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	exists := err == nil
	if exists != s.Lower.Exists || exists && (stat.Ino != s.Lower.Inode || !s.Dir && changedSince(&stat, s.Lower)) {
		return &conflictError{"the workspace's own file was changed before the commit"}
	}
	return nil
}

func changedSince(stat *unix.Stat_t, was identity) bool {
	if was.Time != 0 {
		return stat.Mtim.Nano() != was.Time
	}
	return stat.Ctim.Nano() != was.Change
}

func deleteStep(parent int, name string, s step) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(parent, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // gone already
	}
	if s.Dir != (stat.Mode&unix.S_IFMT == unix.S_IFDIR) { // it may have the inode of the one that was removed
		return &conflictError{"something of another kind has its name by now"}
	}
	if err := sameFile(parent, name, s); err != nil {
		return err
	}
	flags := 0
	if s.Dir {
		flags = unix.AT_REMOVEDIR
	}
	err := unix.Unlinkat(parent, name, flags)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return &conflictError{"the directory still holds files that stay"}
	}
	return err
}

func mkdirStep(parent int, name string, s step) error {
	err := unix.Mkdirat(parent, name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		var stat unix.Stat_t
		if unix.Fstatat(parent, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
			return &conflictError{"something else has its name by now"}
		}
	} else if err != nil {
		return err
	}
	return modeStep(parent, name, s)
}

// modeStep gives a name its owner and mode. An owner that is right already is left: setting it would make the file look
// changed to a commit that is killed before it has set the mode, and is done again.
func modeStep(parent int, name string, s step) error {
	// By the number of a descriptor that is no link's: fchmodat(2) would follow one that was put there meanwhile.
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK || s.Do == "mode" && stat.Ino != s.Lower.Inode {
		return &conflictError{"something else has its name by now"}
	}
	if s.UID != -1 && (int(stat.Uid) != s.UID || int(stat.Gid) != s.GID) {
		err := unix.Fchownat(fd, "", s.UID, s.GID, unix.AT_EMPTY_PATH)
		if err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	return unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), uint32(unixMode(s.Mode)), 0)
}

func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

func unixMode(m fs.FileMode) fs.FileMode {
	mode := m.Perm()
	if m&fs.ModeSticky != 0 {
		mode |= unix.S_ISVTX
	}
	if m&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	if m&fs.ModeSetuid != 0 {
		mode |= unix.S_ISUID
	}
	return mode
}

func timesStep(parent int, name string, s step) error {
	times := []unix.Timespec{unix.NsecToTimespec(s.Times[0].UnixNano()), unix.NsecToTimespec(s.Times[1].UnixNano())}
	return unix.UtimesNanoAt(parent, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// putStep moves a file, link or new directory from the layer over the workspace's, in one
// rename.
func (l *layers) putStep(parent int, name string, s step) error {
	from := filepath.Join(l.upper, s.Path)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil // moved already
	} else if err != nil {
		return err
	}
	if err := sameFile(parent, name, s); err != nil {
		return err
	}
	if s.Whole {
		filepath.WalkDir(from, func(path string, _ fs.DirEntry, _ error) error { stripAttributes(path); return nil })
	} else {
		stripAttributes(from)
	}
	err := unix.Renameat(unix.AT_FDCWD, from, parent, name)
	if isAny(err, unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.ENOTDIR) {
		return &conflictError{"something of another kind has its name by now"}
	}
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	temp := ".obstat-" + strings.TrimPrefix(filepath.Base(l.dir), layersPrefix)
	if err := copyInto(parent, temp, from, s); err != nil {
		unix.Unlinkat(parent, temp, 0)
		return err
	}
	if err := unix.Renameat(parent, temp, parent, name); err != nil {
		unix.Unlinkat(parent, temp, 0)
		return err
	}
	return os.Remove(from)
}

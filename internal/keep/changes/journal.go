package changes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/obstat/obstat/internal/keep/statedir"
)

// A journal is taking back that has begun. It is written whole before its first step, and each step can be done
// twice, so that a killed one is ended by doing all of them again.
type journal struct {
	Change *Change `json:"change"` // that the steps make, whose earlier states are kept already
	Steps  []Step  `json:"steps"`
	Back   bool    `json:"back,omitempty"` // a step failed: those that were done are taken back
	Left   int     `json:"-"`              // how many paths stayed as somebody else wrote them meanwhile
}

func (s *Store) journalName() string { return filepath.Join(s.dir, "journal.json") }

func (s *Store) begin(j *journal) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return statedir.Replace(s.journalName(), sealed(b))
}

// Begun tells whether taking back has begun and not ended: by a process that is at it, or that was killed.
func Begun(dir string) bool {
	_, err := os.Lstat((&Store{dir: dir}).journalName())
	return err == nil
}

// Recover ends what a killed process had begun. It waits for one that is still at it.
func (s *Store) Recover() error {
	if !Begun(s.dir) {
		return nil
	}
	release, err := s.lock(true)
	if err != nil {
		return err
	}
	release()
	return nil
}

// recover ends what a killed process had begun, for the one that has the lock alone.
func (s *Store) recover() error {
	b, err := os.ReadFile(s.journalName())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	j := new(journal)
	if err := unseal(b, j); err != nil || j.Change == nil {
		return fmt.Errorf("%s was changed and is not trusted; remove it to go on: %w", s.journalName(), err)
	}
	if err := s.run(j); err != nil && Begun(s.dir) { // else it was rolled back
		return fmt.Errorf("taking back was killed, and cannot be ended: %w", err)
	}
	s.ended = j
	return nil
}

// Told says which taking back of a killed process was ended when the store was opened, "" for none.
func (s *Store) Told() string {
	switch j := s.ended; {
	case j == nil:
		return ""
	case j.Left > 0:
		const text = "taking changes back was killed before; %d paths were changed since and stay so, " +
			"the others are as before it"
		return fmt.Sprintf(text, j.Left)
	case j.Back:
		return "taking changes back was killed before; the paths are as they were before it"
	default:
		return fmt.Sprintf("taking changes back was killed before, and is ended now: %d paths", len(j.Steps))
	}
}

// run does the steps of a journal. Where one cannot be done, those before it are taken back, and the error says why.
func (s *Store) run(j *journal) error {
	if err := s.write(j.Change); err != nil {
		return err
	}
	failed := error(nil)
	if !j.Back {
		w := &walk{s: s, temp: j.temp()}
		if failed = w.steps(j.Steps); failed != nil {
			j.Back = true
			if err := s.begin(j); err != nil {
				return errors.Join(failed, err)
			}
		}
	}
	if j.Back {
		w := &walk{s: s, temp: j.temp(), leave: true, left: map[string]bool{}}
		if err := w.steps(reversed(j.Steps)); err != nil {
			return errors.Join(failed, fmt.Errorf("and what was done could not be taken back: %w", err))
		}
		s.step()
		return errors.Join(failed, s.rolledBack(j, w.left), os.Remove(s.journalName()))
	}
	return s.close(j)
}

// rolledBack forgets the change of a journal whose steps were taken back. Of paths that somebody else wrote meanwhile
// it is kept, so that their contents from before that can still be had.
func (s *Store) rolledBack(j *journal, left map[string]bool) error {
	other := func(e Entry) bool { return !left[string(e.Path)] }
	c := j.Change
	if c.Before = slices.DeleteFunc(c.Before, other); len(c.Before) == 0 {
		return os.Remove(s.name(c.ID))
	}
	j.Left = len(c.Before)
	c.Reach = slices.DeleteFunc(c.Reach, func(r Reach) bool { return !left[r.Paths.Text] })
	c.Partly = c.Undoes // all of which stand
	return s.end(c)
}

// close notes that the changes are taken back, and ends the journal.
func (s *Store) close(j *journal) error {
	for _, id := range j.Change.Undoes {
		if slices.Contains(j.Change.Partly, id) {
			continue
		}
		s.step()
		if err := s.taken(id, j.Change.ID); err != nil {
			return err
		}
	}
	s.step()
	if err := s.end(j.Change); err != nil {
		return err
	}
	return os.Remove(s.journalName())
}

// taken notes by which change another is taken back, or with "" that it stands. Where that was itself taking back, the
// changes that it had taken back stand again, or do not any more.
func (s *Store) taken(id, by string) error {
	c, err := s.Get(id)
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrTampered) {
		return nil
	} else if err != nil {
		return err
	}
	c.Undone = by
	if err := s.write(c); err != nil {
		return err
	}
	next := c.ID
	if by != "" {
		next = ""
	}
	for _, id := range c.Undoes {
		if slices.Contains(c.Partly, id) {
			continue
		}
		other, err := s.Get(id)
		if err != nil || other.Undone != "" && other.Undone != c.ID { // taken back by a third one
			continue
		}
		if err := s.taken(id, next); err != nil {
			return err
		}
	}
	return nil
}

// temp is the name of a file that is being put back, beside the path that it is for.
func (j *journal) temp() string { return ".obstat-" + j.Change.ID }

func reversed(steps []Step) (out []Step) {
	for _, s := range steps {
		out = append(out, Step{s.Path, s.To, s.Now})
	}
	return out
}

// A walk does the steps of a journal, or takes them back.
type walk struct {
	s    *Store
	temp string // the name of a file that is being put back
	// leave: paths that somebody else wrote meanwhile are left as they are, and noted; else they are an error.
	leave bool
	left  map[string]bool
	// inodes are the states of files before and after the steps, which may be one file under several names.
	inodes map[uint64][]*State
}

// steps goes from the states of now to those wanted: it opens directories, removes from the deepest, makes
// from the top, and gives directories their rights last, since one without them could not be worked in.
func (w *walk) steps(steps []Step) error {
	sorted := slices.Clone(steps)
	slices.SortFunc(sorted, func(a, b Step) int { return byDepth(string(a.Path), string(b.Path)) })
	w.inodes = map[uint64][]*State{}
	for i := range sorted {
		for _, st := range []*State{&sorted[i].Now, &sorted[i].To} {
			if st.Kind == File && st.Inode != 0 {
				w.inodes[st.Inode] = append(w.inodes[st.Inode], st)
			}
		}
	}
	for i := range sorted {
		if err := w.each(&sorted[i], (*Store).openUp, false); err != nil {
			return err
		}
	}
	for _, step := range slices.Backward(sorted) {
		if err := w.each(&step, (*Store).takeAway, false); err != nil {
			return err
		}
	}
	for i := range sorted {
		if err := w.each(&sorted[i], (*Store).put, true); err != nil {
			return err
		}
	}
	for _, step := range slices.Backward(sorted) {
		if err := w.each(&step, (*Store).settle, true); err != nil {
			return err
		}
	}
	return nil
}

// A place is where one step works: a directory that was reached without following links, and a name in it.
type place struct {
	dir  *os.Root
	name string
	temp string
	is   State
	to   *State
	// unread: the contents could not be read when they were kept, and have to be those that are wanted.
	unread bool
}

// each does one pass's part of a step: of those that take away, or of those after which things are made.
func (w *walk) each(step *Step, part func(*Store, *place) error, made bool) error {
	w.s.step()
	path := string(step.Path)
	if made && step.To.Kind == None || !made && step.Now.Kind == None {
		return nil // taken away before; nothing to take away
	}
	dir, err := openDir(filepath.Dir(path))
	if err != nil && !made {
		return nil // gone with its directory, which is something else by now; else a later pass says so
	} else if err != nil {
		return w.otherwise(path, err)
	}
	defer dir.Close()
	is, err := w.s.stateOf(path, false)
	if err != nil && is.Kind != Dir && is.Kind != File { // one without rights is opened up first
		return fmt.Errorf("%s: %s", path, plain(err))
	}
	if !w.ours(&is, step) {
		return w.otherwise(path, errWritten)
	}
	p := &place{dir: dir, name: filepath.Base(path), temp: w.temp, is: is, to: &step.To}
	p.unread = unreadable(&step.Now, &step.To)
	if err := part(w.s, p); err != nil {
		return w.otherwise(path, err)
	}
	return nil
}

var (
	errWritten = errors.New("it was changed while it was put back")
	errBehind  = errors.New("its directory has become a link")
)

// otherwise is the error of a path where a step cannot be done. Where paths that somebody else wrote are left as they
// are, it is none for such a path: one with other contents, in a directory that is none any more, or a directory with
// other files in it.
func (w *walk) otherwise(path string, err error) error {
	for _, why := range []error{errWritten, errBehind, fs.ErrNotExist, syscall.ENOTDIR, syscall.ENOTEMPTY} {
		if w.leave && errors.Is(err, why) {
			w.left[path] = true
			return nil
		}
	}
	return fmt.Errorf("%s: %s", path, plain(err))
}

// ours tells whether a path has contents that a step begins with or leads to, or none, so that nobody else wrote it
// after the restore began. After `ln -f a hard`, what is put back as a has come to hard as well, which is the same
// file.
func (w *walk) ours(is *State, step *Step) bool {
	if is.Kind == None || is.Kind == File && (is.Digest == "" || unreadable(&step.Now, &step.To)) {
		return true
	}
	for _, known := range []*State{&step.Now, &step.To} {
		if is.Kind == known.Kind && is.sameContents(known) {
			return true
		}
	}
	return is.Kind == File && slices.ContainsFunc(w.inodes[is.Inode], func(known *State) bool {
		return is.sameContents(known) || w.s.half(is, known)
	})
}

// half tells whether a file is one that was being put back in place, as those with several names are, by a process
// that was killed: it has the beginning of the contents.
func (s *Store) half(is, of *State) bool {
	if is.Size > of.Size {
		return false
	}
	whole, err := s.openBlob(of.Digest)
	if err != nil {
		return false
	}
	defer whole.Close()
	sum := sha256.New()
	_, err = io.CopyN(sum, whole, is.Size)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == is.Digest
}

// openDir opens a directory that is no link and lies behind none.
func openDir(dir string) (*os.Root, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real != dir {
		return nil, errBehind
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	named, err2 := os.Lstat(dir)
	if err = errors.Join(err, err2); err == nil && !os.SameFile(opened, named) {
		err = errBehind
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// openUp lets its owner work in a directory that stays, and read a file.
func (s *Store) openUp(p *place) error {
	want := map[Kind]fs.FileMode{Dir: 0o700, File: 0o400}[p.is.Kind]
	if p.is.Mode&want == want {
		return nil
	}
	return p.dir.Chmod(p.name, p.is.Mode|want)
}

// takeAway removes a path that is to be gone, or to be something else.
func (s *Store) takeAway(p *place) error {
	if p.is.Kind == None || p.is.Kind == p.to.Kind {
		return nil
	}
	return p.dir.Remove(p.name)
}

// put makes a path that is not there, or gives a file its earlier contents.
func (s *Store) put(p *place) error {
	switch p.to.Kind {
	case Dir:
		if p.is.Kind == Dir {
			return nil
		}
		return p.dir.Mkdir(p.name, 0o700)
	case Link:
		if p.is.Kind == Link && p.is.Target == p.to.Target {
			return nil
		}
		p.dir.Remove(p.temp)
		return errors.Join(p.dir.Symlink(string(p.to.Target), p.temp), p.dir.Rename(p.temp, p.name))
	case File:
		if p.is.Kind == File && p.is.Digest == p.to.Digest {
			return nil
		}
		if p.unread {
			return errors.New("it could not be read, and holds something else")
		}
		return s.putFile(p)
	}
	return nil
}

// putFile puts earlier contents into place: in one rename, or, for a file that had other names and is still the same,
// in the file itself. After `ln -f a b`, b is another file than before, and a keeps its contents.
func (s *Store) putFile(p *place) error {
	from, err := s.openBlob(p.to.Digest)
	if err != nil {
		return err
	}
	defer from.Close()
	name, flags := p.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL
	if info, err := p.dir.Lstat(p.name); err == nil && Links(info) > 1 && inodeOf(info) == p.to.Inode {
		name, flags = p.name, os.O_WRONLY|os.O_TRUNC
		if err := p.dir.Chmod(name, info.Mode().Perm()|0o200); err != nil {
			return err
		}
	} else {
		p.dir.Remove(p.temp)
	}
	to, err := p.dir.OpenFile(name, flags, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(fill(to, from, p.to.Sparse), to.Close())
	if err == nil && name == p.temp {
		err = errors.Join(s.rightsOf(p, p.temp), p.dir.Rename(p.temp, p.name))
	}
	if err != nil && name == p.temp {
		p.dir.Remove(p.temp)
	}
	return err
}

// fill writes contents; those of a sparse file leave its holes out.
func fill(to *os.File, from io.Reader, sparse bool) error {
	if !sparse {
		_, err := io.Copy(to, from)
		return err
	}
	buf, zero, size := make([]byte, 1<<16), make([]byte, 1<<16), int64(0)
	for {
		n, err := io.ReadFull(from, buf)
		if slices.Equal(buf[:n], zero[:n]) {
			_, seek := to.Seek(int64(n), io.SeekCurrent)
			err = errors.Join(err, seek)
		} else if _, bad := to.Write(buf[:n]); bad != nil {
			return bad
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return to.Truncate(size)
		} else if err != nil {
			return err
		}
	}
}

// settle gives a path its rights, and looks whether it is as it was.
func (s *Store) settle(p *place) error {
	if p.to.Kind != None && !p.is.sameRights(p.to) {
		if err := s.rightsOf(p, p.name); err != nil {
			return err
		}
	}
	is, err := s.stateOf(filepath.Join(p.dir.Name(), p.name), false)
	if unreadable(&is, p.to) {
		is.Digest, err = p.to.Digest, nil // put has compared it
	}
	if err == nil && !is.Equal(p.to) {
		err = errors.New("it did not become as it was")
	}
	return err
}

// rightsOf gives a name the mode, owner and attributes that are wanted.
func (s *Store) rightsOf(p *place, name string) error {
	if info, err := p.dir.Lstat(name); err != nil {
		return err
	} else if uid, gid := ownerOf(info); uid != p.to.UID || gid != p.to.GID {
		if err := p.dir.Lchown(name, p.to.UID, p.to.GID); err != nil {
			return err
		}
	}
	if p.to.Kind == Link {
		return nil
	}
	if len(p.to.Attrs) > 0 || len(p.is.Attrs) > 0 {
		f, err := p.dir.Open(name)
		if err != nil {
			return err
		}
		err = errors.Join(setAttrs(f, p.to.Attrs), f.Close())
		if err != nil {
			return err
		}
	}
	return p.dir.Chmod(name, p.to.Mode)
}

package policy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/obstat/obstat/dialect"
)

// Of returns an InForce in which l decides alone, such as a policy that was written
// in Go.
func Of(l *dialect.Loaded) *InForce {
	return &InForce{Policies: []*Policy{{Loaded: l, Why: "given", OnDisk: true, Accepted: true}}}
}

// Changed tells whether a file that was looked at has changed, appeared or gone
// since f was found, so that another Find may find something else. Without
// a [Finder].Watcher it cannot know, and says yes.
func (f *InForce) Changed() bool {
	return f.watcher == nil || !f.looked.hold(f.watcher, f.watcher.look())
}

// fresh is how long after a change a file's time may still hide another one.
const fresh = 2 * time.Second

// A stamp is how a file or directory looked before it was read.
type stamp struct {
	name    string
	info    fs.FileInfo // nil: there was nothing
	settled bool        // its time is old enough to tell changes apart
	data    []byte      // of a file
	// missing are names below a directory that were not there. They are looked for
	// again only where the directory has changed: nothing comes without that.
	missing []string
}

// stampOf looks at a file or directory.
func stampOf(name string) *stamp {
	s := &stamp{name: name}
	if info, err := os.Stat(name); err == nil {
		s.info, s.settled = info, time.Since(info.ModTime()) > fresh
	}
	return s
}

// holds tells whether everything still looks as it did.
func (s *stamp) holds() bool {
	info, err := os.Stat(s.name)
	if s.info == nil || err != nil {
		return (s.info == nil) == (err != nil)
	}
	same := os.SameFile(info, s.info) && info.ModTime().Equal(s.info.ModTime()) && info.Mode() == s.info.Mode()
	switch {
	case same && s.settled && (info.IsDir() || info.Size() == s.info.Size()):
		return true
	case s.missing != nil:
		return os.SameFile(info, s.info) && !slices.ContainsFunc(s.missing, func(name string) bool { return exists(filepath.Join(s.name, name)) })
	case !same || info.IsDir():
		return false
	}
	data, err := os.ReadFile(s.name)
	return err == nil && bytes.Equal(data, s.data)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// watch remembers how a file looks before it is read. Of one that is missing, the
// nearest directory that is there tells whether it has come.
func (s *search) watch(name string) *stamp {
	if s.Watcher == nil || s.stamped[name] != nil {
		return s.stamped[name]
	}
	if s.stamped == nil {
		s.stamped = map[string]*stamp{}
	}
	st := stampOf(name)
	if st.info != nil || exists(name) { // a link that leads nowhere is there
		s.stamped[name] = st
		s.out.looked.stamps = append(s.out.looked.stamps, st)
		return st
	}
	dir := filepath.Dir(name)
	for dir != filepath.Dir(dir) && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	in := s.stamped["in "+dir]
	if in == nil {
		in = stampOf(dir)
		s.stamped["in "+dir] = in
		s.out.looked.stamps = append(s.out.looked.stamps, in)
	}
	rel, _ := filepath.Rel(dir, name) // both are absolute
	in.missing = append(in.missing, rel)
	return nil
}

// watchBelow remembers how a directory and those in it look: files that a pattern
// matches may come there.
func (s *search) watchBelow(dir string) {
	if s.Watcher == nil {
		return
	}
	s.watch(dir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			s.watch(filepath.Join(dir, e.Name()))
		}
	}
}

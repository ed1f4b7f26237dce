package changes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// SweepNow forgets what the limits do not allow to be kept: once in ten minutes, and at once where the next call might
// not fit in the budget beside the others.
func (s *Store) SweepNow() error {
	if s.used() > s.most() {
		return s.Sweep()
	}
	return s.sweepBy("swept")
}

// SweepOld is SweepNow for one who does not know the policy's budget: it forgets only what is too old, so that
// secrets go although no call that changes files comes any more.
func (s *Store) SweepOld() error {
	if _, err := os.Lstat(filepath.Join(s.dir, "calls")); errors.Is(err, fs.ErrNotExist) {
		return nil // reading makes no store
	}
	aged := *s
	aged.limits.Total = math.MaxInt64
	return aged.sweepBy("swept-old")
}

func (s *Store) sweepBy(name string) error {
	const pause = 10 * time.Minute
	mark := filepath.Join(s.dir, name)
	if info, err := os.Stat(mark); err == nil && s.now().Sub(info.ModTime()).Abs() < pause {
		return nil
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	return errors.Join(os.Chtimes(mark, s.now(), s.now()), s.Sweep())
}

// most is how much the changes may take of the budget, so that one more call fits in it.
func (s *Store) most() int64 { return s.limits.Total - s.limits.Call }

// writtenName is a file with a number in each line: the size of the store after the last sweep, and what was added.
func (s *Store) writtenName() string { return filepath.Join(s.dir, "written") }

// used returns how large the store is. Of a process that was killed before it noted its part, the next sweep learns.
func (s *Store) used() (n int64) {
	b, _ := os.ReadFile(s.writtenName()) // without one no sweep was made either, and is due
	for line := range strings.Lines(string(b)) {
		added, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		n += added
	}
	return n
}

// wrote counts bytes that were added to the store, as the disk counts them: in blocks.
func (s *Store) wrote(n int) {
	const block = 4096
	s.added.Add((int64(n) + block - 1) / block * block)
}

// noteWritten writes down how much was added, for the process that has the lock.
func (s *Store) noteWritten() error {
	n := s.added.Swap(0)
	if n == 0 {
		return nil
	}
	f, err := os.OpenFile(s.writtenName(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, n)
	return errors.Join(err, f.Close())
}

// Sweep forgets what is too old, and then the oldest until the others fit in the budget with some room.
func (s *Store) Sweep() error {
	release, err := s.lock(true)
	if err != nil {
		return err
	}
	defer release()
	list, err := s.List()
	if errors.Is(err, ErrTampered) {
		err = s.dropTampered()
	}
	if err != nil {
		return err
	}
	young := slices.DeleteFunc(slices.Clone(list), func(c *Change) bool {
		age := cmp.Or(c.Keep, s.limits.Age)
		if c.Secret {
			age = min(age, Secret)
		}
		return s.now().Sub(c.Began) > age
	})
	keep, size, err := s.fitting(young)
	for _, c := range list {
		if !slices.Contains(keep, c) {
			err = errors.Join(err, os.Remove(s.name(c.ID)))
		}
	}
	err = errors.Join(err, s.dropUnneeded(keep), s.dropOpen(keep), s.dropTemp())
	return errors.Join(err, statedir.Replace(s.writtenName(), fmt.Appendln(nil, size)))
}

// fitting returns the latest of some changes, as many as fit in the budget with everything else in the store, and the
// size of it all. It leaves a part of the budget free, so that not each of the next calls has to sweep.
func (s *Store) fitting(list []*Change) (keep []*Change, size int64, err error) {
	sizes := map[string]int64{}
	err = filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sizes[p] = diskSize(info)
		if dir := filepath.Dir(p); d.IsDir() || dir == s.dir {
			size += sizes[p]
		}
		return nil
	})
	for i, c := range list {
		more := sizes[s.name(c.ID)]
		for digest := range c.digests() {
			more += sizes[s.blob(digest)]
			delete(sizes, s.blob(digest)) // one that several changes need counts once
		}
		if size+more > s.most()/16*15 {
			return list[:i], size, err
		}
		size += more
	}
	return list, size, err
}

// digests are those of the contents that a change needs.
func (c *Change) digests() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range c.Before {
			if e := &c.Before[i]; e.Digest != "" && !yield(e.Digest) {
				return
			}
		}
		for i := range c.After {
			e := &c.After[i]
			if e.Digest != "" && e.Size <= mostMerged && !c.forgot(e.Path) && !yield(e.Digest) {
				return
			}
		}
	}
}

// dropOpen forgets that calls run whose changes are not kept any more: some agents never say that they ended.
func (s *Store) dropOpen(keep []*Change) error {
	list, err := os.ReadDir(filepath.Join(s.dir, "open"))
	for _, e := range list {
		_, id, _ := strings.Cut(e.Name(), "-")
		if !slices.ContainsFunc(keep, func(c *Change) bool { return c.ID == id }) {
			err = errors.Join(err, os.Remove(filepath.Join(s.dir, "open", e.Name())))
		}
	}
	return err
}

// dropTampered removes the changes that cannot be read and are too old: when they were made is in their names.
func (s *Store) dropTampered() error {
	ids, err := s.ids()
	for _, id := range ids {
		if _, bad := s.Get(id); !errors.Is(bad, ErrTampered) {
			continue
		}
		at, _, _ := strings.Cut(id, "-")
		if made, bad := time.Parse(idTime, at); bad != nil || s.now().Sub(made) > s.limits.Age {
			err = errors.Join(err, os.Remove(s.name(id)))
		}
	}
	return err
}

// Forget drops the contents that are kept of a path and everything below it, and tells of how many.
func (s *Store) Forget(path string) (n int, err error) {
	release, err := s.lock(true)
	if err != nil {
		return 0, err
	}
	defer release()
	list, err := s.List()
	if err != nil && !errors.Is(err, ErrTampered) {
		return 0, err
	}
	err = nil
	under := paths.Under(path)
	for _, c := range list {
		before := len(c.Before)
		c.Before = slices.DeleteFunc(c.Before, func(e Entry) bool {
			if !under.Has(string(e.Path)) || e.Kind != File {
				return false
			}
			c.Gaps = append(c.Gaps, Gap{Path: e.Path, Why: "its earlier contents were forgotten"})
			return true
		})
		after := slices.ContainsFunc(c.After, func(e Entry) bool { return under.Has(string(e.Path)) && !c.forgot(e.Path) })
		if after {
			c.Forgot = append(c.Forgot, Name(path))
		}
		if dropped := before - len(c.Before); dropped > 0 || after {
			n += dropped
			err = errors.Join(err, s.write(c))
		}
	}
	return n, errors.Join(err, s.dropUnneeded(list))
}

// dropUnneeded removes the contents that none of the changes needs.
func (s *Store) dropUnneeded(list []*Change) error {
	needed := map[string]bool{}
	for _, c := range list {
		for digest := range c.digests() {
			needed[digest] = true
		}
	}
	return filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || needed[filepath.Base(filepath.Dir(p))+d.Name()] {
			return err
		}
		return os.Remove(p)
	})
}

// dropTemp removes what killed processes have left.
func (s *Store) dropTemp() error {
	var left []string
	for _, dir := range []string{".", "calls"} {
		names, err := filepath.Glob(filepath.Join(s.dir, dir, tempPrefix+"*"))
		if err != nil {
			return err
		}
		left = append(left, names...)
	}
	var err error
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

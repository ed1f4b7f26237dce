package changes

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/paths"
)

// SweepNow forgets what the limits do not allow to be kept; it does so at most once in ten minutes.
func (s *Store) SweepNow() error { return s.sweepBy("swept") }

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

// Sweep forgets what is too old, and then the oldest until all fit in the budget.
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
	keep := slices.DeleteFunc(list, func(c *Change) bool {
		age := cmp.Or(c.Keep, s.limits.Age)
		if c.Secret {
			age = min(age, Secret)
		}
		old := s.now().Sub(c.Began) > age
		if old {
			err = errors.Join(err, os.Remove(s.name(c.ID)))
		}
		return old
	})
	size, bad := s.dropUnneeded(keep)
	err = errors.Join(err, bad)
	for size > s.limits.Total && len(keep) > 0 {
		oldest := keep[len(keep)-1]
		err = errors.Join(err, os.Remove(s.name(oldest.ID)))
		keep = keep[:len(keep)-1]
		size, bad = s.dropUnneeded(keep)
		err = errors.Join(err, bad)
	}
	return errors.Join(err, s.dropOpen(keep), s.dropTemp())
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
	_, bad := s.dropUnneeded(list)
	return n, errors.Join(err, bad)
}

// dropUnneeded removes the contents that none of the changes needs, and returns the size of the rest.
func (s *Store) dropUnneeded(list []*Change) (size int64, err error) {
	needed := map[string]bool{}
	for _, c := range list {
		for _, e := range c.Before {
			needed[e.Digest] = true
		}
		for _, e := range c.After {
			if e.Size <= mostMerged && !c.forgot(e.Path) {
				needed[e.Digest] = true
			}
		}
	}
	top := filepath.Join(s.dir, "blobs")
	err = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !needed[filepath.Base(filepath.Dir(p))+d.Name()] {
			return os.Remove(p)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
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

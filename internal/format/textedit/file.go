package textedit

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	maxFile  = 10 << 20
	lockWait = 30 * time.Second // for the processes ahead of us
	lockPoll = 5 * time.Millisecond
	maxLinks = 40
	maxTries = 10
)

// UpdateFile replaces the contents of the file with the result of fn, so
// that a reader sees all of the old or all of the new, and of many processes
// that do this at the same time none loses another's change. A missing file is
// created, and fn gets nil; a symbolic link is followed and stays. Mode and owner
// are kept. Where fn returns its argument unchanged, or an error, nothing is written.
//
// fn is called again if an editor changed the file without taking the lock.
func UpdateFile(path string, fn func(old []byte) ([]byte, error)) error {
	return replacement{fn: fn, perm: 0o644, keep: true}.file(path)
}

// ReplaceFile is UpdateFile, but where fn returns nil the file is removed, and a
// new file gets the given permissions.
func ReplaceFile(path string, perm fs.FileMode, fn func(old []byte) ([]byte, error)) error {
	return replacement{fn: fn, perm: perm}.file(path)
}

// A replacement is one atomic rewrite of a file.
type replacement struct {
	fn   func(old []byte) ([]byte, error)
	perm fs.FileMode // of a new file
	keep bool        // nil is an empty file, not none
}

func (c replacement) file(path string) error {
	target, err := follow(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".lock"))
	if err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	defer unlock()
	for range maxTries {
		done, err := c.update(target)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s keeps changing while it is being edited", path)
}

// update makes one try. It is not done where the file changed meanwhile.
func (c replacement) update(target string) (done bool, err error) {
	old, info, err := read(target)
	if err != nil {
		return false, err
	}
	text, err := c.fn(bytes.Clone(old))
	if err != nil {
		return false, err
	}
	if text == nil && !c.keep {
		if info == nil {
			return true, nil
		}
		return true, os.Remove(target)
	}
	if bytes.Equal(text, old) && (info != nil || text == nil) {
		return true, nil
	}
	tmp, err := writeTemp(target, text, info, c.perm)
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp)
	now, nowInfo, err := read(target)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(now, old) || (info == nil) != (nowInfo == nil) {
		return false, nil
	}
	if err := os.Rename(tmp, target); err != nil {
		return false, err
	}
	syncDir(filepath.Dir(target))
	return true, nil
}

// ReadFile returns the contents of a regular file, nil if there is none. Reading
// anything else, such as a pipe, could take for ever, and is refused.
func ReadFile(path string) ([]byte, error) {
	b, _, err := read(path)
	return b, err
}

// read returns the contents of a regular file; both results are nil if there is
// none.
func read(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	if b == nil {
		b = []byte{}
	}
	return b, info, err
}

// writeTemp writes text to a new file next to target, with target's mode and
// owner, and makes sure that it is on the disk.
func writeTemp(target string, text []byte, info fs.FileInfo, perm fs.FileMode) (name string, err error) {
	name = filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()+".tmp")
	// A file that others must not read is private before anything is in it.
	if info != nil {
		perm = info.Mode().Perm() & 0o600
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			os.Remove(name)
		}
	}()
	if _, err = f.Write(text); err != nil {
		return name, err
	}
	if info != nil {
		keepOwner(f, info)
		if err = f.Chmod(info.Mode()); err != nil {
			return name, err
		}
	}
	return name, f.Sync()
}

// follow resolves symbolic links, also one whose target does not exist yet.
func follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil { // no link
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path, nil // the directory will be created
			}
			return filepath.Join(dir, filepath.Base(path)), nil
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// lock takes the exclusive lock that the file name stands for. The file is
// removed again by the last holder of the lock, so a lock counts only if the
// file is still the one that has the name.
func lock(name string) (unlock func(), err error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is in the way", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	for {
		l := flock.New(name, flock.SetPermissions(0o600))
		if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
			l.Close()
			return nil, err
		}
		mine, err := l.Stat()
		if now, nowErr := os.Lstat(name); err == nil && nowErr == nil && os.SameFile(mine, now) {
			return func() {
				os.Remove(name) // on systems that cannot remove an open file it stays, which does no harm
				l.Close()
			}, nil
		}
		l.Close()
	}
}

// syncDir puts a rename on the disk. Where directories cannot be synced the
// rename is still atomic.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

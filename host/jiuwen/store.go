package jiuwen

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
)

// A Store is a config.yaml that can be changed. Update hands the bytes to fn
// and keeps the bytes that fn returns, unless it fails; no other process can
// change the file in between.
type Store interface {
	Read() ([]byte, error)
	Update(fn func(old []byte) ([]byte, error)) error
}

// A File is the Store of a config.yaml on the disk, given by its path; changes
// are atomic and made under a lock.
type File string

var _ Store = File("")

// Read returns the file's bytes; a missing file is an empty one.
func (f File) Read() ([]byte, error) {
	b, err := os.ReadFile(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Update changes the file.
func (f File) Update(fn func(old []byte) ([]byte, error)) error {
	return textedit.UpdateFile(string(f), fn)
}

// DefaultFile returns the config.yaml that JiuwenSwarm itself would read.
func DefaultFile(getenv func(string) string, home string) (File, error) {
	dir := jiuwen.ConfigDir(getenv, home)
	if !filepath.IsAbs(dir) {
		return "", errors.New("no home directory is known")
	}
	return File(filepath.Join(dir, "config.yaml")), nil
}

// AddDir is /add-dir: it makes a directory trusted. See [jiuwen.AddDir].
func AddDir(s Store, world obstat.World, cwd, dir string) (t *jiuwen.Trusted, err error) {
	err = s.Update(func(old []byte) (out []byte, err error) {
		out, t, err = jiuwen.AddDir(old, world, cwd, dir)
		return out, err
	})
	return t, err
}

const (
	format      = textedit.YAML
	permissions = "permissions"
)

// checkRule refuses a rule that could never match.
func checkRule(rule jsonx.Object) error {
	raw, err := jsonx.Marshal(rule)
	if err != nil {
		return err
	}
	if err := jiuwen.CheckRule(raw); err != nil {
		return bad("%v", err)
	}
	return nil
}

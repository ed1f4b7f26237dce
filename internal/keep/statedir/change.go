package statedir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// Change replaces the text of a file by change's, while no other process changes a file of the directory; most bounds
// its length. Lines are added where change only adds some, and else the file is replaced as a whole. For a file that is
// not there, change is called with no text first: where it has none to write, nothing is made and no lock taken.
func Change(name string, most int, change func(text []byte) []byte) error {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && len(change(nil)) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(filepath.Dir(name), "change.lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := change(slices.Clip(old))
	added, adds := bytes.CutPrefix(text, old)
	switch {
	case len(text) > most:
		return fmt.Errorf("%s would have %d bytes, and may have %d", name, len(text), most)
	case !adds:
		return Replace(name, text)
	case len(added) == 0:
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if n := len(old); n > 0 && old[n-1] != '\n' { // a killed process left half a line
		added = append([]byte("\n"), added...)
	}
	_, err = f.Write(added)
	return errors.Join(err, f.Close())
}

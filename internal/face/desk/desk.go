// Package desk tells whether a person is there to answer: one that runs
// `obstat ask` on a store sits at its desk, which is a lock on a file beside the
// database. The lock ends with the process, however that ends.
//
// It owns that file. It knows nothing of requests.
package desk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Path returns the file whose lock stands for the people at a database's desk.
func Path(db string) string { return db + ".desk" }

// Sit takes a seat until the returned function is called. Any number of people
// may sit at one desk.
func Sit(db string) (leave func(), err error) {
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		return nil, err
	}
	l := flock.New(Path(db), flock.SetPermissions(0o600))
	for range tries {
		ok, err := l.TryRLock()
		if err != nil {
			return nil, err
		}
		if ok {
			return func() { _ = l.Close() }, nil
		}
		time.Sleep(pause) // another process looks whether the desk is taken
	}
	return nil, errors.New(Path(db) + " is locked by something else")
}

// How often, and after which pause, a lock that another holds is tried again:
// processes that only look hold it for microseconds.
const (
	tries = 10
	pause = 5 * time.Millisecond
)

// Taken tells whether a person sits at the desk; false also where that cannot be
// found out.
func Taken(db string) bool {
	if _, err := os.Stat(Path(db)); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	l := flock.New(Path(db), flock.SetFlag(os.O_RDWR))
	defer l.Close()
	for range tries {
		ok, err := l.TryLock()
		if ok || err != nil {
			return false
		}
		time.Sleep(pause) // it may be another process that looks
	}
	return true
}

package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

func lockPath(db string) string { return db + ".lock" }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// create makes an empty database file that only its owner can read, if there is none; SQLite
// itself would make one that others can read. Of several processes one does so.
func create(path string) error {
	if exists(path) {
		return nil
	}
	l := flock.New(lockPath(path), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return err
	}
	defer l.Close()
	if exists(path) {
		return nil
	}
	// SQLite would take a write-ahead log without its database for that of the new one.
	for _, old := range []string{path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	db, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return db.Close()
}

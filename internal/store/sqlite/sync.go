package sqlite

import (
	"os"

	"github.com/obstat/obstat/internal/store/journal"
)

// A walSync makes the write-ahead log durable. SQLite would do it with fsync,
// which writes the file's times as well and so waits for the file system's
// journal; what is needed is fdatasync. SQLite takes no locks on this file, so
// that opening and closing it behind its back drops none.
type walSync struct {
	path string
	f    *os.File
	mine os.FileInfo // of f
}

// sync returns once all that was written to the log will survive a crash.
func (w *walSync) sync() error {
	if err := w.open(); err != nil {
		return err
	}
	return journal.SyncData(w.f)
}

// open makes sure that the open file is the log: the last connection to close
// deletes it, and the next makes another.
func (w *walSync) open() error {
	now, err := os.Stat(w.path)
	if err != nil {
		return err
	}
	if w.f != nil {
		if os.SameFile(w.mine, now) {
			return nil
		}
		w.f.Close()
		w.f = nil
	}
	f, err := os.OpenFile(w.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if w.mine, err = f.Stat(); err != nil {
		f.Close()
		return err
	}
	w.f = f
	return w.open()
}

func (w *walSync) close() error {
	if w.f == nil {
		return nil
	}
	return w.f.Close()
}

package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const keyLen = 32

// KeyPath returns where the key of a database file's digests is.
func KeyPath(db string) string { return db + ".key" }

// LoadKey returns the key of an installation's digests, and makes it where there
// is none: random bytes in a file that only its owner can read.
func LoadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path) // another process may have been first
}

func readKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) != keyLen {
		return nil, fmt.Errorf("%s: a key has %d bytes, this file has %d", path, keyLen, len(key))
	}
	return key, err
}

// makeKey links the file in when it is whole, so that no process reads half a key
// and of several processes one wins.
func makeKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keyLen)
	rand.Read(key)
	_, werr := f.Write(key)
	if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

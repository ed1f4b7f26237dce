//go:build !unix

package policycache

import (
	"errors"
	"io/fs"
	"os"
)

// readOwn reads a file of this user's: here the directory it is in, below the
// user's own, has to answer for that.
func readOwn(name string) ([]byte, error) { return os.ReadFile(name) }

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// missing tells whether there is nothing under a name.
func missing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

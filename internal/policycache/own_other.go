//go:build !unix

package policycache

import (
	"errors"
	"io/fs"
	"os"
)

// own tells whether a file is this user's: here the directory it is in, below
// the user's own, has to answer for that.
func own(fs.FileInfo) bool { return true }

// missing tells whether there is nothing under a name.
func missing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

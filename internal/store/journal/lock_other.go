//go:build !unix || aix || solaris

package journal

import (
	"errors"
	"os"
)

// Supported tells whether this system has the locks that a journal needs.
const Supported = false

var errNoLocks = errors.New("a journal needs file locks, which this system has not")

func lockFile(*os.File) error { return errNoLocks }

func tryLock(*os.File) (bool, error) { return false, errNoLocks }

func unlockFile(*os.File) {}

func syncDir(string) error { return nil }

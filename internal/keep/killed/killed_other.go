//go:build !(linux && amd64)

package killed

import (
	"errors"
	"os/exec"
)

// At is not there on this system.
func At(int, *exec.Cmd) (seen int, ended bool, err error) { return 0, false, errors.ErrUnsupported }

// Possible says why a process cannot be traced here.
func Possible() error { return errors.ErrUnsupported }

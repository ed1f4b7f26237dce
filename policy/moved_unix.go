//go:build unix

package policy

import (
	"fmt"
	"os"
	"syscall"
)

// identity returns a name of a directory that stays when it is renamed: its device and
// inode; "" is not known.
func identity(dir string) string {
	fi, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

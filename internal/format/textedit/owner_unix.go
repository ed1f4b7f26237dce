//go:build unix

package textedit

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it will replace, as far as the process
// may: where it may not, the file belongs to the editing user, as with any editor.
func keepOwner(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

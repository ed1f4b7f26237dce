//go:build !unix

package obstat

import "os"

// Readlink returns the target of a symbolic link. One that cannot be read, as links to absolute
// paths in some hosts of WebAssembly, leads to itself: nobody knows where, and nothing follows it.
func (OS) Readlink(path string) (string, bool) {
	t, err := os.Readlink(path)
	if err == nil {
		return t, true
	}
	st, err := os.Lstat(path)
	return path, err == nil && st.Mode()&os.ModeSymlink != 0
}

// IsDir reports whether path is a directory, links followed.
func (OS) IsDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Kind tells of a path, which is not followed itself, whether it is a symbolic link, a directory or a plain file.
func (OS) Kind(path string) (link, dir, file bool) {
	st, err := os.Lstat(path)
	if err != nil {
		return false, false, false
	}
	return st.Mode()&os.ModeSymlink != 0, st.IsDir(), st.Mode().IsRegular()
}

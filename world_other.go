//go:build !unix

package obstat

import "os"

// Readlink returns the target of a symbolic link.
func (OS) Readlink(path string) (string, bool) {
	t, err := os.Readlink(path)
	return t, err == nil
}

// IsDir reports whether path is a directory, links followed.
func (OS) IsDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

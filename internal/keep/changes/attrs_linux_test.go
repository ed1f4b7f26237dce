package changes

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttributes: extended attributes of the user and access lists come back, of files and of directories.
func TestAttributes(t *testing.T) {
	// An access list that lets the user 1000 read and write, as setfacl(1) writes it.
	list := []byte{2, 0, 0, 0,
		1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 232, 3, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
		16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255}
	for _, attr := range []struct {
		name  string
		value []byte
	}{{"user.k", []byte("v")}, {"system.posix_acl_access", list}} {
		for _, name := range []string{"a", "d"} {
			s, dir := open(t), project(t)
			path := filepath.Join(dir, name)
			if err := unix.Setxattr(path, attr.name, attr.value, 0); err != nil {
				t.Skipf("the file system has no %s: %v", attr.name, err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			save(t, s, "c", dir, name+"/")
			shell(t, dir, "rm -r "+name)
			undo(t, s, end(t, s, "c"))
			got := make([]byte, 100)
			n, err := unix.Getxattr(path, attr.name, got)
			after, serr := os.Stat(path)
			if err != nil || serr != nil || !bytes.Equal(got[:n], attr.value) || after.Mode() != before.Mode() {
				t.Errorf("%s of %s: %v, %v %v", attr.name, name, got[:max(n, 0)], err, serr)
			}
		}
	}
}

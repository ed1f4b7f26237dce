package gate

import (
	"fmt"
	"os"
	"testing"

	"github.com/obstat/obstat"
)

// counted counts how often it is looked at.
type counted struct {
	obstat.Snapshot
	looks map[string]int
}

func (c *counted) Readlink(path string) (string, bool) {
	c.looks[path]++
	return c.Snapshot.Readlink(path)
}

func (c *counted) IsDir(path string) bool {
	c.looks[path+"/"]++
	return c.Snapshot.IsDir(path)
}

// TestMemo: each path is looked at once for links and once for directories, also
// where there are very many, and the answers are those of the world below.
func TestMemo(t *testing.T) {
	w := &counted{Snapshot: obstat.Snapshot{HomeDir: "/home/ann", Links: map[string]string{"/a/7": "/b"}, Dirs: []string{"/a/7"}}, looks: map[string]int{}}
	m := &memo{of: w}
	for range 3 {
		for i := range 3 * maxList {
			path := fmt.Sprintf("/a/%d", i)
			if to, ok := m.Readlink(path); ok != (i == 7) || ok && to != "/b" {
				t.Errorf("%s: %q, %v", path, to, ok)
			}
			if m.IsDir(path) != (i == 7) {
				t.Errorf("%s: a directory is none, or the reverse", path)
			}
		}
	}
	for path, n := range w.looks {
		if n != 1 {
			t.Errorf("%s was looked at %d times", path, n)
		}
	}
	if h, ok := m.Home(""); h != "/home/ann" || !ok {
		t.Error(h, ok)
	}
}

// kinds is the machine, and counts how often it is looked at.
type kinds struct {
	obstat.OS
	looks map[string]int
}

func (k *kinds) Kind(path string) (link, dir, file bool) {
	k.looks[path]++
	return k.OS.Kind(path)
}

func (k *kinds) Readlink(path string) (string, bool) {
	k.looks[path]++
	return k.OS.Readlink(path)
}

func (k *kinds) IsDir(path string) bool {
	k.looks[path]++
	return k.OS.IsDir(path)
}

func (k *kinds) IsFile(path string) bool {
	k.looks[path]++
	return k.OS.IsFile(path)
}

// TestMemoKind: one look tells of a path whether it is a link, a directory or a file, and the answers are the machine's;
// only a link is looked at again, for its target and for the directory that it leads to.
func TestMemoKind(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"/tolink": ".", "/tofile": "file", "/tonothing": "missing"} {
		if err := os.Symlink(to, dir+link); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	k := &kinds{looks: map[string]int{}}
	m := &memo{of: k}
	for _, name := range []string{"", "/file", "/missing", "/file/below", "/tolink", "/tofile", "/tonothing"} {
		path, most := dir+name, 1
		want, link := k.OS.Readlink(path)
		if link {
			most = 3
		}
		for range 2 {
			if got, ok := m.Readlink(path); got != want || ok != link {
				t.Errorf("%s leads to %q, %t", name, got, ok)
			}
			if m.IsDir(path) != k.OS.IsDir(path) || m.IsFile(path) != k.OS.IsFile(path) {
				t.Errorf("%s: directory %t, file %t", name, m.IsDir(path), m.IsFile(path))
			}
		}
		if k.looks[path] > most {
			t.Errorf("%s was looked at %d times", name, k.looks[path])
		}
	}
}

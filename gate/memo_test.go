package gate

import (
	"fmt"
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

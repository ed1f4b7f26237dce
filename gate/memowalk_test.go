package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// aWalk is a world that walks, and says of which paths it was asked.
type aWalk struct {
	obstat.Snapshot
	asked []string
}

func (w *aWalk) Walk(path string) (straight, dir bool) {
	w.asked = append(w.asked, path)
	return !strings.Contains(path, "link"), strings.HasSuffix(path, "dir")
}

// TestMemoWalks: a path is walked once, and one above a path without links is known by that, but for whether it is a
// directory; one that only begins alike is not.
func TestMemoWalks(t *testing.T) {
	w := new(aWalk)
	m := &memo{of: w}
	for _, tt := range []struct {
		path          string
		straight, dir bool
		asked         bool
	}{
		{"/a/b/c", true, false, true},
		{"/a/b/c", true, false, false},
		{"/a/b", true, false, false},
		{"/a", true, false, false},
		{"/a/bc", true, false, true},
		{"/a/b/c/d", true, false, true},
		{"/a/b/cd/dir", true, true, true},
		{"/a/b/cd/dir", true, true, false},
		{"/x/link/y", false, false, true},
		{"/x/link/y", false, false, false},
		{"/x/link", false, false, true},
		{"/a/", true, false, true},
	} {
		before := len(w.asked)
		straight, dir := m.Walk(tt.path)
		if asked := len(w.asked) > before; straight != tt.straight || dir != tt.dir || asked != tt.asked {
			t.Errorf("%s: straight %t, a directory %t, asked %t", tt.path, straight, dir, asked)
		}
	}
	if !m.IsDir("/a/b/cd/dir") || m.IsDir("/a/b/c") {
		t.Error("what was walked is looked at again")
	}
	for i := range 2 * maxList {
		m.Walk(fmt.Sprint("/many/", i, "/link"))
	}
	if len(m.walked) != maxList {
		t.Errorf("%d walks are kept", len(m.walked))
	}
	if straight, dir := (&memo{of: new(obstat.Snapshot)}).Walk("/a"); straight || dir {
		t.Error("a world that cannot walk does")
	}
	if links, dirs, all := (&memo{of: plain{new(obstat.Snapshot)}}).List("/a"); links != nil || dirs != nil || !all {
		t.Errorf("a world that lists nothing: %q, %q, %t", links, dirs, all)
	}
}

// plain is a world that answers what every one has to.
type plain struct{ obstat.World }

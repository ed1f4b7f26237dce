package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A path of 64 kB, which nobody can open, is not looked for on every level.
func TestNeighboursOfLongPath(t *testing.T) {
	long := []string{strings.Repeat("/a", 32_000)}
	var out []string
	if n := testing.AllocsPerRun(1, func() { out, _ = new(Neighbours).Of(long, nil, "") }); out != nil || n > 1000 { // a look at each is 32,000 and more
		t.Errorf("%d directories, %.0f allocations", len(out), n)
	}
}

// A path that is too long to be opened, and one that starts nowhere, lie in no project.
func TestNeighboursOfNoPath(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "obstat.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for at, want := range map[string][]string{root + "/x": {root}, root + strings.Repeat("/x", maxPath/2): nil, "x/y": nil} {
		if out, all := new(Neighbours).Of([]string{at}, nil, filepath.Dir(root)); !slices.Equal(out, want) || !all {
			t.Errorf("%.40s: %q, %t", at, out, all)
		}
	}
}

// Below a directory that is not there nothing is looked for; projects above one are found,
// the nearest first, and none above the home directory.
func TestNeighboursOfMissing(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/b", "home/u/c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"a", "a/b", "home"} {
		if err := os.WriteFile(filepath.Join(root, dir, "obstat.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touched := []string{root + "/home/u/c", root + "/a/b/x/y"}
	for i := range 50 {
		touched = append(touched, fmt.Sprint(root, "/none", i, strings.Repeat("/x", 50)))
	}
	n := new(Neighbours)
	out, _ := n.Of(touched, nil, filepath.Join(root, "home", "u"))
	if want := []string{filepath.Join(root, "a", "b"), filepath.Join(root, "a")}; !slices.Equal(out, want) {
		t.Errorf("%v, want %v", out, want)
	}
	if len(n.empty) > 20 {
		t.Errorf("%d directories were looked at", len(n.empty))
	}
}

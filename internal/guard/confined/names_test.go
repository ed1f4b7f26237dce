package confined

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mkdirs makes directories below top, each with the files of the names given.
func mkdirs(t *testing.T, top string, dirs, files int) {
	t.Helper()
	for i := range dirs {
		dir := filepath.Join(top, fmt.Sprintf("d%03d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for j := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", j)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBusyDirectory: of a directory that changes all the time, only names that are new are asked about, directories
// among them; one that was refused, and a link, which may lead elsewhere by now, are asked about again.
func TestBusyDirectory(t *testing.T) {
	top := t.TempDir()
	mkdirs(t, top, 40, 0)
	for _, name := range []string{"a", "b", "secret"} {
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	refuse := func(name string, _ bool) bool {
		asked = append(asked, filepath.Base(name))
		return filepath.Base(name) == "secret"
	}
	m := newMemory("", "")
	look := func() []string {
		t.Helper()
		asked = nil
		found, err := m.walk(top, "read", 1, maxTop, refuse, nil)
		if err != nil || len(found) != 1 || filepath.Base(found[0]) != "secret" {
			t.Fatalf("found %v, %v", found, err)
		}
		slices.Sort(asked)
		return asked
	}
	if got := look(); len(got) != 44 {
		t.Fatalf("the first look asked about %d names: %v", len(got), got)
	}
	mkdirs(t, top, 41, 0)
	if got, want := look(), []string{"d040", "link", "secret"}; !slices.Equal(got, want) {
		t.Errorf("the second look asked about %v, want %v", got, want)
	}
	// A file in the place of a directory is another thing.
	if err := os.Remove(filepath.Join(top, "d003")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "d003"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := look(), []string{"d003", "link", "secret"}; !slices.Equal(got, want) {
		t.Errorf("the third look asked about %v, want %v", got, want)
	}
}

// TestNamesBound: a walk asks about no more names than it may, and one that remembers everything needs none.
func TestNamesBound(t *testing.T) {
	top := t.TempDir()
	mkdirs(t, top, 3, 50)
	asked := 0
	refuse := func(string, bool) bool { asked++; return false }
	m := newMemory("", "")
	if _, err := m.walk(top, "read", 64, 20, refuse, nil); !errors.Is(err, errTooMany) || asked > 20 {
		t.Errorf("%v after %d names, of which 20 were free", err, asked)
	}
	if _, err := m.walk(top, "read", 64, 1000, refuse, nil); err != nil {
		t.Fatal(err)
	}
	for id, tree := range m.Trees { // as if they had not changed for a while
		for rel, d := range tree {
			info, err := os.Lstat(top + rel)
			if err != nil {
				t.Fatal(err)
			}
			d.Time = changeTime(info)
			m.Trees[id][rel] = d
		}
	}
	for _, most := range []int{0, -1} {
		asked = 0
		if _, err := m.walk(top, "read", 64, most, refuse, nil); err != nil || asked != 0 {
			t.Errorf("with %d free: %v after %d names, where all are remembered", most, err, asked)
		}
	}
}

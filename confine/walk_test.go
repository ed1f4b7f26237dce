package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func isSecret(name string, _ bool) bool { return strings.HasPrefix(name, ".env") }

// makeFiles makes n files, twenty to a directory.
func makeFiles(t testing.TB, root string, n int) {
	for i := range n / 20 {
		dir := fmt.Sprintf("%s/d%d/e%d", root, i%50, i)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 20 {
			if err := os.WriteFile(fmt.Sprintf("%s/f%d", dir, j), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := time.Now().Add(-time.Hour)
	filepath.WalkDir(root, func(path string, d os.DirEntry, _ error) error {
		if d.IsDir() {
			os.Chtimes(path, old, old)
		}
		return nil
	})
}

func TestWalk(t *testing.T) {
	root := t.TempDir()
	makeFiles(t, root, 400)
	var w Walk
	find := func() []string {
		t.Helper()
		got, err := w.Find(root, isSecret)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := find(); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	added := root + "/d3/e3/.env"
	os.WriteFile(added, nil, 0o644)
	if got := find(); !slices.Equal(got, []string{added}) {
		t.Errorf("found %v", got)
	}
	os.MkdirAll(root+"/d3/e3/new/deep", 0o755)
	os.WriteFile(root+"/d3/e3/new/deep/.env.local", nil, 0o644)
	os.Remove(added)
	file := t.TempDir() + "/walk.json"
	if err := w.Save(file); err != nil {
		t.Fatal(err)
	}
	w = Walk{}
	w.Load(file)
	if got := find(); !slices.Equal(got, []string{root + "/d3/e3/new/deep/.env.local"}) {
		t.Errorf("found %v", got)
	}
	os.WriteFile(file, []byte("{"), 0o644)
	if w.Load(file); w.Dirs != nil {
		t.Error("a broken file is remembered")
	}
	if _, err := w.Find(root+"/none", isSecret); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

// BenchmarkWalk looks through 50,000 files that were looked at before.
func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	makeFiles(b, root, 50_000)
	var w Walk
	for range 2 {
		if _, err := w.Find(root, isSecret); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		w.Find(root, isSecret)
	}
}

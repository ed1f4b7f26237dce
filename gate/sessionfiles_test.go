package gate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSessionFiles: marks are kept on disk, one session's apart from another's, once each, and what cannot be kept is an error.
func TestSessionFiles(t *testing.T) {
	dir := t.TempDir()
	d := SessionDir(filepath.Join(dir, "new"))
	if marks, err := d.Marks("s"); marks != nil || err != nil {
		t.Errorf("of no session: %q, %v", marks, err)
	}
	for _, marks := range [][]string{{"a", "b"}, {"b", "c"}} {
		if err := d.Mark("s", marks); err != nil {
			t.Fatal(err)
		}
	}
	if marks, err := d.Marks("s"); !slices.Equal(marks, []string{"a", "b", "c"}) || err != nil {
		t.Errorf("%q, %v", marks, err)
	}
	if marks, _ := d.Marks("other"); marks != nil {
		t.Errorf("of another session: %q", marks)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SessionDir(file).Mark("s", []string{"a"}); err == nil {
		t.Error("kept where there is a file")
	}
	if _, err := SessionDir(file).Marks("s"); err == nil {
		t.Error("read where there is a file")
	}
	if err := os.Mkdir(d.file("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Mark("dir", []string{"a"}); err == nil {
		t.Error("kept in a directory")
	}
	if _, err := d.Marks("dir"); err == nil {
		t.Error("read from a directory")
	}
}

package killed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/keep/killed"
)

// TestAt: a shell that makes three directories is killed before the second.
func TestAt(t *testing.T) {
	if err := killed.Possible(); err != nil {
		t.Skipf("a process cannot be traced here: %v", err)
	}
	for n, want := range map[int][]bool{0: {true, true, true}, 1: {false, false, false}, 2: {true, false, false}, 4: {true, true, true}} {
		dir := t.TempDir()
		seen, ended, err := killed.At(n, exec.Command("mkdir", dir+"/a", dir+"/b", dir+"/c"))
		if err != nil || ended != want[2] || n == 0 && seen != 3 {
			t.Errorf("at %d: saw %d, ended %v, %v", n, seen, ended, err)
		}
		for i, name := range []string{"a", "b", "c"} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want[i] {
				t.Errorf("at %d: %s is there: %v", n, name, err == nil)
			}
		}
	}
}

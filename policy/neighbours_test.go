package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNeighboursAgain: a directory without a configuration is none the second time, and one that comes is found.
func TestNeighboursAgain(t *testing.T) {
	top := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(top, "a", "b"), 0o700))
	n := new(Neighbours)
	touched := []string{filepath.Join(top, "a", "b", "x")}
	if out, all := n.Of(nil, nil, ""); out != nil || !all {
		t.Errorf("of nothing: %q, %t", out, all)
	}
	for range 3 {
		if out, all := n.Of(touched, nil, top); out != nil || !all {
			t.Errorf("%q, %t", out, all)
		}
	}
	putFile(t, filepath.Join(top, "a", "opencode.json"), "{}")
	for range 2 {
		if out, all := n.Of(touched, nil, top); !slices.Equal(out, []string{filepath.Join(top, "a")}) || !all {
			t.Errorf("with a configuration: %q, %t", out, all)
		}
	}
	for i := range maxNeighbours + 1 {
		dir := filepath.Join(top, fmt.Sprint("p", i))
		ok(t, os.Mkdir(dir, 0o700))
		putFile(t, filepath.Join(dir, "opencode.json"), "{}")
		touched = append(touched, filepath.Join(dir, "x"))
	}
	for many, want := range map[int]bool{maxNeighbours: true, maxNeighbours + 1: false} {
		if out, all := n.Of(touched[1:1+many], nil, top); len(out) != min(many, maxNeighbours) || all != want {
			t.Errorf("of %d: %d, all of them: %t", many, len(out), all)
		}
	}
}

// TestPatternLeadsToSystem: a pattern in the directories of the system leads to no project.
func TestPatternLeadsToSystem(t *testing.T) {
	for pattern, want := range map[string]bool{"/usr/bin/*/x": true, "/proc/*": true, "/home/none/*/x": false} {
		dirs, all := Dirs(pattern)
		if system := dirs == nil && all; system != want || !all {
			t.Errorf("%s: %q, all of them: %t", pattern, dirs, all)
		}
	}
}

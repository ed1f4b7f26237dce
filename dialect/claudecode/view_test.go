package claudecode

import (
	"testing"

	"github.com/obstat/obstat"
)

// linkCounter is a world without links that counts how often it is asked about a path.
type linkCounter struct {
	obstat.World
	asked map[string]int
}

func (w *linkCounter) Home(string) (string, bool) { return "/home/u", true }

func (w *linkCounter) Readlink(p string) (string, bool) {
	w.asked[p]++
	return "", false
}

// TestDirectoriesLookedUpOnce: the project, which is root and workspace as well, is followed once for
// a call, and the home directory only where a path is given from there.
func TestDirectoriesLookedUpOnce(t *testing.T) {
	w := &linkCounter{asked: map[string]int{}}
	f := &obstat.Facts{Call: &obstat.Call{Tool: "Read", Dir: "/w/p", Roots: []string{"/w/p"}}, World: w}
	v := &view{}
	if !v.holds(f, "/w/p/a") || v.holds(f, "/w/q") || w.asked["/home/u"] != 0 {
		t.Errorf("working directories: asked %v", w.asked)
	}
	for range 2 {
		if q := v.place(f, "Read", "/w/p/a"); len(q.Subjects) != 5 {
			t.Errorf("subjects %v", q.Subjects)
		}
	}
	if w.asked["/w/p"] != 1 || w.asked["/home/u/.claude"] != 1 {
		t.Errorf("asked %v", w.asked)
	}
	scratchOf(f).Reset()
	if f.Call.Dir, f.Call.Roots = "/x", nil; v.holds(f, "/w/p/a") || !v.holds(f, "/x/a") {
		t.Error("the next call has the directories of the one before")
	}
}

// TestProtected: a file counts by its own name, a directory wherever it stands in the path.
func TestProtected(t *testing.T) {
	for p, want := range map[string]string{"/w/a": "", "/w/a.ts": "", "/w/.git/config": ".git", "/w/.GIT": ".git", "/w/.config/git/x": ".config/git", "/w/.config/x": "",
		"/w/.claude/worktrees/a/b.ts": "", "/w/.claude/settings.json": ".claude", "/w/Bunfig.toml": "bunfig.toml", "/w/.bashrc": ".bashrc", "/w/x.git/y": "", "/w/.x/lefthook.yml": "lefthook.yml"} {
		if got := protected(p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

package policy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/policy"
)

// TestCarried: a worktree of the same repository and a directory that was renamed need no second
// acceptance, as long as their files are those that were accepted; a clone and a copy do, and it is said.
func TestCarried(t *testing.T) {
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(make *)"]}}`, "work/p/sub/x": ""})
	git("init", "-q", w.dir)
	git("-C", w.dir, "add", ".")
	git("-C", w.dir, "commit", "-qm", "x")
	at := w.where("claude-code")
	w.check(at, "make x", obstat.Ask, "obstat trust")
	w.trust(at)
	w.check(at, "make x", obstat.Allow)

	there := func(dir string) *policy.Where {
		out := w.where("claude-code")
		out.Dir = filepath.Join(w.top, "work", dir)
		return out
	}
	git("-C", w.dir, "worktree", "add", "-q", "../tree")
	git("-C", w.dir, "worktree", "add", "-q", "../other")
	git("clone", "-q", w.dir, filepath.Join(w.top, "work", "clone"))
	w.check(there("tree"), "make x", obstat.Allow)
	w.check(there("tree/sub"), "make x", obstat.Allow)
	w.check(there("clone"), "make x", obstat.Ask, "obstat trust")
	every := there("clone")
	every.Every = true
	if found := w.find(every); len(found.New) != 1 || found.New[0].Twin != w.dir {
		t.Errorf("clone: %+v", found.New)
	}

	// What a worktree changes is not what was accepted.
	w.write("work/tree/.claude/settings.json", `{"permissions":{"allow":["Bash(make *)","Bash(curl *)"]}}`)
	w.check(there("tree"), "curl x", obstat.Ask, "obstat trust")
	w.check(there("tree"), "make x", obstat.Ask, "obstat trust")

	// A directory that only says that it is a worktree is none.
	w.write("work/fake/.claude/settings.json", `{"permissions":{"allow":["Bash(make *)"]}}`)
	w.write("work/fake/.git", "gitdir: "+filepath.Join(w.dir, ".git", "worktrees", "other")+"\n")
	w.check(there("fake"), "make x", obstat.Ask, "obstat trust")

	// Renamed: the same directory; what stands in its place is another.
	renamed := filepath.Join(w.top, "work", "renamed")
	if err := os.Rename(w.dir, renamed); err != nil {
		t.Fatal(err)
	}
	w.check(there("renamed"), "make x", obstat.Allow)
	w.check(there("renamed/sub"), "make x", obstat.Allow)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.check(there("renamed"), "make x", obstat.Ask, "obstat trust")
	if err := os.Remove(w.dir); err != nil {
		t.Fatal(err)
	}
	w.write("work/renamed/.claude/settings.json", strings.Replace(`{"permissions":{"allow":["Bash(make *)"]}}`, "make", "npm", 1))
	w.check(there("renamed"), "npm x", obstat.Ask, "obstat trust")
}

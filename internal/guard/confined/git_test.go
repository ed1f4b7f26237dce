package confined

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
)

func TestRunByGit(t *testing.T) {
	isDir := func(name string) bool { return name == "/p/.git" }
	for name, want := range map[string]bool{
		"/p/a.txt": false, "/p/.git": false, "/p/.gitignore": false, "/p/x.git/config": false,
		"/p/.git/index": false, "/p/.git/objects/aa/bb": false, "/p/.git/refs/heads/config": false, "/p/.git/MERGE_HEAD": false,
		"/p/.git/hooks/pre-commit": true, "/p/.git/config": true, "/p/.git/config.worktree": true, "/p/.git/info/attributes": true,
		"/p/.git/commondir": true, "/p/.git/new": true, "/p/.git/objects/info/alternates": true,
		"/p/.git/modules/s/config": true, "/p/.git/modules/a/b/hooks/x": true, "/p/.git/modules/s/index": false,
		"/p/.git/worktrees/w/commondir": true, "/p/.git/rebase-merge/git-rebase-todo": true,
		"/p/sub/.git": true, "/p/sub/.git/HEAD": true,
	} {
		if got := runByGit(name, isDir); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestJudgeBesideCode: a path that a command of the line is known to make does not let code beside it make others.
func TestJudgeBesideCode(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		known, path string
		whole       bool
		want        confine.Verdict
	}{
		{"sub", "sub", false, confine.Commit},
		{"sub", "sub/.env.prod", false, confine.Drop},
		{"sub", "sub/.env.prod", true, confine.Commit},
		{"sub", "sub/.git/config", false, confine.Drop},
		{"sub", "sub/guarded", false, confine.Drop},
		{".git", ".git/index", false, confine.Commit},
		{".git", ".git/commondir", false, confine.Drop},
		{".git", ".git/config", true, confine.Commit},
		{"", "src/x", false, confine.Commit},
		{"", ".env", false, confine.Drop},
	} {
		r := &Run{Bounds: &Bounds{Whole: tt.whole}}
		r.Bounds.Profile.Workspace.Root = root
		if tt.known != "" {
			r.Bounds.Known = []string{filepath.Join(root, tt.known)}
		}
		r.Ask = func(_, name string) obstat.Decision {
			if base := filepath.Base(name); len(base) >= 4 && base[:4] == ".env" {
				return obstat.Decision{Verdict: obstat.Deny}
			}
			return obstat.Decision{Verdict: obstat.Allow}
		}
		r.Guards = func(name string) string {
			if filepath.Base(name) == "guarded" {
				return "a guard"
			}
			return ""
		}
		c := confine.Change{Path: filepath.Join(root, tt.path), Kind: confine.Created}
		if got := r.judge(c, map[string]string{}); got != tt.want {
			t.Errorf("%s beside %q, whole %t: %v", tt.path, tt.known, tt.whole, got)
		}
	}
}

func TestReadSmall(t *testing.T) {
	dir := t.TempDir()
	link, large := filepath.Join(dir, "link"), filepath.Join(dir, "large")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, large, dir} {
		if _, err := readSmall(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

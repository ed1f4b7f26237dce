package gate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
)

func (y *yard) bounds(t *testing.T, dir, command string) *confined.Bounds {
	t.Helper()
	call := y.bash("Bash", "command", command)
	call.Dir, call.Roots = dir, []string{dir}
	_, b, err := y.gate(t, "claude-code", &gate.Confining{}).Bounds(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMountedWorkspace: where something is mounted in the workspace, no layer can be laid over it; it is written
// through, and told.
func TestMountedWorkspace(t *testing.T) {
	y := newYard(t)
	place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: code\nallow: [read workspace, write workspace, delete workspace]\n")
	at := filepath.Join(y.dir, "mnt")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "none", at).CombinedOutput(); err != nil {
		t.Skipf("only root can mount here: %v %s", err, out)
	}
	defer exec.Command("umount", "-l", at).Run()
	b := y.bounds(t, y.dir, "make")
	if b.Profile.Workspace.Mode != confine.Through || !strings.Contains(b.Profile.String(), at+" is mounted in it") {
		t.Errorf("%s", b.Profile)
	}
}

// TestRepositoryAround: a workspace inside a repository sees all of it, and may write what the policy says; a worktree
// gets the repository that it belongs to in a layer.
func TestRepositoryAround(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git on this machine")
	}
	y := newYard(t)
	t.Setenv("PATH", filepath.Dir(git))
	place(t, filepath.Join(y.home, ".config", "obstat", "obstat.yaml"), `version: 1
confine: code
allow: [read anything, "write workspace except .git/**"]
ask: [write outside workspace]
`)
	if err := os.RemoveAll(filepath.Join(y.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("sh", "-c", `git init -q . && git add src Makefile && git -c user.name=a -c user.email=a@b commit -qm one && git worktree add -q ../linked`)
	script.Dir = y.dir
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	b := y.bounds(t, filepath.Join(y.dir, "src"), "make && git commit -am x")
	w := b.Profile.Workspace
	if w.Root != y.dir || b.Work != filepath.Join(y.dir, "src") || b.Git != filepath.Join(y.dir, ".git") {
		t.Errorf("%+v, work %s, git %s", w, b.Work, b.Git)
	}
	for name, want := range map[string]bool{".git": false, ".git/hooks": true, "src": false, "src/main.go": false} {
		if got := slices.Contains(b.Profile.ReadOnly, filepath.Join(y.dir, name)); got != want {
			t.Errorf("%s is read-only: %t", name, got)
		}
	}
	if b = y.bounds(t, filepath.Join(y.dir, "src"), "make"); !slices.Contains(b.Profile.ReadOnly, filepath.Join(y.dir, ".git")) {
		t.Errorf("code beside no git may write .git: read-only are %v", b.Profile.ReadOnly)
	}
	b = y.bounds(t, filepath.Join(y.home, "linked"), "make && git commit -am x")
	if !slices.Contains(b.Profile.Workspace.More, filepath.Join(y.dir, ".git")) || !slices.Contains(b.Profile.ReadOnly, filepath.Join(y.dir, ".git/hooks")) {
		t.Errorf("a worktree: %+v, read-only %v", b.Profile.Workspace, b.Profile.ReadOnly)
	}
}

// TestNamesThatAreNoText: a hidden name has to reach the run as it is. One that is not UTF-8 would become another name
// in the ticket, so that the call asks, also where the names were remembered.
func TestNamesThatAreNoText(t *testing.T) {
	y := newYard(t)
	place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: code\nallow: [read anything except secrets]\nask: [read secrets]\n")
	place(t, filepath.Join(y.dir, "caf\xe9", ".env"), "K=v\n")
	for range 2 {
		call := y.bash("Bash", "command", "make")
		if _, b, err := y.gate(t, "claude-code", &gate.Confining{}).Bounds(t.Context(), call); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%v, hidden are %q", err, b.Profile.Hidden)
		}
	}
}

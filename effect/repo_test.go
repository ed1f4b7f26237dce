package effect

import "testing"

// dirsOf is a file system of some directories.
type dirsOf map[string]bool

func (d dirsOf) Home(string) (string, bool)     { return "/home/u", true }
func (d dirsOf) Readlink(string) (string, bool) { return "", false }
func (d dirsOf) IsDir(p string) bool            { return d[p] }

// A repository inside the project that is not the project's own makes git run programs that
// nobody in the project chose.
func TestStrangeRepositories(t *testing.T) {
	fs := dirsOf{"/p/.git": true, "/p/.git/objects": true, "/p/.git/refs": true, "/p/src": true, "/p/evil": true, "/p/evil/objects": true, "/p/evil/refs": true,
		"/p/nested": true, "/p/nested/.git": true, "/p/nested/a": true}
	for _, tc := range []struct {
		dir, command string
		readOnly     bool
	}{
		{"/p", "git status", true},
		{"/p", "cd src && git status", true},
		{"/p", "git -C src log", true},
		{"/p/src", "git status", true},
		{"/p", "git -C .git log", true},
		{"/p", "cd evil && git status", false},
		{"/p", "git -C evil status", false},
		{"/p", "git --git-dir=evil status", false},
		{"/p", "git --git-dir evil log", false},
		{"/p", "git -C nested diff", false},
		{"/p", "(cd nested/a; git diff)", false},
		{"/p", "git --git-dir=nested/.git log", false},
		{"/p", "GIT_DIR=evil git status", false},
		{"/p", "pushd nested; git status", false},
		{"/p/nested/a", "git status", false},
		{"/p/evil", "git log", false},
		{"/p", "ls nested evil", true},
	} {
		an := AnalyzeCommand(tc.command, &Options{Dir: tc.dir, Roots: []string{"/p"}, FS: fs})
		if an.ReadOnly != tc.readOnly {
			t.Errorf("%s: %s: read-only %v: %s", tc.dir, tc.command, an.ReadOnly, an.Why)
		}
	}
}

package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ok ends a test that cannot be set up.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestStarts: from where policies are looked for: the agent's own project first, each place once, and those that only
// tighten last.
func TestStarts(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    Where
		want string
		own  int
	}{
		{"a directory", Where{Dir: "/d"}, "/d", 1},
		{"nothing", Where{}, "", 1},
		{"where the face runs", Where{Start: "/s"}, " /s", 2}, // no project comes first
		{"both", Where{Dir: "/d", Start: "/s"}, "/d /s", 2},
		{"the same", Where{Dir: "/d", Start: "/d"}, "/d", 1},
		{"the workspace", Where{Dir: "/d", Start: "/s", Roots: []string{"/r", "/q"}}, "/r /q /d /s", 4},
		{"the workspace, and in it", Where{Dir: "/r", Roots: []string{"/r", "/q"}}, "/r /q", 2},
		{"chosen by the model", Where{Dir: "/d", Start: "/s", Chosen: true}, "/s /d", 2},
		{"chosen, in a workspace", Where{Dir: "/d", Start: "/s", Roots: []string{"/r"}, Chosen: true}, "/r /d /s", 3},
		{"also others", Where{Dir: "/d", Also: []string{"/a", "/d", "", "/b"}}, "/d /a /b", 1},
	} {
		out, own := (&search{w: tt.w}).starts()
		if got := strings.Join(out, " "); got != tt.want || own != tt.own {
			t.Errorf("%s: %q, %d of them its own", tt.name, got, own)
		}
	}
}

// TestInProject: a file lies in a project by its name or by where its links lead.
func TestInProject(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"p/sub", "site", "else"} {
		ok(t, os.MkdirAll(filepath.Join(top, dir), 0o700))
	}
	ok(t, os.Symlink("p/sub", filepath.Join(top, "in")))
	ok(t, os.Symlink("../else", filepath.Join(top, "p", "out")))
	at := func(name string) string { return filepath.Join(top, name) }
	s := &search{out: &InForce{sites: []*site{{dir: at("site"), key: at("site")}}}}
	for name, want := range map[string]bool{"p/x": true, "p": true, "p/sub/x": true, "in/x": true, "p/out/x": true, "site/x": true, "else/x": false, "px": false, "none/x": false} {
		if got := s.inProject(at("p"), at(name)); got != want {
			t.Errorf("%s in the project p: %t", name, got)
		}
	}
	if s.inProject("", at("p/x")) || !s.inProject("", at("site/x")) {
		t.Error("without a project of its own")
	}
}

// TestAbsent: which errors say that there is no such file.
func TestAbsent(t *testing.T) {
	for err, want := range map[error]bool{fs.ErrNotExist: true, syscall.ENOTDIR: true, os.ErrInvalid: true, fs.ErrPermission: false, syscall.EISDIR: false,
		&fs.PathError{Op: "open", Err: syscall.ENOENT}: true, nil: false} {
		if absent(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}

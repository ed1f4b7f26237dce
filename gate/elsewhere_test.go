package gate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
)

// TestOtherProjects: a call that works in another project is held to that one's rules, however it gets there; looking
// beside it, and files of no project, are not about them.
func TestOtherProjects(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "own")
	place(t, filepath.Join(dir, "opencode.json"), `{"permission": {"*": "allow", "external_directory": "allow", "bash": {"*": "allow"}}}`)
	place(t, filepath.Join(dir, "sub", "a"), "")
	strict := `{"permission": {"*": "allow", "external_directory": "allow", "bash": {"*": "allow", "cat *": "deny", "rm *": "deny", "touch *": "deny", "ls *": "deny"}}}`
	place(t, filepath.Join(top, "other", "opencode.json"), strict)
	place(t, filepath.Join(top, "other", "src", "x"), "")
	place(t, filepath.Join(top, "none", "x"), "")
	for name, to := range map[string]string{"link": "../other/src/x", "dirlink": "../other/src", "inlink": "sub/a"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := layered(t, &gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true})
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]obstat.Verdict{
		"cat sub/a":             obstat.Allow,
		"cat inlink":            obstat.Allow,
		"cat ../none/x":         obstat.Allow,
		"cat ../other/src/x":    obstat.Deny,
		"cat ../other/src/none": obstat.Deny,
		"ls ../other":           obstat.Deny,
		"ls ../other/src":       obstat.Deny,
		"cat link":              obstat.Deny,
		"cat dirlink/x":         obstat.Deny,
		"touch dirlink/new":     obstat.Deny,
		"cat ../oth*/src/x":     obstat.Deny,
		"cat ../no*/x":          obstat.Allow,
		"rm -r ../other/src":    obstat.Deny,
		"rm -r ../other":        obstat.Deny,
		"echo ../other/src/x":   obstat.Allow,
	} {
		d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: []byte(`{"command":"` + cmd + `"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
		if err != nil || d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s, %v", cmd, d.Verdict, want, d.Reason(), err)
		}
		if there := strings.Contains(d.Reason(), filepath.Join(top, "other")); there != (want == obstat.Deny) {
			t.Errorf("%s: the reason names the other project: %t: %s", cmd, there, d.Reason())
		}
	}
}

package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
)

// TestLinksOfPatterns: what a shell pattern leads to by way of links is judged through the gate
// as it is by the engine, on the files of the machine.
func TestLinksOfPatterns(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	place(t, filepath.Join(dir, "sub", "a.go"), "")
	place(t, filepath.Join(dir, "conf", "prod"), "")
	place(t, filepath.Join(home, ".claude", "settings.json"), `{"permissions": {"allow": ["Bash"], "deny": ["Read(`+"/"+dir+`/conf/prod)"]}}`)
	for link, to := range map[string]string{"one": "conf/prod", "sub/up": "..", "sub/in": "../conf"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := layered(t, &gate.Files{Dir: dir, Home: home, Dialect: "claudecode"})
	if err != nil {
		t.Fatal(err)
	}
	for cmd, allowed := range map[string]bool{
		"cat on?": false, "cat s*/in/prod": false, "cat s*/up/conf/prod": false, "cat */i?/prod": false, "cat s*/up/s*/in/p*": false, "cat **/prod": false, "cat **/on?": false,
		"cat s*/*.go": true, "cat */*.go": true, "cat s*/up/sub/a.go": true, "cat on?/x": true,
	} {
		d, err := g.Authorize(t.Context(), &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + cmd + `"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
		if err != nil || (d.Verdict == obstat.Allow) != allowed {
			t.Errorf("%s: %v %s, %v", cmd, d.Verdict, d.Reason(), err)
		}
	}
}

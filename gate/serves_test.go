package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
)

// TestServerDirectory: a call's workspace is where it is made, never where the server runs.
func TestServerDirectory(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(at, "app")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	own := filepath.Join(home, ".config", "obstat")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	// The built-in policy lets write to the temporary directory, where this test is.
	if err := os.WriteFile(filepath.Join(own, "obstat.yaml"), []byte("version: 1\nallow: [write workspace]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := Open(t.Context(), Options{Policy: &Files{Dir: at, Serves: true, Home: home}, World: obstat.OS{}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	verdict := func(tool, input, dir string) obstat.Verdict {
		a, _ := g.Authorize(t.Context(), &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: dir}, &Terms{Ask: Try})
		return a.Verdict
	}
	outside := filepath.Join(at, "passwd")
	for _, tt := range []struct {
		tool, input, dir string
		want             obstat.Verdict
	}{
		{"write_file", `{"path":"` + filepath.Join(dir, "a.txt") + `"}`, dir, obstat.Allow},
		{"write_file", `{"path":"` + outside + `"}`, dir, obstat.Ask},
		{"run_shell", `{"command":"echo x > ` + outside + `"}`, dir, obstat.Ask},
		{"run_shell", `{"command":"echo x > ../passwd"}`, dir, obstat.Ask},
		{"write_file", `{"path":"` + outside + `"}`, "", obstat.Ask}, // where it is made is not known
	} {
		if got := verdict(tt.tool, tt.input, tt.dir); got != tt.want {
			t.Errorf("%s %s in %q: %v, want %v", tt.tool, tt.input, tt.dir, got, tt.want)
		}
	}
	// A policy of the server's own directory decides for all.
	if err := os.WriteFile(filepath.Join(at, "obstat.yaml"), []byte("version: 1\ndeny: [write anything]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := verdict("write_file", `{"path":"`+filepath.Join(dir, "a.txt")+`"}`, dir); got != obstat.Deny {
		t.Errorf("with a policy that denies writing: %v", got)
	}
}

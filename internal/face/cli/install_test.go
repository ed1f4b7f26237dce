package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/person/persontest"
)

// TestInstallAsks: at a terminal only a yes lets the change be made.
func TestInstallAsks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for answer, written := range map[string]bool{"y\n": true, " YES \n": true, "n\n": false, "\n": false, "": false, "yesno\n": false} {
		home := t.TempDir()
		var out bytes.Buffer
		f := newFactory(&IO{In: strings.NewReader(answer), Out: &out, Err: &out, InTTY: true, Person: persontest.Typist})
		f.World = &obstat.Snapshot{HomeDir: home}
		err := (&installOptions{Factory: f, Command: "/opt/obstat", Getenv: func(string) string { return "" }}).run(t.Context(), []string{"claude-code"})
		_, missing := os.Stat(filepath.Join(home, ".claude", "settings.json"))
		if (err == nil) != written || (missing == nil) != written {
			t.Errorf("%q: %v, %v", answer, err, missing)
		}
		if i, j := strings.Index(out.String(), "+ "), strings.Index(out.String(), "Write this?"); i < 0 || j < i {
			t.Errorf("the change is not shown before the question:\n%s", &out)
		}
	}
}

// TestUndoRecords: a record is for its owner's eyes, and one that is broken is
// none.
func TestUndoRecords(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	home := t.TempDir()
	name := filepath.Join(home, ".claude", "settings.json")
	const old = `{"env": {"KEY": "secret"}, "hooks": {}}`
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(old), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil { // whatever the umask
		t.Fatal(err)
	}
	run := func(remove bool) {
		t.Helper()
		f := newFactory(&IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Person: persontest.Typist})
		f.World = &obstat.Snapshot{HomeDir: home}
		o := &installOptions{Factory: f, Command: "/opt/obstat", Yes: true, Remove: remove, Getenv: func(string) string { return "" }}
		if err := o.run(t.Context(), []string{"claude-code"}); err != nil {
			t.Fatal(err)
		}
	}
	records := func() []string {
		names, err := filepath.Glob(filepath.Join(state, "obstat", "install", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	run(false)
	if len(records()) != 1 {
		t.Fatal(records())
	}
	if info, err := os.Stat(records()[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	run(true)
	now, err := os.ReadFile(name)
	info, _ := os.Stat(name)
	if err != nil || string(now) != old || info.Mode().Perm() != 0o640 || len(records()) != 0 {
		t.Errorf("%s, %v, %v, %v", now, err, info.Mode(), records())
	}
	run(false)
	if err := os.WriteFile(records()[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(true)
	if now, err := os.ReadFile(name); err != nil || strings.Contains(string(now), "obstat") || !strings.Contains(string(now), "secret") {
		t.Errorf("%s, %v", now, err)
	}
}

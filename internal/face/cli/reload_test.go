package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/face/tell"
)

// TestReload: at SIGHUP the roster and the receivers of notifications are read again, both or neither.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	o := &serveOptions{Roster: filepath.Join(dir, "roster.json"), Notify: filepath.Join(dir, "notify.json")}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var used *tell.Config
	reload := func() error { return o.reload(func(c *tell.Config) { used = c }) }
	write(o.Roster, `{"roster": [{"tool": "Bash", "who": {"roles": ["dev"]}}]}`)
	write(o.Notify, `{"url":"https://gate.example/","to":[{"name":"chat","form":"slack","url":"https://chat.example/x"}]}`)
	if err := reload(); err != nil || used == nil || len(used.To) != 1 || o.roster.Load() == nil {
		t.Fatalf("%v, %+v", err, used)
	}
	before, roster := used, o.roster.Load()
	write(o.Notify, `{"to":`)
	if err := reload(); err == nil || used != before || o.roster.Load() != roster {
		t.Errorf("a broken file of receivers: %v", err)
	}
	write(o.Notify, `{"url":"https://gate.example/","to":[{"name":"chat","form":"slack","url":"https://chat.example/y"}]}`)
	write(o.Roster, `{"roster":`)
	if err := reload(); err == nil || used != before || o.roster.Load() != roster {
		t.Errorf("a broken roster: %v", err)
	}
}

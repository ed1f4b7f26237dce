//go:build unix

package native_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/obstat/obstat"
)

// A hard link that was there before the call, as an archive may bring one, is judged by all names of its file: by a
// decision and by its replay.
func TestHardLinks(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	proj := filepath.Join(home, "p")
	for _, dir := range []string{".git", "node_modules/a", "deep/er", "prod"} {
		if err := os.MkdirAll(filepath.Join(proj, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{".env": "notes", "prod/db.yaml": "deep/er/x", "node_modules/a/i.js": "node_modules/a/j.js",
		"../.netrc": "deep/net", "plain": "deep/plain2"} {
		if err := os.WriteFile(filepath.Join(proj, from), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(proj, from), filepath.Join(proj, to)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := loadText(t, `version: 1
allow:
  - read and write anything
  - run anything
deny:
  - read secrets
  - read and write prod/db.yaml
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		want    obstat.Verdict
	}{
		{"cat notes", obstat.Deny}, {"cat ./deep/../notes", obstat.Deny}, {"wc -l < notes", obstat.Deny}, {"sh -c 'cat notes'", obstat.Deny},
		{"cat deep/er/x", obstat.Deny}, {"cd deep/er && head x", obstat.Deny}, {"echo a > deep/er/x", obstat.Deny},
		{"sed -n 1p deep/er/x", obstat.Deny}, {"cat deep/net", obstat.Deny},
		{"cat deep/plain2", obstat.Allow}, {"cat node_modules/a/i.js", obstat.Allow}, {"ls -l notes", obstat.Allow}, {"rm deep/er/x", obstat.Allow},
	} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command": ` + strconv.Quote(c.command) + `}`), Dir: proj, Roots: []string{proj}}
		seen := &obstat.Recorder{Of: obstat.OS{}}
		if d := l.Policy.Decide(call, seen); d.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %s", c.command, d.Verdict, c.want, d.Reason())
		}
		if d := l.Policy.Decide(call, seen.Seen()); d.Verdict != c.want {
			t.Errorf("%s, again: %s, want %s: %s", c.command, d.Verdict, c.want, d.Reason())
		}
	}
	read := &obstat.Call{Tool: "Read", Input: []byte(`{"file_path": ` + strconv.Quote(filepath.Join(proj, "notes")) + `}`), Dir: proj, Roots: []string{proj}}
	if d := l.Policy.Decide(read, obstat.OS{}); d.Verdict != obstat.Deny {
		t.Errorf("Read notes: %s: %s", d.Verdict, d.Reason())
	}
}

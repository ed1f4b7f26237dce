package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestSecretsIn: directories and patterns are judged by the secrets that lie there, by a decision and by its replay.
func TestSecretsIn(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"deploy/prod.pem", "deploy/Dockerfile", "svc/deep/id_rsa", "svc/main.go", "src/a.go", "clean/sub/a.go"} {
		p := filepath.Join(dir, "home", "proj", f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	proj := filepath.Join(dir, "home", "proj")
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: filepath.Join(dir, "home"), Files: []dialect.File{{Name: native.File,
		Data: []byte("version: 1\nallow:\n  - read and write anything\n  - run anything\ndeny:\n  - read secrets\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, command string
		want        obstat.Verdict
	}{
		{"", "cat deploy/*", obstat.Deny},
		{"", "cat d*/*", obstat.Deny},
		{"", "head -5 deploy/*.pem", obstat.Deny},
		{"", "cat deploy/D*", obstat.Allow},
		{"", "cat deploy/*file", obstat.Allow},
		{"", "grep -r . svc", obstat.Ask},
		{"", "tar cf z.tar svc", obstat.Ask},
		{"", "cp -r svc svc2", obstat.Ask},
		{"", "find deploy -type f | xargs cat", obstat.Ask},
		{"", "grep -rn x src", obstat.Allow},
		{"", "grep -rn x .", obstat.Ask},
		{"", "ls -R svc", obstat.Allow},
		{"", "mv svc svc2", obstat.Allow},
		{"clean", "grep -rn x .", obstat.Allow}, // it asked, since a secret might lie at the top
		{"clean", "tar cf /tmp/z.tar .", obstat.Allow},
	} {
		top := filepath.Join(proj, c.in)
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command": "` + c.command + `"}`), Dir: top, Roots: []string{top}}
		seen := &obstat.Recorder{Of: obstat.OS{}}
		if d := l.Policy.Decide(call, seen); d.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %s", c.command, d.Verdict, c.want, d.Reason())
		}
		if d := l.Policy.Decide(call, seen.Seen()); d.Verdict != c.want {
			t.Errorf("%s, again: %s, want %s: %s", c.command, d.Verdict, c.want, d.Reason())
		}
	}
}

// TestTempTree: an exception for a place holds for a directory that is written with all that is in it.
func TestTempTree(t *testing.T) {
	text := "version: 1\nallow:\n  - read and write anything\n  - run anything\nask:\n  - write outside workspace except temp\n"
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: "/home/u", Files: []dialect.File{{Name: native.File, Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"cp -r src /tmp/x": obstat.Allow, "rsync -a src /tmp/x": obstat.Allow,
		"cp -r src /opt/x": obstat.Ask, "cp -r src /tmp/../opt": obstat.Ask, "cp -r src /tm?/x": obstat.Ask} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command": "` + command + `"}`), Dir: "/home/u/p", Roots: []string{"/home/u/p"}}
		if d := l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
		}
	}
}

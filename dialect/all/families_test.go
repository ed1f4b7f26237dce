package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// familyWorld has what the commands of families.txt are about.
var familyWorld = &obstat.Snapshot{HomeDir: home, Dirs: []string{"/", "/tmp", "/home", home, home + "/.ssh", dir, dir + "/.git", dir + "/.git/hooks", dir + "/src", dir + "/hooks", dir + "/dist"},
	Files: []string{dir + "/.env"}, Links: map[string]string{dir + "/envlink": ".env", dir + "/selflink": ".", dir + "/sshlink": home + "/.ssh", dir + "/up": "../proj"}}

// Commands by what they do: each line of families.txt begins with the kind. `env`, `rm`, `curl` read the file .env or run what is
// denied, `git` writes into .git, `ssh` reads a key, `ro` does more than read; `ok` does nothing of this, and `okro` only reads.
// A return sign is the end of a line.
func TestFamilies(t *testing.T) {
	denies := map[string]string{"env": "**/.env", "rm": "**/.env", "curl": "**/.env", "git": "**/.git/**", "ssh": "**/.ssh/**", "ok": "**/.env", "okro": "**/.env"}
	for _, name := range pathDialects {
		policies := map[string]*obstat.Policy{}
		for kind, rule := range denies {
			if kind == "ssh" && (name == "claudecode" || name == "opencode") {
				rule = "~/.ssh/**" // of which theirs for the project say nothing
			}
			policies[kind] = load(t, name, rule)
		}
		for _, line := range lines(t, "families.txt") {
			kind, c, _ := strings.Cut(line, "\t")
			c = strings.ReplaceAll(c, "⏎", "\n")
			if kind == "ro" {
				continue
			}
			d := decide(policies[kind], c, familyWorld)
			fine := strings.HasPrefix(kind, "ok")
			if !fine && d.Verdict == obstat.Allow || fine && d.Verdict != obstat.Allow && !strings.Contains(d.Reason(), "statically analyzed") {
				t.Errorf("%s: %s: %v: %s", name, line, d.Verdict, d.Reason())
			}
		}
	}
}

// What does more than read is not read-only by its effects, nor to Claude Code's default mode; what only reads is.
func TestFamiliesReadOnly(t *testing.T) {
	d, err := all.Find("claudecode")
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "settings.json", Data: []byte(`{"permissions":{}}`)}}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines(t, "families.txt") {
		kind, c, _ := strings.Cut(line, "\t")
		if c = strings.ReplaceAll(c, "⏎", "\n"); kind != "ro" && kind != "okro" {
			continue
		}
		call := &obstat.Call{Tool: "Bash", Input: jsonCommand(c), Dir: dir, Roots: []string{dir}}
		reads := (&obstat.Recorder{Of: familyWorld}).Analysis(call).ReadOnly
		if reads != (kind == "okro") {
			t.Errorf("%s: read-only is %v", line, reads)
		}
		if got := l.Policy.Decide(call, familyWorld); kind == "ro" && got.Verdict == obstat.Allow {
			t.Errorf("%s: allowed: %s", line, got.Reason())
		}
	}
}

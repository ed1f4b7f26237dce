package policy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestConfine: the word counts beside any dialect and decides nothing by itself; a file that was not
// accepted, or a project's where the user has spoken, only tightens.
func TestConfine(t *testing.T) {
	const only = "version: 1\nconfine: "
	for name, tt := range map[string]struct {
		user, project, claude string
		pins                  bool // the project's files wait to be accepted
		code, always          bool
		verdict               obstat.Verdict // of a command that nothing is known of
	}{
		"the built-in policy":              {code: true, verdict: obstat.Ask},
		"beside Claude Code's settings":    {project: only + "code\n", claude: `{"permissions":{"allow":["Bash(make:*)"]}}`, code: true, verdict: obstat.Allow},
		"beside the built-in policy":       {project: only + "code\n", code: true, verdict: obstat.Ask},
		"with rules":                       {project: only + "always\nallow: [run make]\n", code: true, always: true, verdict: obstat.Allow},
		"the user's":                       {user: only + "code\n", claude: `{"permissions":{"allow":["Bash(make:*)"]}}`, code: true, verdict: obstat.Allow},
		"the user's, with rules":           {user: only + "code\ndeny: [run make]\n", claude: `{"permissions":{"allow":["Bash(make:*)"]}}`, code: true, verdict: obstat.Deny},
		"a project does not loosen off":    {user: only + "off\n", project: only + "code\n", verdict: obstat.Ask},
		"a project does not loosen always": {user: only + "always\n", project: only + "off\n", always: true, verdict: obstat.Ask},
		"nobody has accepted it":           {project: only + "code\n", claude: `{"permissions":{"allow":["Bash(make:*)"]}}`, pins: true, verdict: obstat.Ask},
		"what is new tightens the user's":  {user: only + "code\n", project: only + "off\n", pins: true, verdict: obstat.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, "p")
			for file, text := range map[string]string{".config/obstat/obstat.yaml": tt.user, "p/obstat.yaml": tt.project, "p/.claude/settings.json": tt.claude} {
				if text == "" {
					continue
				}
				file = filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := &Finder{NoPins: !tt.pins, State: filepath.Join(home, "state"), Machine: filepath.Join(home, "machine")}
			env := func(name string) string { return map[string]string{"HOME": home}[name] }
			in, err := f.Find(&Where{Agent: "claude-code", Dir: dir, Home: home, Getenv: env})
			if err != nil {
				t.Fatal(err)
			}
			if got := in.Confine(); got.Code != tt.code || got.Always != tt.always {
				t.Errorf("%+v", got)
			}
			d := in.Decide(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"make"}`), Dir: dir}, obstat.OS{})
			if d.Verdict != tt.verdict {
				t.Errorf("%v: %s", d.Verdict, d.Reason())
			}
		})
	}
}

// TestConfineTogether: of two accepted projects that a call belongs to, each has its word.
func TestConfineTogether(t *testing.T) {
	var list []*Policy
	for place, word := range map[string]string{"/a": "always", "/b": "{run: code, time: 5s}"} {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\nconfine: " + word + "\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &Policy{Loaded: l, Place: place, Role: Own, Accepted: true, OnDisk: true})
	}
	for range 2 {
		if got := (&InForce{Policies: list, Pins: "on"}).Confine(); !got.Always || got.Time != 5*time.Second {
			t.Errorf("%s first: %s", list[0].Place, got)
		}
		slices.Reverse(list)
	}
}

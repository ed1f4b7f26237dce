package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
)

// TestStateInProject: a state directory that came with the project vouches for
// nothing, by its name or through a link: neither its pins nor that they are off.
func TestStateInProject(t *testing.T) {
	for name, prepare := range map[string]func(w *world) error{
		"off": func(w *world) error {
			return w.finder.Off(t.Context(), w.where("claude-code"), true, "mallory")
		},
		"pin": func(w *world) error {
			at := w.where("claude-code")
			return w.finder.Pin(t.Context(), w.find(at), at, "mallory")
		},
	} {
		w := pinned(t, map[string]string{claudeFile: claudeAll})
		outside, inside, link := filepath.Join(w.top, "brought"), filepath.Join(w.dir, "brought"), filepath.Join(w.top, "link")
		w.finder.State = outside
		if err := errors.Join(prepare(w), os.Rename(outside, inside), os.Symlink(inside, link)); err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{inside, link} {
			w.finder.State = state
			w.check(w.where("claude-code"), "make", obstat.Ask)
			if t.Failed() {
				t.Fatal(name, state)
			}
		}
	}
}

// TestHomeOfProject: a home or state directory that a project's settings lead to is
// not the user's, wherever it is.
func TestHomeOfProject(t *testing.T) {
	for _, tt := range []struct {
		settings, text, name string
		want                 obstat.Verdict
	}{
		{".claude/settings.json", `{"env":{"HOME":"/x"},"permissions":{"allow":["Bash"]}}`, "HOME", obstat.Ask},
		{".claude/settings.json", `{"env":{"HO\u004dE":"/x"},"permissions":{"allow":["Bash"]}}`, "HOME", obstat.Ask},
		{".env", "export HOME = /x\n", "HOME", obstat.Ask},
		{".gemini/.env", "XDG_CONFIG_HOME=/x\n", "XDG_CONFIG_HOME", obstat.Ask},
		{".codex/config.toml", "[env]\nXDG_STATE_HOME = '/x'\n", "XDG_STATE_HOME", obstat.Ask},
		{".env", "PATH=$HOME/bin\nMY_HOME=x\nHOMEPAGE=x\n", "HOME", obstat.Allow},
	} {
		w := pinned(t, map[string]string{"home/.claude/settings.json": claudeAll, "work/p/" + tt.settings: tt.text})
		w.env[tt.name] = filepath.Join(w.top, "home")
		at := w.where("claude-code")
		w.check(at, "make", tt.want)
		if tt.want == obstat.Ask {
			w.check(at, "make", tt.want, "settings set "+tt.name)
		}
		at.Mine = true
		if tt.settings != ".claude/settings.json" { // which is new
			w.check(at, "make", obstat.Allow)
		}
		if t.Failed() {
			t.Fatalf("%+v", tt)
		}
	}
}

// TestLinkedHome: where the home directory is a link, the user's own files are not
// taken for a project's.
func TestLinkedHome(t *testing.T) {
	w := pinned(t, map[string]string{"var/u/.claude/settings.json": `{"permissions":{"allow":["Bash(make *)"]}}`,
		"var/u/p/.claude/settings.json": `{"permissions":{"allow":["Bash(npm *)"]}}`})
	if err := os.Symlink("var", filepath.Join(w.top, "users")); err != nil {
		t.Fatal(err)
	}
	w.home = filepath.Join(w.top, "users", "u")
	for i, dir := range []string{filepath.Join(w.home, "p"), filepath.Join(w.top, "var", "u", "p")} {
		w.dir = dir
		at := w.where("claude-code")
		if news := w.find(at).New; i == 0 && (len(news) != 1 || len(news[0].Changes) != 1) {
			t.Errorf("%+v", news)
		}
		w.check(at, "make x", obstat.Allow)
		if i == 0 {
			w.check(at, "npm x", obstat.Ask, "obstat trust")
			w.trust(at)
		}
		w.check(at, "npm x", obstat.Allow)
	}
}

package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
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

// TestRewound: an older copy of the ledger, or a shortened one, brings back nothing
// that was accepted, also after the next record; what is accepted then counts.
func TestRewound(t *testing.T) {
	for name, rewind := range map[string]func(file string, old []byte) error{
		"older copy": func(file string, old []byte) error { return os.WriteFile(file, old, 0o600) },
		"older, without head": func(file string, old []byte) error {
			return errors.Join(os.WriteFile(file, old, 0o600), os.Remove(file+".head"))
		},
	} {
		w := pinned(t, map[string]string{claudeFile: claudeAll})
		at := w.where("claude-code")
		file, index := statedir.Ledger(w.finder.State), statedir.Pins(w.finder.State)
		w.trust(at)
		lax, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pin *ledger.Record
		for r := range logfile.New(file).Records(t.Context(), ledger.Query{}) {
			pin = r
		}
		w.write(claudeFile, noCurl)
		w.trust(at)
		w.write(claudeFile, claudeAll)
		w.check(at, "curl x", obstat.Deny)
		if err := errors.Join(rewind(file, lax), os.Remove(index)); err != nil {
			t.Fatal(err)
		}
		w.check(at, "curl x", obstat.Ask, "last known")
		log := logfile.New(file)
		again := *pin // and the old pin once more
		if err := errors.Join(log.Append(t.Context(), &again), log.Close()); err != nil {
			t.Fatal(err)
		}
		w.check(at, "curl x", obstat.Ask, "obstat trust")
		os.Remove(index)
		w.check(at, "curl x", obstat.Ask, "obstat trust")
		w.trust(at)
		w.check(at, "curl x", obstat.Allow)
		os.Remove(index)
		w.check(at, "curl x", obstat.Allow)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestReplayedThenTrimmed: a pin that was appended again is not what retention keeps.
func TestReplayedThenTrimmed(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	w.trust(at)
	log := logfile.New(statedir.Ledger(w.finder.State))
	defer log.Close()
	var pin *ledger.Record
	for r := range log.Records(t.Context(), ledger.Query{}) {
		pin = r
	}
	w.write(claudeFile, noCurl)
	w.trust(at)
	w.write(claudeFile, claudeAll)
	again := *pin
	if err := log.Append(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	if n, err := log.Trim(t.Context(), time.Now().Add(time.Hour)); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	w.check(at, "curl x", obstat.Deny)
}

// TestGoneFile: the reason for a call that an accepted file denied, after that file
// has gone, names no empty place.
func TestGoneFile(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions": {"deny": ["Bash(make *)"]}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.check(at, "make x", obstat.Deny)
	if err := os.Remove(filepath.Join(w.top, filepath.FromSlash(claudeFile))); err != nil {
		t.Fatal(err)
	}
	d := w.bash(at, "make x")
	if d.Verdict != obstat.Deny || strings.Contains(d.Reason(), "()") || !strings.Contains(d.Reason(), "would ask about it, which nobody has accepted") {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
}

// TestLedByVariable: a policy to which a variable of the project's settings leads asks, and does not send
// its reader to obstat trust, which has nothing to accept there.
func TestLedByVariable(t *testing.T) {
	const value = `{"bash":"allow"}`
	w := pinned(t, map[string]string{"work/p/.env": "OPENCODE_PERMISSION=" + value})
	w.env["OPENCODE_PERMISSION"] = value
	w.check(w.where("opencode"), "make install", obstat.Ask, "it counts if the variable that leads to it is set by who starts the agent")
	if d := w.bash(w.where("opencode"), "make install"); strings.Contains(d.Reason(), "obstat trust") {
		t.Error(d.Reason())
	}
}

// TestReplacedByLink: a directory that was accepted and that a link leads away from by now binds until a person
// accepts that it is gone.
func TestReplacedByLink(t *testing.T) {
	for old, link := range map[string]string{"work/p": "evil", "work": "evils"} { // it, and a directory above it
		w := pinned(t, map[string]string{claudeFile: `{"permissions":{"deny":["Edit(src/**)","Bash(make *)"]}}`, "work/evil/.claude/settings.json": claudeAll, "work/evil/sub/a": "",
			"evils/p/.claude/settings.json": claudeAll, "evils/p/sub/a": ""})
		at := w.where("claude-code")
		w.trust(at)
		old = filepath.Join(w.top, old)
		if err := errors.Join(os.Rename(old, old+".old"), os.Symlink(link, old)); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{w.dir, filepath.Join(w.dir, "sub")} {
			at.Dir = dir
			w.check(at, "make x", obstat.Deny)
			w.check(at, "touch src/x", obstat.Deny)
			w.check(at, "cargo x", obstat.Ask, "obstat trust")
		}
		w.trust(at)
		w.check(at, "make x", obstat.Allow)
	}
}

package policy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
)

// TestNewAround: a policy that appears above an accepted project lifts nothing of what that project asks about.
func TestNewAround(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(make *)"]}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.write("work/.claude/settings.json", claudeAll)
	w.check(at, "make x", obstat.Allow)
	w.check(at, "curl x", obstat.Ask)
}

// TestTooLargeToKeep: a policy that is too large for its pin is accepted as it is on disk; once it has changed, the
// project is as if it were never accepted.
func TestTooLargeToKeep(t *testing.T) {
	letters, random := make([]byte, 3<<20), rand.New(rand.NewPCG(1, 2))
	for i := range letters {
		letters[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(64)]
	}
	allow := func(tool string) string {
		text := `{"permissions":{"allow":["` + tool
		for part := range slices.Chunk(letters, 60<<10) {
			text += `","Bash(` + string(part) + `)`
		}
		return text + `"]}}`
	}
	w := pinned(t, map[string]string{claudeFile: allow("Bash(make *)")})
	at := w.where("claude-code")
	w.trust(at)
	w.check(at, "make x", obstat.Allow)
	w.write(claudeFile, allow("Bash(* *)"))
	w.check(at, "make x", obstat.Ask, "obstat trust")
	w.check(at, "curl x", obstat.Ask, "obstat trust")
}

// TestAgentsOwnAndOthers: the user's denials for another agent hold where its files speak for the project.
func TestAgentsOwnAndOthers(t *testing.T) {
	const swarm = "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: "
	const config = ".jiuwenswarm/config/config.yaml"
	w := newWorld(t, map[string]string{"home/.claude/settings.json": claudeAll, "home/" + config: swarm + "deny\n", "work/p/" + config: swarm + "allow\n"})
	at := w.where("claude-code")
	call := bash(at, "rm x")
	call.Tool = "bash"
	if d := w.find(at).Decide(call, obstat.OS{}); d.Verdict != obstat.Deny {
		t.Errorf("%s", d.Reason())
	}
	w.remove("home/" + config)
	if d := w.find(at).Decide(call, obstat.OS{}); d.Verdict == obstat.Deny {
		t.Errorf("%s", d.Reason())
	}
}

// TestBrokenIsTold: a file that cannot be loaded is listed as one that is in force, with the reason and whether a person
// has accepted it.
func TestBrokenIsTold(t *testing.T) {
	const bad = `{"permissions":{"allow":`
	w := pinned(t, map[string]string{claudeFile: noCurl, "home/.config/opencode/opencode.json": bad})
	at := w.where("claude-code")
	told := func(name string, accepted bool) {
		t.Helper()
		for _, l := range w.find(at).Looked {
			if strings.HasSuffix(l.Name, name) {
				if !l.InForce || l.Accepted != accepted || !strings.HasPrefix(l.Why, "cannot be loaded: ") {
					t.Errorf("%+v", l)
				}
				return
			}
		}
		t.Errorf("%s is not listed", name)
	}
	w.write(claudeFile, bad)
	told(claudeFile, false)
	w.remove(claudeFile)
	told("home/.config/opencode/opencode.json", true)
}

// stray is a dialect whose places cannot be found, in a project or for the user.
type stray struct {
	toy
	users bool
}

func (s stray) Places(w *dialect.Where) ([]dialect.Place, error) {
	if s.users == (w.Dir == "") {
		return nil, errors.New("no place for it")
	}
	return nil, nil
}

// TestPlacesUnknown: where it cannot be found out which files there are, nothing is allowed and nothing accepted.
func TestPlacesUnknown(t *testing.T) {
	for _, users := range []bool{false, true} {
		w := newWorld(t, map[string]string{"work/p/toy.txt": "allow"})
		w.finder.Dialects = append(all.All(), stray{users: users})
		w.check(w.where("codex"), "ls", obstat.Deny, "no place for it")
	}
}

// TestPinsSwitchedOff: switched off is told, and so is on.
func TestPinsSwitchedOff(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	if f := w.find(at); !f.Pinned || f.Pins != "on" {
		t.Errorf("pinned %t, %q", f.Pinned, f.Pins)
	}
	if err := w.finder.Off(t.Context(), at, true, "alice"); err != nil {
		t.Fatal(err)
	}
	if f := w.find(at); f.Pinned || !strings.HasPrefix(f.Pins, "switched off") {
		t.Errorf("pinned %t, %q", f.Pinned, f.Pins)
	}
	w.finder.NoPins = true
	if f := w.find(at); f.Pinned || f.Pins != "left out" {
		t.Errorf("pinned %t, %q", f.Pinned, f.Pins)
	}
}

// TestNothingKeeps: without a place for pins, or where the index cannot be written, no rule is kept, and that is an error.
func TestNothingKeeps(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(npm test *)"]}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.write(claudeFile, `{"permissions":{"allow":["Bash(npm test *)","Bash(npm run *)","Bash(curl *)"]}}`)
	offer, state, in := w.offer(at, "npm run x"), w.finder.State, w.find(at)
	w.finder.State = ""
	if kept, err := w.finder.Keep(t.Context(), at, offer, "alice"); kept || err == nil {
		t.Errorf("without a place: %t, %v", kept, err)
	}
	if chosen, err := w.finder.Chosen(t.Context(), in, at); chosen || err == nil {
		t.Errorf("chosen, without a place: %t, %v", chosen, err)
	}
	if err := w.finder.Pin(t.Context(), in, at, "alice"); err == nil {
		t.Error("accepted without a place")
	}
	if err := w.finder.Off(t.Context(), at, true, "alice"); err == nil {
		t.Error("switched off without a place")
	}
	w.finder.State = state
	index := statedir.Pins(state)
	if err := errors.Join(os.Remove(index), os.Mkdir(index, 0o700)); err != nil {
		t.Fatal(err)
	}
	if kept, err := w.finder.Keep(t.Context(), at, offer, "alice"); kept || err == nil {
		t.Errorf("with an index that is a directory: %t, %v", kept, err)
	}
	w.check(at, "npm run x", obstat.Ask)
	w.check(at, "npm test x", obstat.Allow)
}

// TestChosenHere: a rule that the agent's prompt has shown for a directory of the project counts, also where a link leads
// there; not for the files of one dialect alone.
func TestChosenHere(t *testing.T) {
	for name, tt := range map[string]struct {
		dir, shown string
		named      *policy.Named
		want       bool
	}{
		"in the project":         {"work/p", "work/p/sub", nil, true},
		"by a link":              {"link", "link/sub", nil, true},
		"by its name, in a link": {"link", "work/p/sub", nil, true},
		"elsewhere":              {"link", "work", nil, false},
		"of one dialect":         {"work/p", "work/p", &policy.Named{Dialect: "claudecode"}, false},
		"with an option":         {"work/p", "work/p", &policy.Named{Options: map[string]string{}}, true},
	} {
		w := pinned(t, map[string]string{claudeFile: `{"permissions":{"deny":["WebFetch"]}}`, "work/p/sub/x": ""})
		if err := os.Symlink(w.dir, filepath.Join(w.top, "link")); err != nil {
			t.Fatal(err)
		}
		at := w.where("claude-code")
		at.Dir = filepath.Join(w.top, tt.dir)
		w.trust(at)
		made := &ledger.Made{Call: &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"npm test x"}`), Dir: filepath.Join(w.top, tt.shown)},
			Decision: &obstat.Decision{Verdict: obstat.Ask, Tool: "Bash"}, Suggested: []string{"Bash(npm test *)"}}
		r := made.Record()
		r.Time = time.Now()
		if err := logfile.New(statedir.Ledger(w.finder.State)).Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.write("work/p/.claude/settings.local.json", `{"permissions":{"allow":["Bash(npm test *)"]}}`)
		at.Named = tt.named
		if got, err := w.finder.Chosen(t.Context(), w.find(at), at); got != tt.want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// TestShortened: after the ledger was shortened, accepting writes that down, and what is accepted then counts.
func TestShortened(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	w.trust(at)
	file := statedir.Ledger(w.finder.State)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.write(claudeFile, noCurl)
	w.trust(at)
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	w.check(at, "make x", obstat.Ask, "last known")
	tools := &policy.Tools{Place: "mcp:a@/", Getenv: func(k string) string { return w.env[k] }, State: w.finder.State}
	w.trust(at)
	w.check(at, "make x", obstat.Allow)
	w.check(at, "curl x", obstat.Deny)
	if err := tools.Accept(t.Context(), []policy.PinTool{{Name: "a", Digest: "1", Text: []byte(`{"name":"a\u0000b"}`)}}, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tools.Accepted(); err == nil && len(w.find(at).New) == 0 {
		t.Error("what the shortened ledger lacks is not told")
	}
}

// TestPatternsAgain: a file that comes where a pattern looks is a change.
func TestPatternsAgain(t *testing.T) {
	w := newWorld(t, map[string]string{"work/p/.gemini/policies/a.toml": "", "work/p/.codex/rules/sub/x": ""})
	w.finder.Watcher = new(policy.Watcher)
	past := time.Now().Add(-time.Hour)
	for _, dir := range []string{"work/p/.gemini/policies", "work/p/.codex/rules/sub", "work/p/.codex/rules"} {
		if err := os.Chtimes(filepath.Join(w.top, dir), past, past); err != nil {
			t.Fatal(err)
		}
	}
	f := w.find(w.where("gemini"))
	if f.Changed() {
		t.Error("it has changed at once")
	}
	w.write("work/p/.gemini/policies/b.toml", "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 1\n")
	if !f.Changed() {
		t.Error("a file that comes is not noticed")
	}
	w = newWorld(t, map[string]string{"work/p/.codex/rules/a.rules": ""})
	w.finder.Watcher = new(policy.Watcher)
	if err := os.Chtimes(filepath.Join(w.dir, ".codex/rules"), past, past); err != nil {
		t.Fatal(err)
	}
	f = w.find(w.where("codex"))
	w.write("work/p/.codex/rules/b.rules", `prefix_rule(pattern = ["rm"], decision = "forbidden")`)
	if !f.Changed() {
		t.Error("a file that comes into a directory that is listed is not noticed")
	}
}

// TestInnerNeedsNobody: a policy inside of the project only tightens, so that no person has to accept it.
func TestInnerNeedsNobody(t *testing.T) {
	w := pinned(t, map[string]string{"work/.claude/settings.json": noCurl, claudeFile: `{"permissions":{"allow":["Bash(rm *)"],"deny":["Bash(make x)"]}}`})
	f := w.find(w.where("claude-code"))
	if len(f.New) != 1 || f.New[0].Place != filepath.Join(w.top, "work") {
		t.Errorf("%+v", f.New)
	}
	for _, p := range f.Policies {
		if p.Role == policy.Inner && !p.Accepted {
			t.Errorf("%s waits", p.Place)
		}
	}
	w.check(w.where("claude-code"), "make x", obstat.Deny)
}

// TestHere: the policies of a directory, for programs that embed the engine.
func TestHere(t *testing.T) {
	w := newWorld(t, map[string]string{claudeFile: noCurl})
	t.Setenv("OBSTAT_TRUST", w.dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(w.top, "state"))
	f, err := policy.Here(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"curl x": obstat.Deny, "make": obstat.Allow} {
		if got := f.Decide(bash(w.where(""), command), obstat.OS{}); got.Verdict != want {
			t.Errorf("%s: %s", command, got.Reason())
		}
	}
}

// TestUsersPathsBeside: paths of the user's rules start in the project of another agent's policy, too.
func TestUsersPathsBeside(t *testing.T) {
	w := newWorld(t, map[string]string{"home/.config/obstat/obstat.yaml": "version: 1\ndeny: [write ./gen]\n", claudeFile: claudeAll, "work/p/sub/x": ""})
	at := w.where("codex")
	at.Dir = filepath.Join(w.dir, "sub")
	for _, dir := range []string{"work", "work/p", "work/p/sub"} {
		call := &obstat.Call{Tool: "write_file", Input: fmt.Appendf(nil, `{"path":%q}`, filepath.Join(w.top, dir, "gen")), Dir: at.Dir}
		if got := w.find(at).Decide(call, obstat.OS{}); (got.Verdict == obstat.Deny) != (dir == "work/p") {
			t.Errorf("%s/gen: %s", dir, got.Reason())
		}
	}
}

// TestOneDialect: of what was accepted the files of one dialect can be looked at alone, and nothing of them is new.
func TestOneDialect(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl, "work/p/opencode.json": allowBash})
	w.trust(w.where("claude-code"))
	for _, name := range []string{"claudecode", "opencode"} {
		at := w.where("claude-code")
		at.Named = &policy.Named{Dialect: name}
		if got := w.find(at); len(got.New) != 0 {
			t.Errorf("%s: %+v", name, got.New)
		}
	}
}

// TestFirstTwin: of several places for which the same files were accepted, the first by name is told.
func TestFirstTwin(t *testing.T) {
	files := map[string]string{}
	for _, dir := range []string{"a", "b", "c", "d", "e", "f"} {
		files["work/"+dir+"/.claude/settings.json"] = noCurl
	}
	w := pinned(t, files)
	for _, dir := range []string{"f", "e", "d", "c", "b"} {
		at := w.where("claude-code")
		at.Dir = filepath.Join(w.top, "work", dir)
		w.trust(at)
	}
	for range 3 {
		at := w.where("claude-code")
		at.Dir, at.Every = filepath.Join(w.top, "work", "a"), true
		if got := w.find(at); len(got.New) != 1 || got.New[0].Twin != filepath.Join(w.top, "work", "b") {
			t.Errorf("%+v", got.New)
		}
	}
}

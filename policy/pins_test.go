package policy_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
)

// pinned makes a world in which pins count.
func pinned(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := newWorld(t, files)
	w.finder.NoPins = false
	return w
}

// trust accepts what is on disk.
func (w *world) trust(at *policy.Where) {
	w.Helper()
	if err := w.finder.Pin(context.Background(), w.find(at), at, "alice"); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.Helper()
	if err := os.RemoveAll(filepath.Join(w.top, filepath.FromSlash(name))); err != nil {
		w.Fatal(err)
	}
}

const claudeFile = "work/p/.claude/settings.json"

// TestFirstSight: what a project's file denies counts at once, what it allows waits
// for a person, and what the user's own policy or the built-in one allows does not.
func TestFirstSight(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(make *)"],"deny":["Bash(cat *)"]}}`})
	at := w.where("claude-code")
	w.check(at, "make x", obstat.Ask, "only Bash(make *)", claudeFile+":1:26", "`obstat trust "+w.dir+"`")
	w.check(at, "cat x", obstat.Deny)
	w.check(at, "ls", obstat.Allow)
	w.check(at, "rm x", obstat.Ask)
	w.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash(make install)"]}}`)
	w.check(at, "make install", obstat.Allow)
	w.check(at, "make x", obstat.Ask, "obstat trust")
	w.trust(at)
	w.check(at, "make x", obstat.Allow)
	w.check(at, "cat x", obstat.Deny)
	if f := w.find(at); len(f.New) != 0 {
		t.Errorf("%+v", f.New)
	}
	// The user's own file is no project's: what it says now counts.
	w.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash(rm *)"]}}`)
	w.check(at, "rm x", obstat.Allow)
	w.check(at, "make x", obstat.Allow)
	for _, agent := range agents {
		w.check(w.where(agent), "cat x", obstat.Deny)
	}
}

// TestChangedFiles: a file that changes tightens at once and loosens when a person
// has accepted it; one that is gone or broken still binds.
func TestChangedFiles(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("claude-code")
	w.trust(at)
	w.check(at, "make", obstat.Allow)

	w.write(claudeFile, `{"permissions":{"allow":["Bash"],"deny":["Bash(rm *)"]}}`)
	w.check(at, "rm x", obstat.Deny)
	w.check(at, "curl x", obstat.Deny, "Bash(curl *)", "only Bash ("+w.dir)
	w.check(at, "make", obstat.Allow)
	f := w.find(at)
	if len(f.New) != 1 || f.New[0].First || len(f.New[0].Changes) != 2 || f.New[0].Changes[0].Kind != policy.Added || f.New[0].Changes[0].Text != "Bash(rm *)" || f.New[0].Changes[1].Kind != policy.Removed || f.New[0].Changes[1].Text != "Bash(curl *)" {
		t.Errorf("%+v", f.New)
	}

	w.write("work/p/obstat.json", program(obstat.Allow, "zz"))
	w.check(at, "curl x", obstat.Deny)
	w.write("work/p/obstat.json", "{")
	w.check(at, "make", obstat.Ask, "cannot be loaded", "obstat.json")
	w.check(at, "curl x", obstat.Deny)
	if err := w.finder.Pin(t.Context(), w.find(at), at, "alice"); err == nil {
		t.Error("a broken file is accepted")
	}
	w.remove("work/p/obstat.json")

	w.remove("work/p/.claude")
	w.check(at, "curl x", obstat.Deny)
	w.check(at, "make", obstat.Ask)
	w.check(at, "ls", obstat.Allow)
	w.write(claudeFile, noCurl) // as it was accepted
	w.check(at, "make", obstat.Allow)
	w.remove("work/p/.claude")
	w.trust(at) // that nothing is there
	w.check(at, "curl x", obstat.Ask)
	w.write(claudeFile, noCurl)
	w.check(at, "make", obstat.Ask, "obstat trust")
}

// TestOtherParts: a change of a file that is not about permissions needs nobody.
func TestOtherParts(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl, "work/p/.claude/settings.local.json": `{"env":{}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.write(claudeFile, `{"model":"x","permissions":{"allow":["Bash"],"deny":["Bash(curl *)"]}}`)
	w.write("work/p/.claude/settings.local.json", `{"enabledMcpjsonServers":["x"]}`)
	w.write("work/p/opencode.json", `{"model":"x/y"}`)
	w.check(at, "make", obstat.Allow)
	w.check(at, "curl x", obstat.Deny)
	if f := w.find(at); len(f.New) != 0 || len(f.Policies) != 1 {
		t.Errorf("%+v %d", f.New, len(f.Policies))
	}
}

// TestOuterPin: a policy that appears above or below the accepted one, or takes
// its place, does not loosen it.
func TestOuterPin(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("codex")
	w.trust(at)
	w.write("work/.claude/settings.json", claudeAll)
	w.check(at, "curl x", obstat.Deny)
	w.remove("work/p/.claude")
	w.check(at, "curl x", obstat.Deny)
	w.remove("work/.claude")
	w.write("work/p/opencode.json", `{"permission":{"bash":"allow"}}`)
	w.check(at, "curl x", obstat.Deny)
	w.write("work/p/sub/.claude/settings.json", claudeAll)
	at.Dir = filepath.Join(w.dir, "sub")
	w.check(at, "curl x", obstat.Deny)
}

// TestMoved: a pin is for a directory, whatever its name is by now, not for what is in it; links lead to it.
func TestMoved(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	w.trust(w.where("claude-code"))
	if err := os.Symlink(w.dir, filepath.Join(w.top, "link")); err != nil {
		t.Fatal(err)
	}
	at := w.where("claude-code")
	at.Dir = filepath.Join(w.top, "link")
	w.check(at, "make", obstat.Allow)
	at.Dir = filepath.Join(w.top, "moved")
	if err := os.Rename(w.dir, at.Dir); err != nil {
		t.Fatal(err)
	}
	w.check(at, "make", obstat.Allow)
	w.check(at, "curl x", obstat.Deny)
	copied := filepath.Join(w.top, "copied")
	if err := os.CopyFS(copied, os.DirFS(at.Dir)); err != nil {
		t.Fatal(err)
	}
	at.Dir = copied
	w.check(at, "make", obstat.Ask, "obstat trust "+at.Dir)
	w.check(at, "curl x", obstat.Deny)
}

// TestPinnedProgram: where the files are as they were accepted the accepted Program
// decides, and offers are made and written as ever.
func TestPinnedProgram(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(make)"]}}`, "home/.claude/settings.json": `{"permissions":{"deny":["WebFetch"]}}`})
	at := w.where("claude-code")
	parsed := w.find(at).Main()
	w.trust(at)
	p := w.find(at).Main()
	if p.Policy.Digest() != parsed.Policy.Digest() || len(p.Input.Files) != 2 || !bytes.Equal(p.Input.Files[1].Data, parsed.Input.Files[1].Data) {
		t.Fatalf("%+v", p.Input)
	}
	call := bash(at, "npm test")
	d := p.Policy.Decide(call, obstat.OS{})
	offers := p.Offers(call, obstat.OS{}, &d)
	if len(offers) == 0 {
		t.Fatal("nothing is offered")
	}
	if err := p.Accept(p.Input.Files[1].Name, offers[0]); err != nil {
		t.Fatal(err)
	}
	w.check(at, "npm test", obstat.Ask, "obstat trust")
	if kept, err := w.finder.Keep(t.Context(), at, offers[:1], "alice"); !kept || err != nil {
		t.Fatal(kept, err)
	}
	w.check(at, "npm test", obstat.Allow)
	if f := w.find(at); len(f.New) != 0 {
		t.Errorf("%+v", f.New)
	}
}

// TestKeep: what a person chose sticks, alone and beside changes that nobody has
// accepted; what an agent wrote besides does not.
func TestKeep(t *testing.T) {
	w := pinned(t, nil)
	at := w.where("claude-code")
	chosen := []obstat.Offer{{Text: "Bash(npm test *)"}}
	local := "work/p/.claude/settings.local.json"
	w.write(local, `{"permissions":{"allow":["Bash(npm test *)"]}}`) // the first file at all
	if kept, err := w.finder.Keep(t.Context(), at, []obstat.Offer{{Text: "Bash(npm run *)"}}, "alice"); kept || err != nil {
		t.Fatal(kept, err)
	}
	w.check(at, "npm test x", obstat.Ask)
	if !policy.Accepts(w.find(at).New, []string{"Bash(npm test *)"}) {
		t.Errorf("%+v", w.find(at).New)
	}
	if kept, err := w.finder.Keep(t.Context(), at, chosen, "alice"); !kept || err != nil {
		t.Fatal(kept, err)
	}
	w.check(at, "npm test x", obstat.Allow)

	w.write(local, `{"permissions":{"allow":["Bash(npm test *)","Bash(npm run *)","Bash(curl *)"]}}`)
	offer := w.offer(at, "npm run x")
	if kept, err := w.finder.Keep(t.Context(), at, offer, "alice"); !kept || err != nil {
		t.Fatal(kept, err)
	}
	w.check(at, "npm run x", obstat.Allow)
	w.check(at, "npm test x", obstat.Allow)
	w.check(at, "curl x", obstat.Ask, "only Bash(curl *)")
	for _, text := range []string{
		`{"permissions":{"allow":["Bash(npm test *)"],"defaultMode":"bypassPermissions"}}`,
		`{"permissions":{"allow":["Bash(npm test *)"],"additionalDirectories":["/"]}}`,
	} {
		w.write(local, text)
		if policy.Accepts(w.find(at).New, []string{"Bash(npm test *)"}) {
			t.Errorf("%s: %+v", text, w.find(at).New)
		}
	}
}

// TestChosen: a rule that the agent writes after its prompt has shown it is accepted;
// one that it has not shown, or long ago, or elsewhere, or for another call too, is not.
func TestChosen(t *testing.T) {
	local := "work/p/.claude/settings.local.json"
	for name, tt := range map[string]struct {
		shown string
		age   time.Duration
		dir   string
		wrote string
		want  bool
	}{
		"chosen":    {"Bash(npm test *)", time.Minute, "work/p/sub", `"Bash(npm test *)"`, true},
		"other":     {"Bash(npm run *)", 0, "work/p", `"Bash(npm test *)"`, false},
		"more":      {"Bash(npm test *)", 0, "work/p", `"Bash(npm test *)","Bash"`, false},
		"a tool":    {"Bash", 0, "work/p", `"Bash"`, false},
		"shells":    {"Bash(sh *)", 0, "work/p", `"Bash(sh *)"`, false},
		"edits":     {"Edit", 0, "work/p", `"Edit"`, false},
		"long ago":  {"Bash(npm test *)", time.Hour, "work/p", `"Bash(npm test *)"`, false},
		"elsewhere": {"Bash(npm test *)", 0, "work/q", `"Bash(npm test *)"`, false},
	} {
		w := pinned(t, map[string]string{claudeFile: `{"permissions":{"deny":["WebFetch"]}}`})
		at := w.where("claude-code")
		w.trust(at)
		made := &ledger.Made{Call: &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"npm test x"}`), Dir: filepath.Join(w.top, tt.dir)},
			Decision: &obstat.Decision{Verdict: obstat.Ask, Tool: "Bash"}, Suggested: []string{tt.shown}}
		r := made.Record()
		r.Time = time.Now().Add(-tt.age)
		if err := logfile.New(statedir.Ledger(w.finder.State)).Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.write(local, `{"permissions":{"allow":[`+tt.wrote+`]}}`)
		if got, err := w.finder.Chosen(t.Context(), w.find(at), at); got != tt.want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
		w.check(at, "npm test x", map[bool]obstat.Verdict{true: obstat.Allow, false: obstat.Ask}[tt.want])
	}
}

// offer returns what is offered for a command, without the files.
func (w *world) offer(at *policy.Where, command string) []obstat.Offer {
	w.Helper()
	l := w.find(&policy.Where{Named: &policy.Named{Files: []string{w.write2("named/.claude/settings.json", `{"permissions":{"allow":["Read"]}}`)}}}).Main()
	call := bash(at, command)
	d := l.Policy.Decide(call, obstat.OS{})
	offers := l.Offers(call, obstat.OS{}, &d)
	if len(offers) == 0 {
		w.Fatal("nothing is offered")
	}
	return offers[:1]
}

func (w *world) write2(name, text string) string {
	w.write(name, text)
	return filepath.Join(w.top, filepath.FromSlash(name))
}

// TestForgedPins: neither an index nor a record that this installation did not make
// gives a looser answer, and a missing index is made anew.
func TestForgedPins(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	index, file := statedir.Pins(w.finder.State), statedir.Ledger(w.finder.State)
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.trust(at)
	lax, laxLedger := read(index), read(file)
	w.write(claudeFile, noCurl)
	w.trust(at)
	strict, strictLedger := read(index), read(file)
	w.write(claudeFile, claudeAll)                  // as it was accepted once, and is not any more
	lines := bytes.SplitAfter(strict, []byte("\n")) // the ledger's end, the pin, the mark
	lie := bytes.Join([][]byte{lines[0], bytes.SplitAfter(lax, []byte("\n"))[1], lines[2]}, nil)
	for name, data := range map[string][]byte{"true": strict, "older": lax, "lie": lie, "none": nil, "garbage": []byte("obstat-pins 2 "), "empty": bytes.Join([][]byte{lines[0], lines[2]}, nil)} {
		if put(index, data); data == nil {
			os.Remove(index)
		}
		w.check(at, "curl x", obstat.Deny, "Bash(curl *)")
		w.check(at, "make", obstat.Allow)
		if w.Failed() {
			t.Fatal(name)
		}
	}
	// The older pin, appended again: a record that is well chained, and not new.
	var old *ledger.Record
	for r, err := range logfile.New(file).Records(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if old == nil && r.Kind == ledger.Pin {
			old = r
		}
	}
	again := *old
	if err := logfile.New(file).Append(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	w.check(at, "curl x", obstat.Deny)
	// A pin of another installation's making.
	other := pinned(t, nil)
	other.top, other.dir, other.home = w.top, w.dir, w.home
	other.finder.State = filepath.Join(w.top, "other")
	other.trust(at)
	for r := range logfile.New(statedir.Ledger(other.finder.State)).Records(t.Context(), ledger.Query{}) {
		forged := *r
		if err := logfile.New(file).Append(t.Context(), &forged); err != nil {
			t.Fatal(err)
		}
	}
	w.check(at, "curl x", obstat.Deny)
	put(index, read(statedir.Pins(other.finder.State)))
	w.check(at, "curl x", obstat.Deny)
	// A line that is no record, and an edited one.
	put(file, append(bytes.TrimRight(strictLedger, "\x00"), []byte(`{"kind":"pin","dir":"`+w.dir+`"}`+"\n")...))
	w.check(at, "curl x", obstat.Deny)
	put(file, bytes.Replace(laxLedger, []byte(`"place":"`), []byte(`"place":"/x`), 1))
	os.Remove(index)
	w.check(at, "make", obstat.Ask, "obstat trust")
}

// TestTrimmed: taking old records out of the ledger keeps what was accepted.
func TestTrimmed(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("claude-code")
	w.trust(at)
	file := logfile.New(statedir.Ledger(w.finder.State))
	if n, err := file.Trim(t.Context(), time.Now()); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	w.check(at, "make", obstat.Allow)
	w.write(claudeFile, claudeAll)
	w.check(at, "curl x", obstat.Deny)
	w.trust(at)
	w.check(at, "curl x", obstat.Allow)
}

// TestTwoAccept: of two people who accept at once one is told that something has
// changed, and sees it.
func TestTwoAccept(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("claude-code")
	one, two := w.find(at), w.find(at)
	if err := w.finder.Pin(t.Context(), one, at, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := w.finder.Pin(t.Context(), two, at, "bob"); !errors.Is(err, policy.ErrChanged) {
		t.Fatal(err)
	}
	w.write(claudeFile, `{"permissions":{"allow":["Read"]}}`)
	seen := w.find(at)
	w.write(claudeFile, claudeAll) // after it was shown
	if err := w.finder.Pin(t.Context(), seen, at, "bob"); !errors.Is(err, policy.ErrChanged) {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	errs := make([]error, 8)
	found := make([]*policy.InForce, len(errs))
	for i := range errs {
		found[i] = w.find(at)
	}
	for i, in := range found {
		wait.Go(func() { errs[i] = w.finder.Pin(context.Background(), in, at, "bob") })
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, policy.ErrChanged) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d have accepted it", won)
	}
	w.check(at, "curl x", obstat.Allow)
	if _, err := logfile.New(statedir.Ledger(w.finder.State)).Head(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOff: pins can be switched off and on, and the ledger has it.
func TestOff(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	for _, off := range []bool{true, true, false, true} {
		if err := w.finder.Off(t.Context(), at, off, "alice"); err != nil {
			t.Fatal(err)
		}
		w.check(at, "make", map[bool]obstat.Verdict{true: obstat.Allow, false: obstat.Ask}[off])
	}
	n := 0
	for r := range logfile.New(statedir.Ledger(w.finder.State)).Records(t.Context(), ledger.Query{}) {
		if r.Kind == ledger.Pin && r.User == "alice" && strings.Contains(r.Reason, "switched pins") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d records", n)
	}
}

// TestTrustVariable: the variable counts from who started the agent, not from what
// the agent hands on to its hook.
func TestTrustVariable(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll})
	at := w.where("claude-code")
	for _, tt := range []struct {
		value string
		mine  bool
		want  obstat.Verdict
	}{
		{w.dir, true, obstat.Allow},
		{w.top, true, obstat.Allow},
		{"/nowhere" + string(filepath.ListSeparator) + w.dir, true, obstat.Allow},
		{w.dir, false, obstat.Ask},
		{filepath.Join(w.dir, "sub"), true, obstat.Ask},
		{".", true, obstat.Ask},
	} {
		w.env["OBSTAT_TRUST"], at.Mine = tt.value, tt.mine
		w.check(at, "make", tt.want)
	}
}

// TestNoState: without a place for pins, with one that cannot be written, and with
// one that lies in the project, nothing of the project is accepted.
func TestNoState(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl, "file": ""})
	at := w.where("claude-code")
	for _, state := range []string{filepath.Join(w.top, "file", "state"), filepath.Join(w.dir, ".state"), filepath.Join(w.top, "work", "state")} {
		w.finder.State = state
		err := w.finder.Pin(t.Context(), w.find(at), at, "alice")
		if inside := strings.HasPrefix(state, w.dir); err == nil && inside || err == nil && strings.Contains(state, "file") {
			t.Errorf("%s: no error", state)
		}
		want := map[bool]obstat.Verdict{true: obstat.Allow, false: obstat.Ask}[err == nil]
		w.check(at, "make", want)
		w.check(at, "curl x", obstat.Deny)
	}
	w.finder.State = ""
	w.check(at, "make", obstat.Ask)
	if f := w.find(at); !strings.Contains(f.Pins, "no state directory") {
		t.Errorf("%s", f.Pins)
	}
	// A home in the project is the project's, too.
	w = pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Read"]}}`, "work/p/home/.claude/settings.json": claudeAll})
	w.home = filepath.Join(w.dir, "home")
	w.check(w.where("claude-code"), "make", obstat.Ask)
}

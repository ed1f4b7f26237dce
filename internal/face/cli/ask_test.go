package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/person/persontest"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

func sampleRequest() *approval.Request {
	return &approval.Request{ID: "r", Call: obstat.Call{Tool: "bash", Input: json.RawMessage(`{"command":"git status && npm run build","timeout":5}`), Agent: "build", Dir: "/src/app"},
		Rule: `"bash": {"*": "ask"}`, Pos: obstat.Pos{File: "/src/app/opencode.json", Line: 3, Col: 5}, Reason: `ask rule "bash": {"*": "ask"} (/src/app/opencode.json:3:5), on npm run build`, Part: "npm run build",
		Expires: time.Unix(1060, 0), Offers: []approval.Offer{
			{Text: "npm run build *", List: "rules", Rule: json.RawMessage(`{"tool":"bash","field":"command","match":{"wildcard":"npm run build *"},"verdict":"allow"}`), Also: []string{"npm run build --watch"}},
			{Text: "npm *", List: "rules", Rule: json.RawMessage(`{"tool":"bash","verdict":"allow"}`)}}}
}

// TestAlwaysNamesTheFile: an accepted rule is said to go to the file that gets it, and one
// that no file takes (a preset of Chorus, a pattern of opencode's webfetch) is not accepted
// for good, with the reason and with how to have it for the session.
func TestAlwaysNamesTheFile(t *testing.T) {
	r := sampleRequest()
	r.Offers[0].File, r.Offers[1].NoFile = "/src/app/opencode.json", "webfetch takes one word"
	a, err := parseAnswer("a 1", r, time.Unix(1000, 0))
	if words := answerWords(r, &a); err != nil || words != "allowed; the rule goes to opencode.json" {
		t.Errorf("%q, %v", words, err)
	}
	for _, line := range []string{"a 2", "r 2 npm run *"} {
		if _, err := parseAnswer(line, r, time.Unix(1000, 0)); err == nil || err.Error() != "it cannot be written to the policy's file: webfetch takes one word; s 2 allows it for the session" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if a, err := parseAnswer("s 2", r, time.Unix(1000, 0)); err != nil || a.Offer != 2 {
		t.Errorf("for the session: %v, %v", a, err)
	}
	if text := newScreen(&IO{}).request(r, &obstat.Snapshot{}, time.Unix(1000, 0)); !strings.Contains(text, "for the session only: webfetch takes one word") {
		t.Error(text)
	}
}

func TestParseAnswer(t *testing.T) {
	now := time.Unix(1000, 0)
	r := sampleRequest()
	one := sampleRequest()
	one.Offers = one.Offers[:1]
	for _, tt := range []struct {
		line string
		r    *approval.Request
		want approval.Answer
	}{
		{"y", r, approval.Answer{Allow: true, Scope: approval.Once}},
		{" yes ", r, approval.Answer{Allow: true, Scope: approval.Once}},
		{"s", r, approval.Answer{Allow: true, Scope: approval.Session}},
		{"s 2 30m", r, approval.Answer{Allow: true, Scope: approval.Session, Offer: 2, Until: now.Add(30 * time.Minute)}},
		{"g", r, approval.Answer{Allow: true, Scope: approval.Agent}},
		{"w 1", r, approval.Answer{Allow: true, Scope: approval.Workspace, Offer: 1}},
		{"u 1h", r, approval.Answer{Allow: true, Scope: approval.User, Until: now.Add(time.Hour)}},
		{"a 2", r, approval.Answer{Allow: true, Scope: approval.Always, Offer: 2}},
		{"a", one, approval.Answer{Allow: true, Scope: approval.Always, Offer: 1}},
		{"r 1 npm run *", r, approval.Answer{Allow: true, Scope: approval.Always, Offer: 1, Rule: json.RawMessage(`{"tool":"bash","field":"command","match":{"wildcard":"npm run *"},"verdict":"allow"}`)}},
		{"e npm test <x>", r, approval.Answer{Allow: true, Scope: approval.Once, Input: json.RawMessage(`{"command":"npm test \u003cx\u003e","timeout":5}`)}},
		{`e {"command":"ls"}`, r, approval.Answer{Allow: true, Scope: approval.Once, Input: json.RawMessage(`{"command":"ls"}`)}},
		{"n", r, approval.Answer{}},
		{"n use  make", r, approval.Answer{Words: "use  make"}},
		{"x stop", r, approval.Answer{Words: "stop", All: true}},
	} {
		got, err := parseAnswer(tt.line, tt.r, now)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(tt.want)
		if err != nil || string(a) != string(b) {
			t.Errorf("%q: %s %v\nwant %s", tt.line, a, err, b)
		}
	}
	for _, line := range []string{"y all", "s 3", "s 0", "s soon", "s -5m", "a", "a 3", "a x", "r", "r 1", "r 9 x", "r 2 x", "e", "e {"} {
		if a, err := parseAnswer(line, r, now); err == nil {
			t.Errorf("%q was taken: %+v", line, a)
		}
	}
	for line, want := range map[string]error{"": errHelp, "?": errHelp, "sure": errHelp, "l": errLeave, "q": errQuit} {
		if _, err := parseAnswer(line, r, now); !errors.Is(err, want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestNothingIsHidden: a request shows all of a long command, of a long change and of many
// effects.
func TestNothingIsHidden(t *testing.T) {
	var commands, lines []string
	for i := range 60 {
		commands, lines = append(commands, fmt.Sprintf("rm file-%02d.txt", i)), append(lines, fmt.Sprintf("line %02d", i))
	}
	bash, _ := json.Marshal(map[string]string{"command": strings.Join(commands, " && ") + "\n" + strings.Repeat("true\n", 20) + "rm last"})
	write, _ := json.Marshal(map[string]string{"file_path": "/nowhere/a", "content": strings.Join(lines, "\n") + "\n" + strings.Repeat("x", 300) + "end"})
	for tool, input := range map[string][]byte{"Bash": bash, "Write": write} {
		got := newScreen(&IO{}).request(&approval.Request{Call: obstat.Call{Tool: tool, Input: input, Dir: "/src"}}, &obstat.Snapshot{}, time.Unix(0, 0))
		flat := strings.Join(strings.Fields(got), " ")
		want := []string{"delete file-00.txt", "delete file-59.txt", "delete last"}
		if tool == "Write" {
			want = []string{"+ line 00", "+ line 59", "xend"}
		}
		for _, w := range want {
			if !strings.Contains(flat, w) || strings.Contains(got, "…") {
				t.Errorf("%q is not in\n%s", w, got)
			}
		}
	}
}

func TestRequestScreen(t *testing.T) {
	got := newScreen(&IO{}).request(sampleRequest(), &obstat.Snapshot{HomeDir: "/home/u"}, time.Unix(1000, 0))
	want := `ASK    git status && npm run build
                     ^^^^^^^^^^^^^
by     ask rule "bash": {"*": "ask"}           opencode.json:3:5
would  run code in npm run build (the project's scripts)
       run git status
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	for _, line := range []string{"who    agent build, in /src/app · 1m0s left\n", "always 1  npm run build *\n", "would also allow: npm run build --watch\n", "2  npm *\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if columns(l) > 80 {
			t.Errorf("wider than 80 columns: %s", l)
		}
	}
}

// TestHostileRequest: what a request quotes cannot paint the screen.
func TestHostileRequest(t *testing.T) {
	r := sampleRequest()
	r.Call = obstat.Call{Tool: "edit", Input: json.RawMessage(`{"filePath":"/src/app/\u001b[2Ja","oldString":"a\u001b]0;x\u0007","newString":"\u202eb"}`), Agent: "\x1b[31m", Dir: "/src/app"}
	r.Offers[0].Text, r.Offers[0].Also, r.Reason, r.Rule = "\x1b[1m", []string{"\x9b"}, "\x07", "\x1b"
	if got := newScreen(&IO{}).request(r, &obstat.Snapshot{}, time.Unix(0, 0)); strings.ContainsAny(got, "\x1b\x07\u202e\u009b") {
		t.Errorf("%q", got)
	}
}

// An asker is a gate with a policy's file, and a terminal at which bob answers what it asks.
type asker struct {
	*Factory
	store *sqlite.Store
	gate  *gate.Gate
	typed *io.PipeWriter
	out   *screenBuffer
	ended chan error
}

func openAsker(t *testing.T, file, db string) *asker {
	t.Helper()
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{file}}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	in, typed := io.Pipe()
	out := &screenBuffer{}
	f := newFactory(&IO{In: in, Out: out, Err: out, InTTY: true, Person: persontest.Typist})
	d := &asker{Factory: f, store: store, gate: g, typed: typed, out: out, ended: make(chan error, 1)}
	go func() {
		d.ended <- (&askOptions{Factory: f, Store: storeOptions{Path: db}, As: "bob"}).run(t.Context(), nil)
	}()
	return d
}

// TestDesk: somebody at a terminal answers what a gate elsewhere asks.
func TestDesk(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "opencode.json"), filepath.Join(dir, "obstat.db")
	if err := os.WriteFile(file, []byte(`{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openAsker(t, file, db)
	f, store, g, typed, out, ended := d.Factory, d.store, d.gate, d.typed, d.out, d.ended
	for _, tt := range []struct {
		command string
		lines   []string
		want    obstat.Verdict
		says    string
	}{
		{"make", []string{"y"}, obstat.Allow, "approved by bob"},
		{"make x", []string{"", "what", "a 7", "n not now"}, obstat.Deny, "refused by bob: not now"},
		{"make y", []string{"e env rm -rf /"}, obstat.Deny, "rm *"},
		{"npm run lint", []string{"r 1 *", "n too broad"}, obstat.Deny, "refused by bob: too broad"}, // a rule for everything is no answer
		{"npm run build", []string{"a"}, obstat.Allow, "approved by bob"},
		{"make z", []string{"s 1h"}, obstat.Allow, "approved by bob"},
	} {
		input, _ := json.Marshal(map[string]string{"command": tt.command})
		decided := make(chan obstat.Decision, 1)
		go func() {
			d, _ := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: input, Session: "s", Dir: dir}, nil)
			decided <- d.Decision
		}()
		out.waitFor(t, "ASK    "+tt.command+"\n")
		for _, l := range tt.lines {
			if _, err := io.WriteString(typed, l+"\n"); err != nil {
				t.Fatalf("%v: %v", err, <-ended)
			}
		}
		if d := <-decided; d.Verdict != tt.want || !strings.Contains(d.Reason(), tt.says) {
			t.Errorf("%s: %s %s", tt.command, d.Verdict, d.Reason())
		}
	}
	typed.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), `"npm run build *": "allow"`) {
		t.Errorf("%s", text)
	}
	var grants bytes.Buffer
	f.IO = &IO{Out: &grants, Err: &grants, Person: persontest.Typist}
	if err := (&grantsOptions{Factory: f, Store: storeOptions{Path: db}}).run(context.Background(), nil); err != nil || !strings.Contains(grants.String(), "bash make z\n  session s, by bob on ") {
		t.Errorf("%s %v", grants.String(), err)
	}
	if err := (&grantsOptions{Factory: f, Store: storeOptions{Path: db}, All: true}).revoke(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if gs, _ := store.Grants(t.Context(), time.Now()); len(gs) != 0 {
		t.Errorf("%d grants left", len(gs))
	}
}

// TestAskList: several requests are a list; a number shows another in the pane, and the answer is for the one shown.
func TestAskList(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "opencode.json"), filepath.Join(dir, "obstat.db")
	if err := os.WriteFile(file, []byte(`{"permission": {"bash": "ask"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{file}}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"make one", "make two", "make three"}
	decided := map[string]chan obstat.Decision{}
	for i, command := range commands {
		decided[command] = make(chan obstat.Decision, 1)
		input, _ := json.Marshal(map[string]string{"command": command})
		go func() {
			d, _ := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: input, Session: command, Dir: dir}, nil)
			decided[command] <- d.Decision
		}()
		for { // each is asked before the next, so that their order is known
			pending, err := approval.New(store, nil).Pending(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(pending) > i {
				break
			}
		}
	}
	in, typed := io.Pipe()
	out := &screenBuffer{}
	f := newFactory(&IO{In: in, Out: out, Err: out, InTTY: true, Width: 40, Person: persontest.Typist})
	ended := make(chan error, 1)
	go func() {
		ended <- (&askOptions{Factory: f, Store: storeOptions{Path: db}, As: "bob"}).run(t.Context(), nil)
	}()
	out.waitFor(t, "1 of 3 asked")
	for _, step := range []struct{ line, shows string }{{"9", "there is no request 9; the list has 3"}, {"2", "2 of 3 asked"},
		{"+", "3 of 3 asked"}, {"-", "▸  2"}, {"n no", "refused"}, {"2", "2 of 2 asked"}, {"y", "allowed, this once"}} {
		if _, err := io.WriteString(typed, step.line+"\n"); err != nil {
			t.Fatal(err)
		}
		out.waitFor(t, step.shows)
	}
	for command, want := range map[string]obstat.Verdict{"make two": obstat.Deny, "make three": obstat.Allow} {
		if d := <-decided[command]; d.Verdict != want {
			t.Errorf("%s: %s", command, d.Verdict)
		}
	}
	typed.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for l := range strings.Lines(out.text.String()) {
		if columns(strings.TrimSuffix(l, "\n")) > 40 {
			t.Errorf("wider than 40 columns: %q", l)
		}
	}
}

// TestKeys: a request that no rule can settle does not offer `always`.
func TestKeys(t *testing.T) {
	s := newScreen(&IO{Width: 40})
	r := sampleRequest()
	if s.keys(r, true, obstat.OS{}); !strings.Contains(s.b.String(), "[a] always") || !strings.Contains(s.b.String(), "[e] edit") {
		t.Error(s.b.String())
	}
	s.b.Reset()
	r.Offers = nil
	if s.keys(r, false, obstat.OS{}); strings.Contains(s.b.String(), "always") {
		t.Error(s.b.String())
	}
}

// A screenBuffer is a screen that a test can watch.
type screenBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (b *screenBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
	return b.text.Write(p)
}

// waitFor waits until a text is on the screen.
func (b *screenBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	for {
		b.mu.Lock()
		if strings.Contains(b.text.String(), text) {
			b.mu.Unlock()
			return
		}
		if b.more == nil {
			b.more = make(chan struct{})
		}
		more := b.more
		b.mu.Unlock()
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("%q never came:\n%s", text, b.text.String())
		case <-time.After(time.Minute):
			t.Fatalf("%q never came:\n%s", text, b.text.String())
		}
	}
}

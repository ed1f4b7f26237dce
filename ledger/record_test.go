package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// TestQueryMatches: each field of a query leaves out what it is about, and no other.
func TestQueryMatches(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &ledger.Record{Seq: 7, Time: at, Kind: ledger.Decision, Agent: "codex", Session: "s", Tool: "shell", Verdict: "deny", Rule: "rm *"}
	for _, q := range []ledger.Query{
		{}, {After: 6}, {Since: at}, {Until: at.Add(1)}, {Kind: ledger.Decision}, {Agent: "codex"}, {Session: "s"}, {Tool: "shell"}, {Verdict: "deny"}, {Rule: "rm *"}, {Limit: 1},
		{After: 6, Since: at, Until: at.Add(1), Kind: ledger.Decision, Agent: "codex", Session: "s", Tool: "shell", Verdict: "deny", Rule: "rm *"},
	} {
		if !q.Matches(r) {
			t.Errorf("%+v does not want it", q)
		}
	}
	for _, q := range []ledger.Query{
		{After: 7}, {Since: at.Add(1)}, {Until: at}, {Kind: ledger.Ask}, {Agent: "Codex"}, {Session: "t"}, {Tool: "she"}, {Verdict: "allow"}, {Rule: "rm"},
	} {
		if q.Matches(r) {
			t.Errorf("%+v wants it", q)
		}
	}
}

func TestLoadKey(t *testing.T) {
	path := ledger.KeyPath(filepath.Join(t.TempDir(), "obstat.db"))
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = ledger.LoadKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) {
			t.Fatalf("keys that were made at once differ: %x", keys)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the key: %v %v", st.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := os.WriteFile(path, keys[0][:31], 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := ledger.LoadKey(path); err == nil || k != nil || !strings.Contains(err.Error(), "32 bytes") {
		t.Errorf("half a key is taken: %x %v", k, err)
	}
}

func TestAbout(t *testing.T) {
	tests := []struct{ input, detail, verdict, want string }{
		{`{"command":"make","description":"Build"}`, ``, "deny", "make"},
		{`{"cmd":"ls"}`, ``, "ask", "ls"},
		{`{"filePath":"/p/a","url":"x"}`, ``, "ask", "/p/a"},
		{`{"command":"","path":"b"}`, ``, "ask", "b"},
		{`{"command":["ls"]}`, ``, "ask", `{"command":["ls"]}`},
		{`{"other":1}`, ``, "ask", `{"other":1}`},
		{`"text"`, ``, "ask", `"text"`},
		{`{"command":"rm -rf /"}`, `{"said":"ask","given":{"command":"rm -rf build"}}`, "allow", "rm -rf build, in place of rm -rf /"},
		{`{"command":"rm -rf /"}`, `{"said":"ask","given":{"command":"rm -rf build"}}`, "deny", "rm -rf /"},
		{`{"command":"ls"}`, `not JSON`, "allow", "ls"},
	}
	for _, test := range tests {
		r := &ledger.Record{Kind: ledger.Decision, Verdict: test.verdict, Input: json.RawMessage(test.input), Detail: json.RawMessage(test.detail)}
		if got := r.About(); got != test.want {
			t.Errorf("%s with %s: %q, want %q", test.input, test.detail, got, test.want)
		}
	}
}

// TestReplayable: what a decision was made of comes back from its record.
func TestReplayable(t *testing.T) {
	call := &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Subjects: []string{"x"}, Agent: "codex", Session: "s", User: "ann", Roles: []string{"dev"},
		Channel: "web", Dir: "/p/sub", Roots: []string{"/p"}, Project: "/p", Mode: "plan", Repeat: 2, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Branch: "main", After: []string{"read secrets"}, Hint: "read-only"}
	d := &obstat.Decision{Verdict: obstat.Ask, Stage: "rules", Marks: []string{"m"}}
	made := &ledger.Made{Call: call, Decision: d, Said: obstat.Ask, Mode: "plan", World: &obstat.Snapshot{Files: []string{"/p/.git"}}, Suggested: []string{"Bash(make *)"}}
	line, err := made.Record().Encode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ledger.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	got, c, err := r.Replayable()
	if err != nil || !reflect.DeepEqual(got, call) {
		t.Errorf("%+v %v\nwant %+v", got, err, call)
	}
	if c.Said != obstat.Ask || c.Partial != "" || !reflect.DeepEqual(c.Marks, d.Marks) || !reflect.DeepEqual(c.Suggested, made.Suggested) {
		t.Errorf("%+v", c)
	}
	if !r.World.IsFile("/p/.git") {
		t.Errorf("what was a file is forgotten: %+v", r.World)
	}
	if r.Call != call.DigestText() {
		t.Errorf("the digest is %s", r.Call)
	}

	for _, other := range []*ledger.Record{{Kind: ledger.Answer, Tool: "Bash"}, {Kind: ledger.Decision}} {
		if _, _, err := other.Replayable(); !errors.Is(err, ledger.ErrNoCall) {
			t.Errorf("%+v is a decision about a call: %v", other, err)
		}
	}
	if _, c, err := (&ledger.Record{Kind: ledger.Decision, Tool: "Bash", Verdict: "allow"}).Replayable(); err != nil || c.Said != obstat.Allow || c.Partial == "" {
		t.Errorf("without circumstances: %+v %v", c, err)
	}
	if _, _, err := (&ledger.Record{Kind: ledger.Decision, Tool: "Bash", Verdict: "perhaps"}).Replayable(); err == nil {
		t.Error("a verdict that is none is replayed")
	}
	r.Masked = []ledger.Masked{{Field: "reason"}}
	if _, c, _ := r.Replayable(); c.Partial != "" {
		t.Errorf("a masked reason makes it %q", c.Partial)
	}
	r.Masked = []ledger.Masked{{Pointer: "/command"}}
	if _, c, _ := r.Replayable(); c.Partial != "secrets were masked" {
		t.Errorf("a masked input makes it %q", c.Partial)
	}
}

func TestLegible(t *testing.T) {
	for in, want := range map[string][2]string{
		``:                           {``, ``},
		` {"a": 1}`:                  {` {"a": 1}`, ``},
		`{"a"`:                       {`"{\"a\""`, "the input is not JSON"},
		"\xff":                       {`"` + "\\ufffd" + `"`, "the input is not JSON"},
		strings.Repeat(" ", 1<<20+1): {`"the input has 1048577 bytes; its digest stands for it"`, "the input has 1048577 bytes; its digest stands for it"},
	} {
		out, partial := ledger.Legible([]byte(in))
		if string(out) != want[0] || partial != want[1] {
			t.Errorf("%.20q: %s, %q; want %q", in, out, partial, want)
		}
	}
	if got := ledger.ClipTo("añb", 2); got != "a… (4 bytes)" {
		t.Errorf("%q", got)
	}
	if got := ledger.ClipTo("añb", 4); got != "añb" {
		t.Errorf("%q", got)
	}
}

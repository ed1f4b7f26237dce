package inprocess_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/face/inprocess"
)

// A loaded is the reply to a policy.
type loaded struct {
	Policy  int    `json:"policy"`
	Dialect string `json:"dialect"`
	Errors  []struct {
		Msg string `json:"msg"`
		Pos struct {
			Line int `json:"line"`
		} `json:"pos"`
	} `json:"errors"`
}

// A decided is the reply to a call.
type decided struct {
	Verdict string `json:"verdict"`
	Asks    bool   `json:"asks"`
	Safety  bool   `json:"safety"`
	Stage   string `json:"stage"`
	Reason  string `json:"reason"`
	Rule    *struct {
		Text string `json:"text"`
	} `json:"rule"`
	Faults []json.RawMessage `json:"faults"`
}

func read[T any](t *testing.T, reply []byte) (out T) {
	t.Helper()
	if err := json.Unmarshal(reply, &out); err != nil {
		t.Fatalf("%v in %s", err, reply)
	}
	return out
}

const policy = `{"dialect": "opencode", "files": [{"text": "{\"permission\": {\"*\": \"deny\", \"safe\": \"allow\", \"pay\": \"ask\"}}"}]}`

func TestDecide(t *testing.T) {
	var e inprocess.Engine
	if l := read[loaded](t, e.Load([]byte(policy))); l.Policy != 1 || l.Dialect != "opencode" {
		t.Fatalf("got %+v", l)
	}
	for _, c := range []struct {
		policy              int
		call, verdict, says string
		asks                bool
	}{
		{1, `{"call": {"tool": "safe", "dir": "/w"}}`, "allow", "allow rule", false},
		{1, `{"call": {"tool": "wipe", "dir": "/w"}}`, "deny", "deny rule", false},
		{1, `{"call": {"tool": "pay", "dir": "/w"}}`, "deny", inprocess.Unasked, true},
		{1, `{"call": {"tool": "safe", "Tool": "wipe"}}`, "deny", "Tool", false},
		{1, `{"call": {"tool": "safe", "tool": "wipe"}}`, "deny", "tool", false},
		{1, `{"call": {"dir": "/w"}}`, "deny", `"tool" is missing`, false},
		{1, `{"call": {"tool": ""}}`, "deny", "names no tool", false},
		{1, `{"call": `, "deny", "1:10", false},
		{1, ``, "deny", "call", false},
		{0, `{"call": {"tool": "safe"}}`, "deny", "no policy 0", false},
		{2, `{"call": {"tool": "safe"}}`, "deny", "no policy 2", false},
	} {
		d := read[decided](t, e.Decide(c.policy, []byte(c.call)))
		if d.Verdict != c.verdict || d.Asks != c.asks || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s: got %+v, want %s with %q", c.call, d, c.verdict, c.says)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for src, want := range map[string]string{
		`{"files": []}`: "at least one file",
		`{"dialect": "nope", "files": [{"text": ""}]}`:                              `no dialect "nope"`,
		`{"dialect": "opencode", "files": [{"text": "{"}]}`:                         "",
		`{"dialect": "opencode", "file": 1, "files": []}`:                           "file",
		`{"dialect": "opencode", "options": {"x": "1"}, "files": [{"text": "{}"}]}`: `no option "x"`,
	} {
		var e inprocess.Engine
		l := read[loaded](t, e.Load([]byte(src)))
		if l.Policy != 0 || len(l.Errors) == 0 || !strings.Contains(l.Errors[0].Msg, want) {
			t.Errorf("%s: got %+v, want an error with %q", src, l, want)
		}
		if d := read[decided](t, e.Decide(1, []byte(`{"call": {"tool": "safe"}}`))); d.Verdict != "deny" {
			t.Errorf("%s: a refused policy answered %+v", src, d)
		}
	}
}

// A call that would change the policy is not allowed by it, as with every other face.
func TestSelfProtection(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "opencode.json")
	if err := os.WriteFile(file, []byte(`{"permission": "allow"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var e inprocess.Engine
	src, _ := json.Marshal(map[string]any{"dialect": "opencode", "files": []any{map[string]string{"name": file, "text": `{"permission": "allow"}`}}})
	e.Load(src)
	call, _ := json.Marshal(map[string]any{"call": map[string]any{"tool": "write", "dir": dir, "input": map[string]string{"filePath": file, "content": "{}"}}})
	if d := read[decided](t, e.Decide(1, call)); d.Verdict != "deny" || !d.Asks {
		t.Errorf("got %+v", d)
	}
}

func BenchmarkDecide(b *testing.B) {
	var e inprocess.Engine
	e.Load([]byte(`{"dialect": "opencode", "files": [{"text": "{\"permission\": {\"*\": \"deny\", \"safe\": \"allow\", \"bash\": {\"*\": \"ask\", \"git status*\": \"allow\"}}}"}]}`))
	call := []byte(`{"call": {"tool": "bash", "dir": "/usr", "input": {"command": "git status"}}}`)
	for b.Loop() {
		e.Decide(1, call)
	}
}

package agentscope_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// TestFidelity runs the edges of the document; the note of each case cites the section.
func TestFidelity(t *testing.T) {
	text, err := os.ReadFile("testdata/fidelity.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	casestest.Check(t, &agentscope.Dialect{}, "testdata/fidelity.jsonl", bytes.Count(text, []byte("\n")), nil)
}

// TestDetect: a context, the AgentState around one, and a mode alone (section Permission
// Mode), each as its dialect or as an error that says what to do.
func TestDetect(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"c.json", `{"allow_rules":{}}`, "agentscope"},
		{"state.json", `{"session_id":"s","permission_context":{"mode":"default"}}`, "agentscope"},
		{"c.json", `{"mode":"explore"}`, "agentscope"},
		{"c.json", `{"mode":"EXPLORE"}`, "agentscope"},
		{"permission_context.json", `{"mode":"default"}`, "agentscope"},
		{"c.json", `{"mode":"plan"}`, "adkfluent"},
		{"c.json", `{"mode":"default"}`, "this could be a file of adkfluent or agentscope"},
		{"c.json", `{"mode":"DONT_ASK"}`, "this could be a file of adkfluent or agentscope"},
	} {
		d, err := all.Detect(&dialect.File{Name: tt.name, Data: []byte(tt.text)})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = d.Name()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
}

// TestDontAskWarns: the DONT_ASK chart, literally, denies a tool whose own check asks
// whatever the allow rules say, and the file's reader is told at the rule.
func TestDontAskWarns(t *testing.T) {
	const file = `{"mode":"dont_ask","allow_rules":{"mcp__x__y":["*"],"Bash":["ls:*"],"Read":["src/**"]}}`
	l, err := load(file)
	if err != nil || len(l.Warnings) != 1 {
		t.Fatal(err, l.Warnings)
	}
	w := l.Warnings[0]
	if w.Pos.Col != strings.Index(file, `"*"`)+1 || !strings.Contains(w.Msg, "mcp__x__y is denied in dont_ask") || w.Hint == "" {
		t.Errorf("%+v", w)
	}
	if l, err := load(strings.Replace(file, "dont_ask", "default", 1)); err != nil || len(l.Warnings) != 0 {
		t.Error(err, l.Warnings)
	}
}

// TestStateKeepsItsBytes: an accepted rule goes into the context of an AgentState, every
// other byte of the dump unchanged.
func TestStateKeepsItsBytes(t *testing.T) {
	const file = `{"session_id": "s", "permission_context": {"mode": "default", "allow_rules": {}}, "cur_iter": 1}`
	rule := agentscope.Rule("Bash", "npm run:*", obstat.Allow)
	got, err := (&agentscope.Dialect{}).AddRule(&dialect.File{Name: "state.json", Data: []byte(file)}, &obstat.Offer{Rule: rule, List: "allow"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := load(string(got))
	if err != nil {
		t.Fatal(err)
	}
	d := l.Policy.Decide(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"npm run x"}`), Dir: "/p"}, &obstat.Snapshot{})
	if d.Verdict != obstat.Allow || !strings.HasPrefix(string(got), `{"session_id": "s", "permission_context": {"mode": "default", `) || !strings.HasSuffix(string(got), `, "cur_iter": 1}`) {
		t.Errorf("%v: %s", d.Verdict, got)
	}
}

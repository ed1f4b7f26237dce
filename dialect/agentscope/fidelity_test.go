package agentscope_test

import (
	"bytes"
	"fmt"
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

// TestDeniesDirectly: section Pattern Examples, "`src/**/*.py` matches any `.py` under `src/`". With the floor on a deny
// or ask rule holds for `src/x.py` as well, which AgentScope's fnmatch lets pass; an allow rule means no more than there.
func TestDeniesDirectly(t *testing.T) {
	const files = `{"mode":"bypass","%s_rules":{"Write":["src/**/*.py"]}}`
	for _, tt := range []struct {
		bucket, floor, path string
		want                obstat.Verdict
	}{
		{"deny", "on", "src/x.py", obstat.Deny}, {"deny", "on", "src/a/b/x.py", obstat.Deny}, {"ask", "on", "src/x.py", obstat.Ask},
		{"deny", "on", "src/x.go", obstat.Allow}, {"deny", "on", "srcx.py", obstat.Allow}, {"deny", "off", "src/x.py", obstat.Allow},
	} {
		l, err := dialect.Load(&agentscope.Dialect{}, &dialect.Input{Options: map[string]string{"floor": tt.floor},
			Files: []dialect.File{{Name: "c.json", Data: fmt.Appendf(nil, files, tt.bucket)}}})
		if err != nil {
			t.Fatal(err)
		}
		call := &obstat.Call{Tool: "Write", Input: fmt.Appendf(nil, `{"file_path":%q}`, tt.path), Dir: "/p"}
		if d := l.Policy.Decide(call, &obstat.Snapshot{}); d.Verdict != tt.want {
			t.Errorf("%+v: %v, %s", tt, d.Verdict, d.Reason())
		}
	}
}

// TestSubstitutionReads: `echo $(whoami)` is read-only exactly where `whoami` is.
func TestSubstitutionReads(t *testing.T) {
	l, err := load(`{"mode":"explore"}`)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"whoami": obstat.Deny, "echo $(whoami)": obstat.Deny, "echo `whoami`": obstat.Deny,
		"pwd": obstat.Allow, "echo $(pwd)": obstat.Allow, "ls $(git log)": obstat.Allow, "ls $(cat $(id))": obstat.Deny} {
		call := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p"}
		if d := l.Policy.Decide(call, &obstat.Snapshot{}); d.Verdict != want {
			t.Errorf("%s: %v, %s", command, d.Verdict, d.Reason())
		}
	}
}

// TestSuggestsForAll: a line of several commands and a search without a path have suggestions that settle them.
func TestSuggestsForAll(t *testing.T) {
	l, err := load(`{"mode":"default"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"touch a; make"}`, "[Bash(touch a:*) Bash(make:*) Bash(touch a; make:*)]"},
		{"Bash", `{"command":"npm test && npm run build"}`, "[Bash(npm test:*) Bash(npm run:*)]"},
		{"Glob", `{"pattern":"*.py"}`, "[Glob(*.py) Read(/p)]"},
		{"Glob", `{"pattern":"src/**/*.py"}`, "[Glob(src/**/*.py) Read(/p)]"},
		{"Grep", `{"pattern":"TODO"}`, "[Grep(/p) Read(/p)]"},
	} {
		call := &obstat.Call{Tool: tt.tool, Input: []byte(tt.input), Dir: "/p", Roots: []string{"/p"}}
		d := l.Policy.Decide(call, &obstat.Snapshot{})
		var got []string
		for _, o := range l.Offers(call, &obstat.Snapshot{}, &d) {
			got = append(got, o.Rule.Source)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.tool, tt.input, got, tt.want)
		}
	}
}

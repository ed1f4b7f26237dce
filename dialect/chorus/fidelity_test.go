package chorus_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
)

func decide(t *testing.T, file string, call *obstat.Call) obstat.Decision {
	t.Helper()
	l, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "agent.json", Data: []byte(file)}}})
	if err != nil {
		t.Fatal(err)
	}
	call.Dir = "/ws"
	return l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"})
}

// TestLineBreaks: section Built-in Presets says that `tool:.*` matches every action, and
// section Regex Engine that it is Python's re.fullmatch, whose `.` matches no line break.
// The engine's meaning stands, and the denial says so.
func TestLineBreaks(t *testing.T) {
	for _, profile := range []string{`"open"`, `"standard"`, `{"allow":["tool:bash:.*"],"ask":[]}`} {
		d := decide(t, `{"permissions":`+profile+`}`, &obstat.Call{Tool: "bash", Input: []byte(`{"command":"ls\npwd"}`)})
		if d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), "line break") || !strings.Contains(d.Reason(), "(?s:.*)") {
			t.Errorf("%s: %v: %s", profile, d.Verdict, d.Reason())
		}
	}
	if d := decide(t, `{"permissions":{"allow":["(?s:tool:bash:.*)"],"ask":[]}}`, &obstat.Call{Tool: "bash", Input: []byte(`{"command":"ls\npwd"}`)}); d.Verdict != obstat.Allow {
		t.Errorf("what the reason says does not help: %v: %s", d.Verdict, d.Reason())
	}
}

// TestReadsOfCommands: a pattern of ask (or deny) about view holds for what a command
// reads; an allowed command may read what no pattern is about.
func TestReadsOfCommands(t *testing.T) {
	const cat = `{"command":"cat secret.txt"}`
	for profile, want := range map[string]obstat.Verdict{
		`{"allow":["tool:bash:cat .*"],"ask":["tool:view:secret.*"]}`:                          obstat.Ask,
		`{"allow":["tool:bash:cat .*","tool:view:.*"],"ask":[],"deny":["tool:view:secret.*"]}`: obstat.Deny,
		`{"allow":["tool:bash:cat .*","tool:view:src/.*"],"ask":[]}`:                           obstat.Allow,
		`{"allow":["tool:bash:cat .*","tool:view:secret.txt"],"ask":["tool:view:.*"]}`:         obstat.Allow,
		`{"allow":["tool:view:.*"],"ask":["tool:bash:cat .*"]}`:                                obstat.Ask,
		`{"allow":["tool:bash:.*"],"ask":["tool:view:secret.*"]}`:                              obstat.Ask,
	} {
		if d := decide(t, `{"permissions":`+profile+`}`, &obstat.Call{Tool: "bash", Input: []byte(cat)}); d.Verdict != want {
			t.Errorf("%s: %v: %s, want %v", profile, d.Verdict, d.Reason(), want)
		}
	}
}

// TestDocumentedArguments: the arguments of the document's git and self_edit tools are what its table says, and no
// files: under its own custom profile an agent edits its docs without a question. A refspec is no branch's name.
func TestDocumentedArguments(t *testing.T) {
	profile := `{"permissions": {"allow": ["tool:view:.*", "tool:create_file:docs/.*", "tool:str_replace:docs/.*", "tool:self_edit:docs:.*",
		"tool:git:merge_request .*", "tool:git:branch .*", "tool:git:push origin (?!main).*"],
		"ask": ["tool:bash:.*", "tool:create_file:.*", "tool:str_replace:.*"]}}`
	l, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.json", Data: []byte(profile)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, input string
		want        obstat.Verdict
	}{
		{"git_merge_request", `{"target":"dev"}`, obstat.Allow},
		{"git_merge_request", `{"target":"src/main.go"}`, obstat.Allow},
		{"git_branch", `{"name":"feature/new-ui"}`, obstat.Allow},
		{"self_edit_docs", `{"path":"README.md","content":"x"}`, obstat.Allow},
		{"self_edit_docs", `{"path":"../README.md","content":"x"}`, obstat.Deny},
		{"self_edit_system_prompt", `{"content":"x"}`, obstat.Deny},
		{"create_file", `{"path":"docs/a.md"}`, obstat.Allow},
		{"create_file", `{"path":"src/a.go"}`, obstat.Ask},
		{"git_push", `{"remote":"origin","branch":"dev"}`, obstat.Allow},
		{"git_push", `{"remote":"origin","branch":"feature/auth"}`, obstat.Allow},
		{"git_push", `{"remote":"origin","branch":"main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"HEAD:main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"dev:main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"+main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"refs/heads/main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"heads/main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"HEAD"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":":main"}`, obstat.Deny},
		{"git_push", `{"remote":"origin","branch":"x@{-1}"}`, obstat.Deny},
		{"git_merge_request", `{"target":"HEAD~1"}`, obstat.Deny},
	} {
		call := &obstat.Call{Tool: c.tool, Input: []byte(c.input), Dir: "/src", Roots: []string{"/src"}}
		if d := l.Policy.Decide(call, &obstat.Snapshot{}); d.Verdict != c.want {
			t.Errorf("%s %s: %v, %s", c.tool, c.input, d.Verdict, d.Reason())
		}
	}
}

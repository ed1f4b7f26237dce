package inprocess

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// trial decides a call by a context of AgentScope, whose tool answered as said.
func trial(t *testing.T, trials *Trials, context_, tool, input, said string) (*Verdict, map[string]any) {
	t.Helper()
	of := &Trial{Policy: Policy{Dialect: "agentscope", Files: []File{{Text: context_}}},
		Call: obstat.Call{Tool: tool, Input: []byte(input), Dir: "/w"}, Said: json.RawMessage(said)}
	v, err := trials.Try(context.Background(), of, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v.Words)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]any{}
	if err := json.Unmarshal(text, &words); err != nil {
		t.Fatal(err)
	}
	return v, words
}

// A tool that answers in the host's process takes part in the decision, in AgentScope's words.
func TestTryHears(t *testing.T) {
	rule := func(bucket, tool, content string) string {
		return `{"` + bucket + `_rules":{"` + tool + `":[{"tool_name":"` + tool + `","rule_content":` + content +
			`,"behavior":"` + bucket + `","source":"t"}]}}`
	}
	for _, row := range []struct{ name, context, tool, input, said, verdict, message string }{
		{"the document's safety check", rule("allow", "Deploy", "null"), "Deploy", `{"target":"prod-db"}`,
			`{"check":{"behavior":"ask","bypass_immune":true,"message":"Operation targets production resource: prod-db"}}`,
			"ask", "Operation targets production resource: prod-db"},
		{"a check that passes", rule("allow", "Deploy", "null"), "Deploy", `{"target":"dev"}`,
			`{"check":{"behavior":"passthrough"}}`, "allow", "Permission granted for Deploy"},
		{"a tool that allows itself", `{}`, "Note", `{"text":"x"}`,
			`{"check":{"behavior":"allow","message":"housekeeping"}}`, "allow", "housekeeping"},
		{"a rule that the tool matches itself", rule("deny", "Deploy", `"prod"`), "Deploy", `{"target":"prod-db"}`,
			`{"matcher":true,"matches":["prod"],"check":{"behavior":"passthrough"}}`, "deny",
			"Permission to use Deploy has been denied"},
		{"a rule that the tool does not match", rule("deny", "Deploy", `"prod"`), "Deploy", `{"target":"dev"}`,
			`{"matcher":true,"matches":[],"check":{"behavior":"passthrough"}}`, "ask", "Permission required for Deploy"},
		{"an own tool is checked here as well", `{"mode":"explore"}`, "Bash", `{"command":"git branch new"}`,
			`{"known":true,"read_only":true,"check":{"behavior":"allow","message":"read-only"}}`, "deny",
			"Permission denied for Bash (explore mode is read-only)"},
		{"and its stricter word holds", rule("allow", "Bash", "null"), "Bash", `{"command":"make"}`,
			`{"known":true,"check":{"behavior":"deny","message":"not today"}}`, "deny", "not today"},
		{"a server's word on itself", `{}`, "mcp__files__wipe", `{}`,
			`{"mcp":true,"read_only":true,"check":{"behavior":"allow","message":"read-only"}}`, "ask",
			"Permission required for mcp__files__wipe"},
		{"an ask in dont_ask", `{"mode":"dont_ask"}`, "Deploy", `{}`,
			`{"check":{"behavior":"ask","bypass_immune":true,"message":"m","decision_reason":"prod"}}`, "deny",
			"Permission denied for Deploy (dont_ask mode - ASK converted to DENY, user not available)"},
		{"self-protection in dont_ask", `{"mode":"dont_ask","allow_rules":{"Write":["**"]}}`, "Write",
			`{"file_path":"/w/obstat.yaml","content":"x"}`, `{"known":true,"check":{"behavior":"passthrough"}}`, "deny",
			"Permission denied for Write: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			v, words := trial(t, &Trials{}, row.context, row.tool, row.input, row.said)
			message, _ := words["message"].(string)
			if v.Verdict.String() != row.verdict || !strings.HasPrefix(message, row.message) {
				t.Errorf("%s, %q; want %s, %q", v.Verdict, message, row.verdict, row.message)
			}
		})
	}
}

// Suggestions and texts are those of the call, though the compiled policy is kept.
func TestTryKeeps(t *testing.T) {
	trials := &Trials{}
	for _, word := range []string{"push", "fetch", "pull"} {
		said := `{"known":true,"suggestions":["git ` + word + `:*"],"check":{"behavior":"passthrough"}}`
		_, words := trial(t, trials, `{}`, "Bash", `{"command":"git `+word+`"}`, said)
		rules, _ := words["suggested_rules"].([]any)
		if len(rules) != 1 || rules[0].(map[string]any)["rule_content"] != "git "+word+":*" {
			t.Errorf("git %s: suggested %v", word, rules)
		}
	}
	if len(trials.kept) != 1 {
		t.Errorf("%d compiled policies are kept, and one decides all", len(trials.kept))
	}
	for i := range 3 * maxKept {
		trial(t, trials, `{"mode":"explore"}`, "t"+strings.Repeat("x", i), `{}`, `{"check":{"behavior":"passthrough"}}`)
	}
	if len(trials.kept) > maxKept {
		t.Errorf("%d compiled policies are kept", len(trials.kept))
	}
}

// Answers that make no sense are errors, which a host denies by.
func TestTryRefuses(t *testing.T) {
	for _, said := range []string{`{}`, `{"check":{"behavior":"maybe"}}`, `{"check":7}`, `[]`,
		`{"check":{"behavior":"allow"},"surprise":1}`} {
		of := &Trial{Policy: Policy{Dialect: "agentscope", Files: []File{{Text: "{}"}}}, Call: obstat.Call{Tool: "t"},
			Said: json.RawMessage(said)}
		if v, err := (&Trials{}).Try(context.Background(), of, nil); err == nil {
			t.Errorf("%s: %s", said, v.Verdict)
		}
	}
	for _, src := range []string{``, `{}`, `{"policy":{"dialect":"agentscope","files":[{"text":"{"}]},"call":{"tool":"t"}}`,
		`{"policy":{"dialect":"adkfluent","files":[{"text":"{}"}]},"call":{"tool":"t"},"said":{}}`} {
		var d struct{ Verdict obstat.Verdict }
		if err := json.Unmarshal((&Engine{}).Try([]byte(src)), &d); err != nil || d.Verdict != obstat.Deny {
			t.Errorf("%s: %v %v", src, d, err)
		}
	}
}

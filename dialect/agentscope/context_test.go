package agentscope_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
)

func load(context string) (*dialect.Loaded, error) {
	return dialect.Load(&agentscope.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "c.json", Data: []byte(context)}}})
}

// TestBadContexts: everything that is wrong, each with its place.
func TestBadContexts(t *testing.T) {
	rule := func(fields string) string { return `{"deny_rules":{"Bash":[{` + fields + `}]}}` }
	for _, tt := range []struct{ name, context, want string }{
		{"upper-case mode", `{"mode":"EXPLORE"}`, `c.json:1:9: mode is "EXPLORE"`},
		{"null mode", `{"mode":null}`, `c.json:1:9: mode is null`},
		{"missing rule_content", rule(`"tool_name":"Bash","behavior":"deny","source":"u"`), `c.json:1:24: the key "rule_content" is missing`},
		{"missing source", rule(`"tool_name":"Bash","rule_content":"x","behavior":"deny"`), `c.json:1:24: the key "source" is missing`},
		{"wrong type", `{"deny_rules":[]}`, `c.json:1:15: "deny_rules" should be an object, not a list`},
		{"rules not a list", `{"deny_rules":{"Bash":"rm"}}`, `c.json:1:23: the rules of Bash should be a list, not a string`},
		{"bad pattern", rule(`"tool_name":"Bash","rule_content":"foo\\q*","behavior":"deny","source":"u"`), `rule_content "foo\\q*"`},
		{"behavior", rule(`"tool_name":"Bash","rule_content":"x","behavior":"DENY","source":"u"`), `behavior is "DENY"`},
		{"near miss of a key", `{"deny_rule":{}}`, `c.json:1:2: unknown key "deny_rule" [unknown-key]; did you mean "deny_rules"?`},
		{"duplicate key", `{"mode":"explore","mode":"bypass"}`, `[duplicate-key]`},
		{"directory without source", `{"working_directories":{"/p":{"path":"/p"}}}`, `c.json:1:30: the key "source" is missing`},
		{"two at once", `{"mode":"x","deny_rules":3}`, "c.json:1:9: mode is \"x\""},
		{"not JSON", `{"mode"`, `c.json:1:8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(tt.context)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestWarnings: what the original swallows is said.
func TestWarnings(t *testing.T) {
	for context, want := range map[string]string{
		`{"mood":"x"}`: `c.json:1:2: warning: unknown key "mood"`,
		`{"deny_rules":{"Bash":[{"tool_name":"Bash","rule_content":null,"behavior":"allow","source":"u"}]}}`: `a rule with behavior "allow" stands in deny_rules`,
		`{"deny_rules":{"Bash":[{"tool_name":"Write","rule_content":null,"behavior":"deny","source":"u"}]}}`: `a rule for "Write" stands under "Bash"`,
		`{"deny_rules":{"T":[{"tool_name":"T","rule_content":"x*","behavior":"deny","source":"u"}]}}`:        `the rule never applies`,
		`{"working_directories":{"/p":{"path":"/q","source":"u"}}}`:                                          `is not read`,
	} {
		l, err := load(context)
		if err != nil || !strings.Contains(l.Warnings.Error(), want) {
			t.Errorf("%s: %v, want %s", context, err, want)
		}
	}
}

// TestBadCalls: a safe verdict, never an exception, never silence.
func TestBadCalls(t *testing.T) {
	l, err := load(`{"mode":"accept_edits","allow_rules":{"Write":[{"tool_name":"Write","rule_content":"/home/**","behavior":"allow","source":"u"}],"Bash":[{"tool_name":"Bash","rule_content":"ls:*","behavior":"allow","source":"u"}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, input string }{
		{"Write", `{"file_path":"/home/\u0000/x"}`}, {"Write", `{"file_path":3}`}, {"Write", `{}`}, {"Write", `{"file_path":null}`}, {"Write", `[]`},
		{"Bash", `{"command":null}`}, {"Bash", `{}`}, {"Bash", `{"command":["ls"]}`}, {"Bash", `{"command":"ls \u0000; rm x"}`}, {"Bash", `{"COMMAND":"rm x","command":"ls"}`},
	} {
		d := l.Policy.Decide(&obstat.Call{Tool: tt.tool, Input: json.RawMessage(tt.input), Dir: "/home/u"}, &obstat.Snapshot{HomeDir: "/home/u"})
		if d.Verdict == obstat.Allow || d.Reason() == "" {
			t.Errorf("%s %s: %v %s", tt.tool, tt.input, d.Verdict, d.Reason())
		}
	}
}

// Opener matches its rules itself.
type Opener struct{}

func (Opener) MatchRule(content string, input map[string]any) bool {
	door, _ := input["door"].(string)
	return strings.HasPrefix(door, content)
}

func (Opener) Suggest(input map[string]any) []string { return []string{input["door"].(string)[:1]} }

func TestRuleMatcher(t *testing.T) {
	context := `{"allow_rules":{"open":[{"tool_name":"open","rule_content":"front","behavior":"allow","source":"u"}]},"deny_rules":{"open":[{"tool_name":"open","rule_content":"vault","behavior":"deny","source":"u"}]}}`
	d := &agentscope.Dialect{Tools: map[string]agentscope.CustomTool{"open": Opener{}}}
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "c.json", Data: []byte(context)}}})
	if err != nil {
		t.Fatal(err)
	}
	for door, want := range map[string]obstat.Verdict{"front-1": obstat.Allow, "vault": obstat.Deny, "back": obstat.Ask} {
		call := &obstat.Call{Tool: "open", Input: json.RawMessage(`{"door":"` + door + `"}`)}
		dec := l.Policy.Decide(call, nil)
		if dec.Verdict != want {
			t.Errorf("%s: %v, want %v", door, dec.Verdict, want)
		}
		if o := d.Offers(l, call, nil, &dec); len(o) != 1 || o[0].Text != "open("+door[:1]+")" {
			t.Errorf("%s: offers %+v", door, o)
		}
	}
}

// FuzzContext: no panic, every error with a place, and what is taken compiles.
func FuzzContext(f *testing.F) {
	f.Add(`{"mode":"explore","working_directories":{"/p":{"path":"/p","source":"u"}},"allow_rules":{"Bash":[{"tool_name":"Bash","rule_content":"npm run:*","behavior":"allow","source":"s"}]}}`)
	f.Add(`{"mode":null}`)
	f.Fuzz(func(t *testing.T, context string) {
		l, err := load(context)
		if err != nil {
			es, ok := err.(obstat.Errors)
			if !ok || len(es) == 0 || es[0].Pos.Line < 1 {
				t.Fatalf("no position: %v", err)
			}
			return
		}
		l.Policy.Decide(bash("ls"), nil)
	})
}

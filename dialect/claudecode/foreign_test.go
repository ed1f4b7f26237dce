package claudecode

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
)

// TestToolNames: rules for Claude Code's tools hold for the same tools of other agents.
func TestToolNames(t *testing.T) {
	for tool, want := range map[string]string{
		"Bash": "Bash", "shell": "Bash", "run_shell_command": "Bash", "execute_command": "Bash", "bash": "Bash",
		"read": "Read", "read_file": "Read", "view": "Read",
		"write_file": "Write", "write_to_file": "Write",
		"replace": "Edit", "apply_patch": "Edit", "apply_diff": "Edit",
		"NotebookEdit": "NotebookEdit", "list_directory": "LS", "glob": "Glob", "grep_search": "Grep",
		"web_fetch": "WebFetch", "webfetch": "WebFetch", "google_web_search": "WebSearch",
		"Task": "Agent", "Agent": "Agent", "skill": "Skill",
		"AskUserQuestion": "AskUserQuestion", "ask_followup_question": "ask_followup_question", "exit_plan_mode": "exit_plan_mode",
		"mcp__github__create_issue": "mcp__github__create_issue", "TodoWrite": "TodoWrite", "nobody_knows": "nobody_knows",
	} {
		e, _ := effect.Lookup(tool)
		if got := toolName(tool, &e); got != want {
			t.Errorf("%s (%s) is %s, want %s", tool, e.Canonical, got, want)
		}
	}
}

func TestHostOf(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Example.COM/x?y": "example.com", "http://user:pw@host:8080/": "host", "https://[::1]:80/": "::1", "example.com.": "example.com",
		"git@github.com:a/b.git": "github.com", "host:22": "host", "user@host": "host", "ssh://git@host/x": "host",
		"https://a\\b.c/": "", "https://a\nb.c/": "", "https://[::1": "", "": "",
	} {
		if got := hostOf(raw); got != want {
			t.Errorf("%q has the host %q, want %q", raw, got, want)
		}
	}
}

// TestForeignCalls: a policy of Claude Code's decides the calls of other agents' tools by what they do.
func TestForeignCalls(t *testing.T) {
	l := load(t, nil, rules("project", "", "allow Bash(make *)", "allow Edit(/src/**)", "allow WebFetch(domain:ok.example)", "deny Read(//w/secret/**)", "deny Bash(rm *)"))
	for _, test := range []struct {
		tool, input string
		want        obstat.Verdict
	}{
		{"run_shell_command", `{"command": "make all"}`, obstat.Allow},
		{"run_shell_command", `{"command": "make all; rm x"}`, obstat.Deny},
		{"shell", `{"command": ["bash", "-lc", "rm x"]}`, obstat.Deny},
		{"write_file", `{"file_path": "/w/src/a.go", "content": ""}`, obstat.Allow},
		{"write_file", `{"file_path": "/w/other/a.go", "content": ""}`, obstat.Ask},
		{"replace", `{"file_path": "/w/src/a.go", "old_string": "a", "new_string": "b"}`, obstat.Allow},
		{"read_file", `{"path": "/w/secret/key"}`, obstat.Deny},
		{"read_file", `{"path": "/w/plain"}`, obstat.Allow},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: src/a.go\n@@\n-a\n+b\n*** End Patch"}`, obstat.Allow},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: src/a.go\n@@\n-a\n+b\n*** Add File: top.go\n+x\n*** End Patch"}`, obstat.Ask},
		{"webfetch", `{"url": "https://ok.example/x"}`, obstat.Allow},
		{"webfetch", `{"url": "https://ok.example.evil/x"}`, obstat.Ask},
		{"web_fetch", `{"prompt": "read https://ok.example/a, and (https://other.example/b)"}`, obstat.Ask},
		{"web_fetch", `{"prompt": "read https://ok.example/a."}`, obstat.Allow},
		{"ask_followup_question", `{"question": "which?"}`, obstat.Ask},
	} {
		c := &obstat.Call{Tool: test.tool, Input: json.RawMessage(test.input), Dir: "/w"}
		if d := l.Policy.Decide(c, world); d.Verdict != test.want {
			t.Errorf("%s %s: %s (%s), want %s", test.tool, test.input, d.Verdict, d.Reason(), test.want)
		}
	}
}

// TestRuleFor: an effect is said as a rule that settles a call with that effect, and what
// would mean more than the effect is not said at all.
func TestRuleFor(t *testing.T) {
	l := load(t, nil, rules("project", ""))
	for _, test := range []struct{ kind, target, want, settles, not string }{
		{dialect.EffectRun, "npm run", "Bash(npm run *)", "Bash: npm run build", "Bash: npm test"},
		{obstat.FaceWrite, "/w/src", "Edit(/src/**)", "Edit: /w/src/a/b.go", "Edit: /w/srcs/b.go"},
		{obstat.FaceWrite, "/else/src", "Edit(//else/src/**)", "Edit: /else/src/b.go", "Edit: /w/else/src/b.go"},
		{obstat.FaceRead, "/else/docs", "Read(//else/docs/**)", "Read: /else/docs/a", "Read: /else/x"},
		{obstat.FaceConnect, "api.example", "WebFetch(domain:api.example)", "WebFetch: https://api.example/x", "WebFetch: https://xapi.example/"},
		{dialect.EffectRun, "echo *", "", "", ""},
		{dialect.EffectRun, "echo (x)", "", "", ""},
		{obstat.FaceWrite, "/w/a[b]", "", "", ""},
		{obstat.FaceConnect, "*.example", "", "", ""},
		{obstat.FaceDelete, "/w/src", "", "", ""},
	} {
		o, ok := Dialect{}.RuleFor(l, test.kind, test.target, "/w")
		if ok != (test.want != "") || o.Text != test.want {
			t.Errorf("%s %s is said as %q, want %q", test.kind, test.target, o.Text, test.want)
		}
		if !ok {
			continue
		}
		pol, err := l.With(o)
		if err != nil {
			t.Errorf("%s: %v", o.Text, err)
			continue
		}
		if d := pol.Decide(call(test.settles), world); d.Verdict != obstat.Allow {
			t.Errorf("%s does not settle %s: %s", o.Text, test.settles, d.Reason())
		}
		if was, d := l.Policy.Decide(call(test.not), world), pol.Decide(call(test.not), world); d.Verdict != was.Verdict {
			t.Errorf("%s changes %s from %s to %s", o.Text, test.not, was.Verdict, d.Verdict)
		}
	}
}

// TestOffersOfReads: a file that is asked for is offered alone and with its directory, and never
// where its name would be read as a pattern.
func TestOffersOfReads(t *testing.T) {
	l := load(t, nil, rules("project", ""))
	for path, want := range map[string]string{
		"/else/docs/a.md": "Read(//else/docs/a.md) Read(//else/docs/**)",
		"/else/[x]/a.md":  "",
		"/else/a*b":       "",
	} {
		c := call("Read: " + path)
		d := l.Policy.Decide(c, world)
		var got []string
		for _, o := range l.Offers(c, world, &d) {
			got = append(got, o.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s (%s): offered %q, want %q", path, d.Verdict, got, want)
		}
	}
}

// TestAddRuleOnce: a rule is written once, into the list that it is for.
func TestAddRuleOnce(t *testing.T) {
	f := &dialect.File{Name: ".claude/settings.json", Data: []byte("{\n    \"permissions\": {\n        \"deny\": [\"Bash(rm *)\"]\n    }\n}\n")}
	for _, o := range []obstat.Offer{{Text: "Bash(ls)"}, {Text: "Bash(ls)"}, {Text: "Bash(mv *)", List: "deny"}, {Text: "Read(~/x)", List: "ask"}} {
		data, err := Dialect{}.AddRule(f, &o)
		if err != nil {
			t.Fatal(err)
		}
		f.Data = data
	}
	var got struct{ Permissions map[string][]string }
	if err := json.Unmarshal(f.Data, &got); err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{"allow": "Bash(ls)", "deny": "Bash(rm *) Bash(mv *)", "ask": "Read(~/x)"} {
		if have := strings.Join(got.Permissions[list], " "); have != want {
			t.Errorf("%s has %q, want %q\n%s", list, have, want, f.Data)
		}
	}
	f.Data = []byte(`{"permissions": "none"}`)
	if out, err := (Dialect{}).AddRule(f, &obstat.Offer{Text: "Bash(ls)"}); err == nil {
		t.Errorf("a rule is written into %s", out)
	}
}

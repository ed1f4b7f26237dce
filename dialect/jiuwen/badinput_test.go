package jiuwen

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tree"
)

// TestBadInput: each mistake is reported at its place, and none of them means
// less protection.
func TestBadInput(t *testing.T) {
	const head = "permissions:\n  schema: tiered_policy\n"
	tests := []struct {
		name, src string
		problem   string // "line:col: code", of an error if it ends in "!"
		tool, cmd string
		want      obstat.Verdict
	}{
		{"off is a boolean only to YAML 1.1", head + "  enabled: off\n  tools: {bash: deny}\n", "3:12: risky", "bash", "ls", obstat.Deny},
		{"no is a boolean only to YAML 1.1", head + "  enabled: no\n  tools: {bash: deny}\n", "3:12: risky", "bash", "ls", obstat.Deny},
		{"on is no level", head + "  tools:\n    bash: on\n  defaults: {'*': allow}\n", "4:11: bad-value", "bash", "ls", obstat.Deny},
		{"yes is no level", head + "  defaults: {'*': yes}\n", "3:19: bad-value", "bash", "ls", obstat.Deny},
		{"an empty enabled does not switch off", head + "  enabled:\n  tools: {bash: deny}\n", "3:11: bad-value", "bash", "ls", obstat.Deny},
		{"a tab", "permissions:\n\ttools: {bash: allow}\n", "2:1: syntax!", "", "", 0},
		{"a key twice", head + "  tools:\n    bash: deny\n    bash: allow\n", "5:5: duplicate-key!", "", "", 0},
		{"an unknown anchor", head + "  tools: *nope\n", "3:10: syntax!", "", "", 0},
		{"half a flow mapping", head + "  tools: {bash: deny", "3:10: syntax!", "", "", 0},
		{"half a quoted text", head + "  rules:\n    - pattern: \"rm", "4:16: syntax!", "", "", 0},
		{"the section is a list", "permissions: [a]\n", "1:14: wrong-type!", "", "", 0},
		{"the file is a list", "- a\n", "1:1: wrong-type!", "", "", 0},
		{"no section at all", "models: {}\n", "1:1: missing", "bash", "ls", obstat.Ask},
		{"an empty file", "", "1:1: missing", "bash", "ls", obstat.Ask},
		{"an unknown level of a tool", head + "  tools: {bash: block}\n  defaults: {'*': allow}\n", "3:17: bad-value", "bash", "ls", obstat.Deny},
		{"a level of another type", head + "  tools: {bash: 5}\n  defaults: {'*': allow}\n", "3:17: bad-value", "bash", "ls", obstat.Deny},
		{"a level of the wrong letters in the legacy matcher", "permissions:\n  tools: {bash: ALLOW}\n", "2:17: bad-value", "bash", "ls", obstat.Deny},
		{"an unknown action", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: bash, pattern: ls, action: block}\n", "5:49: bad-value", "bash", "ls", obstat.Deny},
		{"an unknown severity", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: bash, pattern: ls, severity: URGENT}\n", "5:51: bad-value", "bash", "ls", obstat.Ask},
		{"an unknown level of a directory", head + "  tools: {bash: allow}\n  external_directory: {'*': block}\n", "4:29: bad-value", "bash", "cat /etc/x", obstat.Deny},
		{"directories of another type", head + "  tools: {bash: allow}\n  external_directory: [x]\n", "4:23: wrong-type", "bash", "cat /etc/x", obstat.Deny},
		{"tools of two categories", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: [bash, read_file], pattern: ls, action: deny}\n", "5:29: no-effect", "bash", "ls", obstat.Allow},
		{"a tool without rules", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: [bash, code], pattern: ls, action: deny}\n", "5:29: no-effect", "bash", "ls", obstat.Allow},
		{"a misspelt tool", head + "  rules:\n    - {id: r, tools: [bahs], pattern: ls, action: allow}\n", "4:23: no-effect", "bash", "ls", obstat.Ask},
		{"a network tool", head + "  rules:\n    - {id: r, tools: [mcp_fetch_webpage], pattern: x, action: deny}\n", "4:7: no-effect", "bash", "ls", obstat.Ask},
		{"a broken expression that denies", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: bash, pattern: 're:(', action: deny}\n", "5:37: bad-pattern", "bash", "ls", obstat.Deny},
		{"a broken expression that asks", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: bash, pattern: 're:(', action: ask}\n", "5:37: bad-pattern", "bash", "ls", obstat.Ask},
		{"a broken expression that allows", head + "  rules:\n    - {id: r, tools: bash, pattern: 're:(|ls', action: allow}\n", "4:37: bad-pattern", "bash", "ls", obstat.Ask},
		{"a broken override", head + "  approval_overrides:\n    - {id: o, tools: bash, pattern: 're:(|ls', action: allow}\n", "4:37: bad-pattern", "bash", "ls", obstat.Ask},
		{"a wildcard that can match nothing", head + "  tools: {bash: allow}\n  rules:\n    - {id: r, tools: bash, pattern: '* *', action: deny}\n", "5:37: bad-pattern", "bash", "ls x", obstat.Deny},
		{"two rules of one id", head + "  rules:\n    - {id: r, tools: bash, pattern: ls, action: allow}\n    - {id: r, tools: bash, pattern: ls, action: deny}\n", "5:12: conflict", "bash", "ls", obstat.Deny},
		{"a misspelt key", head + "  tool: {bash: allow}\n", "3:3: unknown-key", "bash", "ls", obstat.Ask},
		{"permissions are off", "permissions: {enabled: false, tools: {bash: deny}}\n", "1:24: risky", "bash", "ls", obstat.Allow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want, fatal := strings.CutSuffix(test.problem, "!")
			in := &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: []byte(test.src)}}}
			p, problems := Dialect{}.Load(in)
			if (problems.Fatal() != nil) != fatal || (p == nil) != fatal {
				t.Fatalf("fatal %v, want %v: %v", problems.Fatal() != nil, fatal, problems)
			}
			if !hasProblem(problems, want) {
				t.Errorf("no problem %s in\n%v", want, problems)
			}
			if fatal {
				return
			}
			if d := load(t, []byte(test.src), nil).Policy.Decide(&obstat.Call{Tool: test.tool, Input: shellCall(t, "", test.cmd).Input, Dir: "/srv/ws", Roots: []string{"/srv/ws"}}, nil); d.Verdict != test.want {
				t.Errorf("%v, want %v: %s", d.Verdict, test.want, d.Reason())
			}
		})
	}
}

func hasProblem(list obstat.Errors, want string) bool {
	for _, e := range list {
		if strings.HasPrefix(e.Error(), "config.yaml:"+want[:strings.LastIndex(want, ":")]+":") && string(e.Code) == want[strings.LastIndex(want, " ")+1:] {
			return true
		}
	}
	return false
}

// TestAllAtOnce: one load reports every problem, in the order of the file.
func TestAllAtOnce(t *testing.T) {
	src := "permissions:\n  schema: tiered_policy\n  tools: {bash: block}\n  rules: [{tools: bahs, pattern: x}, {tools: bash, pattern: 're:['}]\n  external_directory: {data: allow}\n"
	l := load(t, []byte(src), nil)
	var places []string
	for _, w := range l.Warnings {
		places = append(places, strings.TrimPrefix(w.Pos.String(), "config.yaml:"))
	}
	if got := strings.Join(places, " "); got != "3:17 4:19 4:61 5:24" {
		t.Errorf("problems at %s:\n%v", got, l.Warnings)
	}
}

// TestAnchors: what YAML shares is read where it is used.
func TestAnchors(t *testing.T) {
	src := `
base: &base
  schema: tiered_policy
  defaults: {"*": allow}
tools: &tools [bash, create_terminal]
permissions:
  <<: *base
  rules:
    - {id: a, tools: *tools, pattern: rm *, action: deny}
`
	l := load(t, []byte(src), nil)
	for _, tool := range []string{"bash", "create_terminal"} {
		if d := l.Policy.Decide(shellCall(t, tool, "rm x"), nil); d.Verdict != obstat.Deny {
			t.Errorf("%s: %v", tool, d.Verdict)
		}
	}
	if d := l.Policy.Decide(shellCall(t, "bash", "ls"), nil); d.Verdict != obstat.Allow {
		t.Errorf("defaults through a merge key: %v", d.Verdict)
	}
	if _, err := addOverride([]byte(src), mustSection(t, src), "bash", "ls"); err != nil {
		t.Errorf("an edit beside a merge key: %v", err)
	}
}

// TestBuiltinFile: the user's list replaces ours, but an empty one does not undo
// our denials, and a rule of the same id does.
func TestBuiltinFile(t *testing.T) {
	conf := []byte("permissions: {schema: tiered_policy, tools: {bash: allow}}")
	tests := []struct {
		name, src, cmd string
		want           obstat.Verdict
	}{
		{"a list of one's own", "rules: [{id: mine, tools: bash, pattern: ls, action: deny}]", "ls", obstat.Deny},
		{"asks of ours are gone", "rules: [{id: mine, tools: bash, pattern: ls, action: deny}]", "rm -rf src", obstat.Allow},
		{"denials of ours stay", "rules: []", "reboot", obstat.Deny},
		{"until there is a rule of that id", "rules: [{id: shell_system_shutdown_or_reboot, tools: bash, pattern: 're:^reboot', action: ask}]", "reboot", obstat.Ask},
		{"a file without rules", "# nothing yet\n", "reboot", obstat.Deny},
	}
	for _, test := range tests {
		l := load(t, conf, nil, dialect.File{Name: "/home/u/.jiuwenswarm/config/builtin_rules.yaml", Data: []byte(test.src)})
		if d := l.Policy.Decide(shellCall(t, "bash", test.cmd), nil); d.Verdict != test.want {
			t.Errorf("%s: %v, want %v: %s", test.name, d.Verdict, test.want, d.Reason())
		}
	}
	broken := dialect.File{Name: "builtin_rules.yaml", Data: []byte("rules:\n  - {id: a, tools: bash, pattern: ls, action: deny, match: [ls, pwd], not_match: [ls]}\n")}
	_, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: conf}, broken}})
	if err == nil || strings.Count(err.Error(), "bad-pattern") != 2 {
		t.Errorf("examples that fail: %v", err)
	}
}

func mustSection(t *testing.T, src string) *tree.Node {
	t.Helper()
	n, err := Section([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package jiuwen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/study/cases"
)

// TestChannels: calls of a channel that is not checked are allowed, whatever
// the amendments would say.
func TestChannels(t *testing.T) {
	src := []byte(`permissions: {schema: tiered_policy, tools: {bash: deny, read_file: allow}}`)
	for _, opt := range []string{"web,acp", "web acp", `["web","acp"]`} {
		l := load(t, src, map[string]string{ChannelsOption: opt})
		for channel, want := range map[string]obstat.Verdict{"web": obstat.Deny, "acp": obstat.Deny, "": obstat.Deny, "feishu": obstat.Allow, "WEB": obstat.Allow} {
			call := shellCall(t, "bash", "ls; ls")
			call.Channel = channel
			if d := l.Policy.Decide(call, nil); d.Verdict != want {
				t.Errorf("%s: channel %q: %v", opt, channel, d.Verdict)
			}
		}
		outside := &obstat.Call{Tool: "read_file", Input: []byte(`{"path":"/etc/x"}`), Channel: "feishu", Roots: []string{"/srv/ws"}, Dir: "/srv/ws"}
		if d := l.Policy.Decide(outside, nil); d.Verdict != obstat.Allow {
			t.Errorf("%s: outside the workspace: %v", opt, d.Verdict)
		}
	}
	if d := load(t, src, nil).Policy.Decide(shellCall(t, "bash", "ls"), nil); d.Verdict != obstat.Deny {
		t.Errorf("without the option all channels are checked: %v", d.Verdict)
	}
}

// TestOwnerMode: a grant replaces the question, and never a denial.
func TestOwnerMode(t *testing.T) {
	l := load(t, []byte(`permissions:
  schema: tiered_policy
  tools: {bash: ask, write_file: deny}
  owner_scopes:
    feishu:
      u1:
        tools:
          bash: {"*": deny, patterns: {"git *": allow}}
          write_file: allow
          read_file: ask
`), nil)
	for _, test := range []struct {
		tool, input, user string
		want              obstat.Verdict
	}{
		{"bash", `{"command":"git status"}`, "u1", obstat.Allow},
		{"bash", `{"command":"ls"}`, "u1", obstat.Deny},
		{"bash", `{"command":"git status; reboot"}`, "u1", obstat.Deny},
		{"bash", `{"command":"git status"}`, "u2", obstat.Ask},
		{"write_file", `{"path":"a"}`, "u1", obstat.Deny},
		{"read_file", `{"path":"a"}`, "u1", obstat.Deny},
	} {
		call := &obstat.Call{Tool: test.tool, Input: json.RawMessage(test.input), Channel: "feishu", User: test.user, Mode: ModeOwner, Dir: "/srv/ws"}
		if d := l.Policy.Decide(call, nil); d.Verdict != test.want {
			t.Errorf("%s %s for %s: %v, want %v: %s", test.tool, test.input, test.user, d.Verdict, test.want, d.Reason())
		}
	}
}

// TestAliases: the host's other name for a tool is judged as the tool, unless
// the configuration speaks of the other name itself.
func TestAliases(t *testing.T) {
	l := load(t, []byte(`permissions: {schema: tiered_policy, tools: {mcp_exec_command: deny, free_search: allow, mcp_free_search: deny}}`), nil)
	for tool, want := range map[string]obstat.Verdict{"exec_command": obstat.Deny, "free_search": obstat.Allow, "paid_search": obstat.Ask} {
		if d := l.Policy.Decide(shellCall(t, tool, "ls"), nil); d.Verdict != want {
			t.Errorf("%s: %v, want %v", tool, d.Verdict, want)
		}
	}
}

func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		if back, ok := pytext.Unescape(pytext.Escape(s)); !ok || back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
		p := exactPattern(pytext.Strip(s))
		if pytext.Strip(s) == "" {
			return
		}
		_, text := commandPattern(p, false)
		if !matches(text, pytext.Strip(s)) || matches(text, pytext.Strip(s)+"x") || matches(text, "x"+pytext.Strip(s)) {
			t.Fatalf("%q is stored as %q", s, p)
		}
	})
}

// genConfig draws a configuration of a few rules that overlap.
func genConfig(t *rapid.T, denials int) string {
	level := rapid.SampledFrom([]string{"allow", "ask", "deny"})
	pat := rapid.SampledFrom([]string{"git *", "git status", "re:^git", "rm *", "re:rm", "*", "re:.*", "ls"})
	list := func(name string, levels *rapid.Generator[string], n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{id: %s%d, tools: bash, pattern: '%s', action: %s},", name, i, pat.Draw(t, "pattern"), levels.Draw(t, "level"))
		}
		return "[" + b.String() + "]"
	}
	n := func() int { return rapid.IntRange(0, 2).Draw(t, "n") }
	rules := list("r", level, n())
	for range denials {
		rules = strings.TrimSuffix(rules, "]") + "{id: d, tools: bash, pattern: '" + pat.Draw(t, "deny") + "', action: deny}]"
	}
	return "permissions: {schema: tiered_policy, tools: {bash: " + level.Draw(t, "baseline") + "}, rules: " + rules +
		", approval_overrides: " + list("o", rapid.Just("allow"), n()) + ", defaults: {'*': " + level.Draw(t, "default") + "}}"
}

var propertyCommands = []string{"git status", "git push", "rm x", "rm -rf /", "ls", "git status && rm x", "cat /etc/x", "reboot", `echo "a;b"`}

// TestProperties: the floor and the amendments only tighten, another deny rule
// never loosens, a persona is never asked, and of two commands in a row the
// stricter counts.
func TestProperties(t *testing.T) {
	empty := dialect.File{Name: "builtin_rules.yaml", Data: []byte("rules: []")}
	rapid.Check(t, func(rt *rapid.T) {
		src := genConfig(rt, 0)
		more := strings.Replace(src, "rules: [", "rules: [{id: more, tools: bash, pattern: '"+rapid.SampledFrom([]string{"git *", "rm *", "re:.*"}).Draw(rt, "more")+"', action: deny},", 1)
		on, off := load(t, []byte(src), nil, empty), load(t, []byte(src), map[string]string{"floor": "off"}, empty)
		stricter := load(t, []byte(more), nil, empty)
		cmd := rapid.SampledFrom(propertyCommands).Draw(rt, "command")
		call := shellCall(t, "bash", cmd)
		call.Dir, call.Roots, call.User, call.Channel = "/srv/ws", []string{"/srv/ws"}, "u", "web"
		a, b := on.Policy.Decide(call, nil), off.Policy.Decide(call, nil)
		if a.Verdict > b.Verdict && !strings.Contains(cmd, `"`) {
			rt.Fatalf("%s: %v with the floor, %v without\n%s", cmd, a.Verdict, b.Verdict, src)
		}
		if c := stricter.Policy.Decide(call, nil); c.Verdict > a.Verdict {
			rt.Fatalf("%s: a deny rule loosened %v to %v\n%s", cmd, a.Verdict, c.Verdict, more)
		}
		if av := persona(on.Policy, call); av.Verdict == obstat.Ask || av.Verdict > a.Verdict {
			rt.Fatalf("%s: a persona gets %v, others %v\n%s", cmd, av.Verdict, a.Verdict, src)
		}
		r := on.Policy.Reach("bash", "")
		if a.Verdict < r.Strictest || a.Verdict > r.Loosest {
			rt.Fatalf("%s: %v is out of reach %v\n%s", cmd, a.Verdict, r, src)
		}
	})
}

func TestLint(t *testing.T) {
	l := load(t, []byte(`permissions:
  schema: tiered_policy
  defaults: {"*": allow}
  approval_overrides:
    - {id: a, tools: bash, pattern: git status, action: allow}
    - {id: b, tools: bash, pattern: 'git *', action: allow}
    - {id: c, tools: bash, pattern: 're:\Arm \*\Z', action: allow}
`), nil)
	var lines []int
	for _, e := range (Dialect{}).Lint(l.Input, l.Program) {
		lines = append(lines, e.Pos.Line)
	}
	if !slices.Equal(lines, []int{6, 3}) {
		t.Errorf("warnings at lines %v", lines)
	}
	legacy := load(t, []byte("permissions: {tools: {bash: allow}}"), nil)
	if got := (Dialect{}).Lint(legacy.Input, legacy.Program); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name, src string
		want      dialect.Confidence
	}{
		{"config.yaml", "permissions: {schema: tiered_policy}", dialect.Sure},
		{"config.yaml", "permissions: {tools: {bash: ask}}", dialect.Maybe},
		{"config.yaml", "permissions: {allow: [Bash]}", dialect.No},
		{"settings.json", `{"permissions":{"allow":["Bash(ls)"],"deny":[]}}`, dialect.No},
		{"builtin_rules.yaml", "rules: []", dialect.Sure},
		{"config.yaml", "a: [", dialect.No},
		{"x.txt", "hello", dialect.No},
	} {
		if got := (Dialect{}).Detect(&dialect.File{Name: test.name, Data: []byte(test.src)}); got != test.want {
			t.Errorf("%s %s: %v, want %v", test.name, test.src, got, test.want)
		}
	}
}

func TestConfigDir(t *testing.T) {
	env := map[string]string{}
	get := func(k string) string { return env[k] }
	if got := ConfigDir(get, "/home/u/"); got != "/home/u/.jiuwenswarm/config" {
		t.Error(got)
	}
	env["JIUWENSWARM_CONFIG_DIR"] = "/etc/jiuwen"
	if got := ConfigDir(get, "/home/u"); got != "/etc/jiuwen" {
		t.Error(got)
	}
}

// TestTwoCommands: an input with an empty command and another one beside it is
// judged by what would run.
func TestTwoCommands(t *testing.T) {
	for _, src := range []string{
		"permissions: {schema: tiered_policy, tools: {bash: allow}}",
		"permissions: {schema: tiered_policy, approval_overrides: [{id: o, tools: bash, pattern: 're:.*', action: allow}]}",
	} {
		l := load(t, []byte(src), nil)
		for _, input := range []string{`{"command":"","cmd":"r\\eboot"}`, `{"command":null,"cmd":"/sbin/reboot"}`, `{"cmd":"eval 'reboot'"}`, `{"command":["reboot"]}`, `{"command":["bash","-c","re''boot"]}`} {
			if d := l.Policy.Decide(&obstat.Call{Tool: "bash", Input: json.RawMessage(input), Dir: "/srv/ws"}, nil); d.Verdict == obstat.Allow {
				t.Errorf("%s: %v: %s", input, d.Verdict, d.Reason())
			}
		}
	}
}

// TestFloorOnRecorded: with the floor on no recorded answer gets looser but those
// named here.
func TestFloorOnRecorded(t *testing.T) {
	looser := map[string]string{
		"jiuwen/ast-allow-0149":    "the ; ends -exec, and is no operator",
		"jiuwen/ast-allow-0210":    "the ; is in a text that is printed",
		"jiuwen/ast-allow-0214":    "the ; is quoted",
		"jiuwen/ast-default-0010":  "the backquotes are quoted",
		"jiuwen/ast-default-0072":  "the ; is quoted",
		"jiuwen/ast-default-0074":  "the new line is quoted",
		"jiuwen/extract-path-0065": "..x is a file of the workspace",
	}
	for _, name := range []string{"jiuwen-document.jsonl.gz", "jiuwen-parser.jsonl.gz"} {
		jsonltest.Lines(t, "testdata/"+name, func(n int, line []byte) {
			c, err := cases.Parse(name, n, line)
			if err != nil {
				t.Fatal(err)
			}
			c.Config.Options["floor"] = "on"
			l, err := dialect.Load(Dialect{}, &dialect.Input{Files: c.Config.Files, Options: c.Config.Options})
			if err != nil {
				return // refused
			}
			if v := l.Policy.Decide(&c.Call, &c.World).Verdict; v > *c.Want.Verdict && looser[c.ID] == "" {
				t.Errorf("%s: %v, and %v without the floor", c.ID, v, *c.Want.Verdict)
			}
		})
	}
}

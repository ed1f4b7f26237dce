package agent

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
)

type fixture struct {
	Stdin []struct {
		Case      string          `json:"case"`
		Payload   json.RawMessage `json:"payload"`
		Canonical canonical       `json:"canonical"`
	} `json:"stdin"`
	Expect map[string]map[string]expected `json:"expect"`
}

type canonical struct {
	Kind    string     `json:"kind"`
	Command string     `json:"command"`
	Cwd     string     `json:"cwd"`
	Paths   []string   `json:"paths"`
	URL     string     `json:"url"`
	URLs    []string   `json:"urls"`
	Server  string     `json:"server"`
	Tool    string     `json:"tool"`
	Agent   string     `json:"agent"`
	Ops     [][]string `json:"ops"`
}

type expected struct {
	Stdout json.RawMessage `json:"stdout"`
	Stderr string          `json:"stderr"`
	Exit   int             `json:"exit"`
	Alt    json.RawMessage `json:"alt_stdout_exit0"`
}

func fixtures(t testing.TB) map[string]fixture {
	data, err := os.ReadFile("testdata/fixtures.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Agents map[string]fixture }
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f.Agents
}

// notHooks are protocols of the fixtures that no hook process speaks.
var notHooks = map[string]string{
	"claude-permission-prompt-tool": "an MCP tool", "acp": "a JSON-RPC request", "opencode-sse": "an event of opencode's server",
}

// kinds maps the catalogue's names to the fixtures'.
var kinds = map[string]string{"shell": "shell.exec", "powershell": "shell.exec", "write": "fs.write", "edit": "fs.edit", "notebook": "fs.edit", "read": "fs.read",
	"grep": "fs.search", "glob": "fs.search", "fetch": "net.fetch", "search": "net.search", "task": "agent.spawn", "mcp": "mcp.call", "patch": "fs.patch", "": "other"}

func TestFixturesDecode(t *testing.T) {
	for agent, f := range fixtures(t) {
		if notHooks[agent] != "" {
			continue
		}
		want := strings.TrimSuffix(agent, "-safety-checker")
		for _, in := range f.Stdin {
			for _, told := range []string{"", want, "no such agent", ClaudeCode} {
				e, err := Decode(told, in.Payload, nil)
				if err != nil || e.Call == nil {
					t.Errorf("%s %s, told %q: %v", agent, in.Case, told, err)
					continue
				}
				if e.Agent != want {
					t.Errorf("%s %s, told %q: taken for %q", agent, in.Case, told, e.Agent)
				}
				in.Canonical.check(t, agent+" "+in.Case, e)
			}
		}
	}
}

func (c canonical) check(t *testing.T, name string, e *Event) {
	t.Helper()
	tool, _ := effect.Lookup(e.Call.Tool)
	if kinds[tool.Canonical] != c.Kind {
		t.Errorf("%s: tool %s is %q, want %s", name, e.Call.Tool, tool.Canonical, c.Kind)
	}
	if c.Tool != "" && e.Call.Tool != "mcp__"+c.Server+"__"+c.Tool && e.Call.Tool != "mcp_"+c.Server+"_"+c.Tool && e.Call.Tool != "MCP:"+c.Tool {
		t.Errorf("%s: tool %s", name, e.Call.Tool)
	}
	if c.Kind == "shell.exec" && c.Agent != e.Subagent {
		t.Errorf("%s: subagent %q, want %q", name, e.Subagent, c.Agent)
	}
	a := effect.Analyze(&effect.Request{Tool: e.Call.Tool, Input: e.Call.Input, Options: effect.Options{Dir: e.Call.Dir}})
	if c.Command != "" && a.Source != c.Command {
		t.Errorf("%s: command %q, want %q", name, a.Source, c.Command)
	}
	if c.Cwd != "" && tool.Canonical == "shell" && (len(a.Commands) == 0 || a.Commands[0].Dir != c.Cwd) {
		t.Errorf("%s: runs in %+v, want %s", name, a.Commands, c.Cwd)
	}
	for _, p := range c.Paths {
		if tool.Canonical != "fetch" && !slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Path == p || e.Raw == p }) {
			t.Errorf("%s: no effect on %s: %+v", name, p, a.Effects)
		}
	}
	for _, op := range c.Ops {
		for _, p := range op[1:] {
			if !slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Path == p }) {
				t.Errorf("%s: no effect on %s", name, p)
			}
		}
	}
	for _, u := range append(c.URLs, c.URL) {
		if u != "" && !slices.ContainsFunc(a.Effects, func(e effect.Effect) bool { return e.Raw == u }) {
			t.Errorf("%s: no connection to %s: %+v", name, u, a.Effects)
		}
	}
}

// decisions returns the decision that the fixtures call by a name.
func decisions(name string) (*obstat.Decision, *Options) {
	rewritten := json.RawMessage(`{"command":"npm test --silent"}`)
	d := map[string]*obstat.Decision{
		"allow":          {Verdict: obstat.Allow, Note: "rule R1"},
		"allow+rewrite":  {Verdict: obstat.Allow, Note: "rule R1", Input: rewritten},
		"allow-always":   {Verdict: obstat.Allow, Note: "rule R1"},
		"deny":           {Verdict: obstat.Deny, Note: "blocked by rule R1"},
		"ask":            {Verdict: obstat.Ask, Note: "rule R2 asks"},
		"ask+rewrite":    {Verdict: obstat.Ask, Note: "rule R2 asks", Input: rewritten},
		"internal-error": {Verdict: obstat.Deny, Faults: []obstat.Fault{{Msg: "permission service error"}}},
	}[name]
	o := &Options{}
	if name == "allow-always" {
		o.Accepted = []obstat.Offer{{Text: "Bash(rm -rf node_modules)"}}
	}
	return d, o
}

// observed overrules fixtures that the real agents were seen to contradict, or by
// which a call could run by accident: why, and the expected reply.
var observed = map[string]struct{ why, stdout, stderr string }{
	"codex PreToolUse deny":           {"JSON, words and exit code 2 together block in every agent", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"blocked by rule R1"}}`, "blocked by rule R1"},
	"codex PreToolUse ask":            {"the same", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"` + nobodyAsked + `rule R2 asks"}}`, "*"},
	"codex PreToolUse internal-error": {"the same", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"permission service error"}}`, "*"},
	"crush PreToolUse internal-error": {"the same", `{"version":1,"decision":"deny","reason":"permission service error"}`, "*"},
	"cursor preToolUse ask":           {"an ask there is not enforced: the call would run", `{"permission":"deny","user_message":"` + nobodyAsked + `rule R2 asks","agent_message":"` + nobodyAsked + `rule R2 asks"}`, "*"},
}

func TestFixturesEncode(t *testing.T) {
	for agent, f := range fixtures(t) {
		if why := notHooks[agent]; why != "" {
			t.Logf("%s is not a hook's protocol but %s", agent, why)
			continue
		}
		for events, outcomes := range f.Expect {
			for _, event := range strings.Split(events, "|") {
				for name, want := range outcomes {
					encodeOne(t, agent, event, name, want)
				}
			}
		}
	}
}

func encodeOne(t *testing.T, agent, event, name string, want expected) {
	e := &Event{Agent: strings.TrimSuffix(agent, "-safety-checker"), Name: event, Call: &obstat.Call{Tool: "x"}}
	if agent == "gemini-safety-checker" {
		e.Variant = safetyChecker
	}
	d, o := decisions(name)
	if name == "none" {
		d, e.Housekeeping = &obstat.Decision{Verdict: obstat.Ask}, true
	}
	if d == nil {
		t.Logf("%s %s: obstat never answers %q", agent, event, name)
		return
	}
	exit := want.Exit
	if over, ok := observed[agent+" "+event+" "+name]; ok {
		want.Stdout, want.Stderr, exit = json.RawMessage(over.stdout), over.stderr, exitDeny
	}
	got := e.Who().encode(e, e.asked(d, o)) // in a mode that lets it say so
	if d.Verdict == obstat.Deny || d.Verdict == obstat.Ask && bytes.Contains(got.Stdout, []byte(nobodyAsked)) {
		exit = exitDeny // also where the fixture has another code
	}
	if got.Exit != exit {
		t.Errorf("%s %s %s: exit %d, want %d", agent, event, name, got.Exit, exit)
	}
	stdout := strings.ReplaceAll(compact(want.Stdout), `"*"`, `"`+nobodyAsked+`rule R2 asks"`)
	stdout = strings.NewReplacer(`,"description":"Run tests"`, "", `,"description":"tests","dir_path":"sub"`, "", `,"working_directory":"/w"`, "", `,"description":"t"`, "").Replace(stdout)
	if string(bytes.TrimSpace(got.Stdout)) != stdout {
		t.Errorf("%s %s %s:\n got %s\nwant %s", agent, event, name, got.Stdout, stdout)
	}
	if want.Stderr != "" && want.Stderr != "*" && strings.TrimSpace(string(got.Stderr)) != want.Stderr || want.Stderr == "*" && len(got.Stderr) == 0 {
		t.Errorf("%s %s %s: stderr %q, want %q", agent, event, name, got.Stderr, want.Stderr)
	}
	if got.Exit == exitDeny && len(bytes.TrimSpace(got.Stderr)) == 0 {
		t.Errorf("%s %s %s: exit code 2 without words lets the call run", agent, event, name)
	}
}

func compact(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

type capture struct {
	Agent, File string
	Env         map[string]string
	Stdin       json.RawMessage
}

func captures(t testing.TB) (out []capture) {
	f, err := os.Open("testdata/captured.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(z); dec.More(); {
		var c capture
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// TestCaptured decodes payloads of the real agents, told rightly, wrongly or not at
// all.
func TestCaptured(t *testing.T) {
	for _, c := range captures(t) {
		want := map[string]string{"claude": ClaudeCode}[c.Agent]
		if want == "" {
			want = c.Agent
		}
		for _, told := range []string{"", want, ClaudeCode, Gemini} {
			e, err := Decode(told, c.Stdin, func(k string) string { return c.Env[k] })
			if err != nil {
				t.Errorf("%s %s, told %q: %v", c.Agent, c.File, told, err)
				continue
			}
			if e.Agent != want {
				t.Errorf("%s %s, told %q: taken for %s", c.Agent, c.File, told, e.Agent)
			}
			after := strings.Contains(c.File, "PostToolUse")
			if asks := !strings.Contains(c.File, "SubagentStart"); (e.Call != nil) != asks || (e.Done != nil) != after {
				t.Errorf("%s %s: call %v", c.Agent, c.File, e.Call)
			}
			if e.Call != nil && (e.Call.Tool == "" || e.Call.Session == "" || !strings.HasPrefix(e.Call.Dir, "/srv/run")) {
				t.Errorf("%s %s: %+v", c.Agent, c.File, e.Call)
			}
			if e.Call == nil && (e.Encode(&obstat.Decision{}, nil).Exit != 0) {
				t.Errorf("%s %s: an event that asks nothing is blocked", c.Agent, c.File)
			}
		}
	}
}

func TestHousekeeping(t *testing.T) {
	deny := &obstat.Decision{Verdict: obstat.Deny}
	all := &obstat.Decision{Verdict: obstat.Deny, Rule: &obstat.Rule{Source: `"*": "deny"`}}
	by := &obstat.Decision{Verdict: obstat.Deny, Rule: &obstat.Rule{Tool: obstat.Is("complete_task"), Source: "complete_task"}}
	for _, text := range []string{
		`{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"multi_agent_v1wait_agent","tool_input":{}}`,
		`{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"collaborationwait_agent","tool_input":{}}`,
		`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"complete_task","tool_input":{"result":{}}}`,
	} {
		e, err := Decode("", []byte(text), nil)
		if err != nil || e.Encode(deny, nil).Exit != 0 || e.Encode(all, nil).Exit != 0 {
			t.Errorf("%s: denied by a default: %v", text, err)
		}
		if e.Encode(by, nil).Exit != exitDeny {
			t.Errorf("%s: a rule speaks of it", text)
		}
	}
}

// TestHousekeepingNames: a server cannot give its tools names that are left
// alone.
func TestHousekeepingNames(t *testing.T) {
	for _, name := range []string{"mcp__evil__wait_agent", "evil_complete_task", "mcp__x__update_plan", "xwait_agent"} {
		for _, text := range []string{
			`{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"%","tool_input":{}}`,
			`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"%","tool_input":{}}`,
			`{"session_id":"s","permission_mode":"default","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"%","tool_input":{}}`,
		} {
			if e, err := Decode("", []byte(strings.Replace(text, "%", name, 1)), nil); err != nil || e.Housekeeping {
				t.Errorf("%s of %s: %v", name, e.Agent, err)
			}
		}
	}
}

// TestAskInBypass: Claude Code runs some calls in that mode although its hook
// asks, so that only a denial is sure.
func TestAskInBypass(t *testing.T) {
	ask := &obstat.Decision{Verdict: obstat.Ask, Note: "why"}
	for _, c := range []struct {
		event, mode string
		deny        bool
	}{{preToolUse, "bypassPermissions", true}, {preToolUse, "default", false}, {preToolUse, "acceptEdits", false}, {permissionRequest, "bypassPermissions", false}} {
		in := `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"` + c.mode + `","hook_event_name":"` + c.event + `","tool_name":"Bash","tool_input":{"command":"x"}}`
		e, err := Decode(ClaudeCode, []byte(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := e.Encode(ask, nil)
		if denied := r.Exit == exitDeny && strings.Contains(string(r.Stdout), `"deny"`) && strings.Contains(string(r.Stderr), "why"); denied != c.deny {
			t.Errorf("%s in %s: %d %s %s", c.event, c.mode, r.Exit, r.Stdout, r.Stderr)
		}
	}
}

// TestAskWithoutTerminal: an ask that would hang or run the call is a denial.
func TestAskWithoutTerminal(t *testing.T) {
	ask := &obstat.Decision{Verdict: obstat.Ask, Note: "why"}
	for agent, event := range map[string]string{Gemini: beforeTool, Codex: preToolUse, Windsurf: "pre_run_command", OpenCode: executeBefore, Cursor: cursorTool} {
		e := &Event{Agent: agent, Name: event, Call: &obstat.Call{Tool: "x"}}
		if r := e.Encode(ask, nil); r.Exit != exitDeny || !strings.Contains(string(r.Stderr), "approval") {
			t.Errorf("%s: %+v", agent, r)
		}
	}
}

func TestRewriteWhereNotPossible(t *testing.T) {
	d := &obstat.Decision{Verdict: obstat.Allow, Note: "x", Input: json.RawMessage(`{"command":"ls"}`)}
	for agent, event := range map[string]string{Windsurf: "pre_run_command", Cline: preToolUse, Cursor: cursorShell, Antigravity: preToolUse, Codex: permissionRequest} {
		e := &Event{Agent: agent, Name: event, Call: &obstat.Call{Tool: "x"}}
		if r := e.Encode(d, nil); !strings.Contains(string(r.Stderr), "other arguments") {
			t.Errorf("%s: %q %q", agent, r.Stdout, r.Stderr)
		}
	}
}

// TestCanAsk: agents whose asks come out as denials cannot ask, also where the
// denial's exit code is zero.
func TestCanAsk(t *testing.T) {
	for agent, want := range map[string]bool{ClaudeCode: true, Copilot: true, Crush: true, Codex: false, Gemini: false, OpenCode: false,
		Windsurf: false, Cline: false, Antigravity: true, VSCode: true, Droid: false, Kiro: false, Pi: false, Amp: false,
		OpenClaw: false} {
		e := &Event{Agent: agent, Name: "PreToolUse", Mode: "default", Call: &obstat.Call{Tool: "Bash"}}
		switch agent {
		case Gemini:
			e.Name = "BeforeTool"
		case Copilot:
			e.Mode, e.Started = copilotCLI, []string{"copilot"}
		case Crush:
			e.Started = []string{"crush"}
		}
		if got := e.CanAsk(nil); got != want {
			t.Errorf("%s: %v", agent, got)
		}
	}
}

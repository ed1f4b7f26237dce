package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// call returns a call of the agent's in one of its modes, at one of its events; nil where the event has
// no such calls.
func (a *Agent) call(t *testing.T, mode, event string) *Event {
	t.Helper()
	for _, p := range []probe{{kind: shellProbe, text: "make"}, {kind: writeProbe, text: "/w/a"}, {kind: otherProbe, text: "SERVER/TOOL", args: obj("file_path", "/w/a", "task", "x")}} {
		o := a.forge(event, "/w", p)
		if o == nil {
			continue
		}
		for i := range o {
			if o[i].Key == "permission_mode" {
				o[i].Value = mode
			}
		}
		e, err := Decode(a.Name, reply(o, "", 0).Stdout, func(name string) string {
			if name == "COPILOT_CLI" && mode == copilotCLI {
				return "1"
			}
			return ""
		})
		if err != nil || e.Call == nil || e.Agent != a.Name {
			t.Fatalf("%s, %s: %+v, %v", a.Name, event, e, err)
		}
		return e
	}
	return nil
}

// says tells in a word what a reply to a call says: allow, ask, deny, or nothing.
func says(r Reply) string {
	out := string(r.Stdout)
	switch {
	case r.Exit == exitDeny:
		return "deny"
	case strings.Contains(out, `"ask"`), strings.Contains(out, "ask_user"):
		return "ask"
	case strings.Contains(out, `"allow"`), strings.Contains(out, `"cancel":false`):
		return "allow"
	}
	return "nothing"
}

// TestModes: the agents' own word stands. Each row was seen in the real agent, or is the strictest where
// nobody could look.
func TestModes(t *testing.T) {
	auto, reviewer := obstat.OverAutoMode, obstat.OverReviewer
	for _, c := range []struct {
		agent, mode, event string
		over               obstat.Over
		answered           bool
		allow, ask         string
	}{
		{ClaudeCode, "default", preToolUse, 0, false, "allow", "ask"},
		{ClaudeCode, "acceptEdits", preToolUse, 0, false, "allow", "ask"},
		{ClaudeCode, "dontAsk", preToolUse, 0, false, "allow", "ask"},
		{ClaudeCode, "bypassPermissions", preToolUse, 0, false, "allow", "deny"},
		{ClaudeCode, "plan", preToolUse, 0, false, "nothing", "deny"},
		{ClaudeCode, "plan", preToolUse, auto | reviewer, true, "nothing", "deny"},
		{ClaudeCode, "auto", preToolUse, 0, false, "nothing", "ask"},
		{ClaudeCode, "auto", preToolUse, reviewer, true, "nothing", "ask"},
		{ClaudeCode, "auto", preToolUse, auto, false, "allow", "ask"},
		{ClaudeCode, "turbo", preToolUse, auto | reviewer, true, "nothing", "deny"},
		{ClaudeCode, "", preToolUse, 0, false, "nothing", "deny"},
		{ClaudeCode, "Default", preToolUse, 0, false, "nothing", "deny"},
		{ClaudeCode, "plan", permissionRequest, auto, true, "nothing", "nothing"},
		{ClaudeCode, "auto", permissionRequest, 0, true, "nothing", "nothing"},
		{ClaudeCode, "auto", permissionRequest, auto, false, "nothing", "nothing"}, // its own ask rule
		{ClaudeCode, "turbo", permissionRequest, auto, true, "nothing", "nothing"},
		{ClaudeCode, "default", permissionRequest, 0, false, "nothing", "nothing"}, // its own ask rule
		{ClaudeCode, "default", permissionRequest, 0, true, "allow", "nothing"},
		{ClaudeCode, "acceptEdits", permissionRequest, auto, false, "nothing", "nothing"},
		{Codex, "default", preToolUse, 0, false, "nothing", "deny"},
		{Codex, "default", permissionRequest, 0, true, "nothing", "nothing"},
		{Codex, "bypassPermissions", permissionRequest, auto, true, "nothing", "nothing"},
		{Codex, "default", permissionRequest, reviewer, false, "allow", "nothing"},
		{Copilot, copilotCLI, "preToolUse", auto | reviewer, true, "nothing", "ask"},
		{Copilot, "", "preToolUse", 0, false, "nothing", "deny"},
		{Gemini, "", beforeTool, 0, false, "allow", "deny"},
		{OpenCode, "", executeBefore, 0, false, "allow", "deny"},
		{Qwen, "yolo", preToolUse, 0, false, "allow", "ask"},
		{Qwen, "turbo", preToolUse, 0, false, "nothing", "deny"},
		{Crush, "", preToolUse, 0, false, "allow", "nothing"},
		{Cursor, "", cursorShell, auto | reviewer, true, "nothing", "deny"},
		{Cursor, "", cursorTool, 0, true, "nothing", "deny"},
		{Windsurf, "", "pre_run_command", 0, false, "nothing", "deny"},
		{Cline, "", preToolUse, 0, false, "allow", "deny"},
	} {
		e := Of(c.agent).call(t, c.mode, c.event)
		e.Started = strings.Fields(c.agent + " --debug")
		for verdict, want := range map[obstat.Verdict]string{obstat.Allow: c.allow, obstat.Ask: c.ask, obstat.Deny: "deny"} {
			d := &obstat.Decision{Verdict: verdict, Note: "why", Over: c.over}
			if r := e.Encode(d, &Options{Answered: c.answered}); says(r) != want {
				t.Errorf("%s, %q, %s, over %q, answered %v: %v says %s, not %s: %s", c.agent, c.mode, c.event, c.over, c.answered, verdict, says(r), want, r.Stdout)
			}
		}
		silent := e.Silent(&obstat.Decision{Verdict: obstat.Allow, Over: c.over}, c.answered)
		if idle := c.agent == Codex && c.event == preToolUse || c.agent == Windsurf; (silent != "") != (c.allow == "nothing") && !idle {
			t.Errorf("%s, %q, %s: %q", c.agent, c.mode, c.event, silent)
		}
	}
}

// TestStarted: an ask is left to an agent only where its command line is known to leave its refusals alone.
func TestStarted(t *testing.T) {
	for _, c := range []struct {
		agent, mode, event, started string
		asks                        bool
	}{
		{Copilot, copilotCLI, "preToolUse", "copilot -i x --allow-all-tools", true},
		{Copilot, copilotCLI, "preToolUse", "node /opt/@github/copilot/index.js -i x", true},
		{Copilot, copilotCLI, "preToolUse", "copilot --deny-tool write", false},
		{Copilot, copilotCLI, "preToolUse", "copilot --deny-tool=shell(rm)", false},
		{Copilot, copilotCLI, "preToolUse", "copilot --available-tools view", false},
		{Copilot, copilotCLI, "preToolUse", "bash", false},
		{Copilot, copilotCLI, "preToolUse", "", false},
		{Copilot, "", "preToolUse", "copilot", false},
		{Crush, "", preToolUse, "crush", true},
		{Crush, "", preToolUse, "crush run x", false},
		{Crush, "", preToolUse, "/usr/bin/crush -y", false},
		{Crush, "", preToolUse, "", false},
		{ClaudeCode, "default", preToolUse, "", true},
	} {
		e := Of(c.agent).call(t, c.mode, c.event)
		e.Started = strings.Fields(c.started)
		if e.CanAsk(nil) != c.asks {
			t.Errorf("%+v", c)
		}
	}
}

// TestModesChanged: arguments that a person has changed are never lost with the allow that is not said: the
// changed call goes to the agent's own rules, or none does.
func TestModesChanged(t *testing.T) {
	d := &obstat.Decision{Verdict: obstat.Allow, Stage: obstat.StageApproval, Input: json.RawMessage(`{"command":"ls"}`)}
	for _, c := range []struct{ agent, mode, event, want string }{
		{ClaudeCode, "plan", preToolUse, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls"}}}`},
		{ClaudeCode, "auto", preToolUse, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls"}}}`},
		{ClaudeCode, "plan", permissionRequest, "deny"},
		{Copilot, copilotCLI, "preToolUse", `{"modifiedArgs":{"command":"ls"}}`},
		{Codex, "default", permissionRequest, "deny"},
		{Codex, "turbo", preToolUse, "deny"},
		{Cursor, "", cursorTool, "deny"},
		{Qwen, "turbo", preToolUse, "deny"},
	} {
		r := Of(c.agent).call(t, c.mode, c.event).Encode(d, &Options{Answered: true})
		if got := strings.TrimSpace(string(r.Stdout)); got != c.want && says(r) != c.want {
			t.Errorf("%s, %s, %s: %s, want %s", c.agent, c.mode, c.event, got, c.want)
		}
	}
}

// TestLeavesSandbox: an allow does not let a call out of the agent's sandbox.
func TestLeavesSandbox(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make"}`: "allow",
		`{"command":"make","dangerouslyDisableSandbox":false}`:          "allow",
		`{"command":"make","dangerouslyDisableSandbox":true}`:           "nothing",
		`{"command":"make","dangerouslyDisableSandbox":"true"}`:         "nothing",
		`{"command":"make","dangerouslyDisableSandbox":1,"timeout":10}`: "nothing",
	} {
		e := Of(ClaudeCode).call(t, "default", preToolUse)
		e.Call.Input = json.RawMessage(input)
		if got := says(e.Encode(&obstat.Decision{Verdict: obstat.Allow}, nil)); got != want {
			t.Errorf("%s: %s", input, got)
		}
	}
}

// TestDenials: at every event of every agent, in every mode, a denial leaves with exit code 2, words on
// standard error, and on standard output nothing or one whole object: half an answer with code 0 runs the
// call in several agents.
func TestDenials(t *testing.T) {
	n := 0
	denials := map[string]func(*Event) Reply{
		"a rule": func(e *Event) Reply {
			return e.Encode(&obstat.Decision{Rule: &obstat.Rule{Source: "Bash(rm *)", Reason: "no \x00\xff\n\"}"}}, nil)
		},
		"a fault":  func(e *Event) Reply { return e.Encode(&obstat.Decision{Faults: []obstat.Fault{{Msg: "broken"}}}, nil) },
		"no words": func(e *Event) Reply { return e.Encode(&obstat.Decision{Note: " "}, nil) },
		"a rewrite": func(e *Event) Reply {
			return e.Encode(&obstat.Decision{Input: json.RawMessage(`{"command":"ls"`), Note: "x"}, nil)
		},
		"a refusal": func(e *Event) Reply { return e.Refuse("time") },
	}
	for _, a := range All().Installable() {
		modes := []string{"", "turbo"}
		for _, m := range a.Modes() {
			modes = append(modes, m.Name)
		}
		for _, event := range a.events {
			for _, mode := range modes {
				e := a.call(t, mode, event)
				if e == nil {
					t.Fatalf("%s has no call at %s", a.Name, event)
				}
				for name, deny := range denials {
					n++
					if why := malformed(deny(e)); why != "" {
						t.Errorf("%s, %s, %q, %s: %s", a.Name, event, mode, name, why)
					}
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d denials were looked at", n)
	}
}

// malformed says why a denial may be taken for none.
func malformed(r Reply) string {
	out := bytes.TrimSpace(r.Stdout)
	switch {
	case r.Exit != exitDeny:
		return fmt.Sprintf("exit code %d", r.Exit)
	case len(bytes.TrimSpace(r.Stderr)) == 0:
		return "no words on standard error"
	case len(out) > 0 && whole(out) == nil:
		return fmt.Sprintf("standard output is no object: %q", out)
	case bytes.Contains(out, []byte(`"allow"`)), bytes.Contains(out, []byte("updatedInput")):
		return fmt.Sprintf("it says something else as well: %s", out)
	}
	return ""
}

// TestModesTable: every agent has a table of modes whose rows all count: none is hidden behind another.
func TestModesTable(t *testing.T) {
	for _, a := range All() {
		if len(a.Modes()) == 0 {
			t.Errorf("%s has no table", a.Name)
		}
		for i, m := range a.Modes() {
			if m.Says == "" || (m.Over != 0) != (m.Allow == Silences) {
				t.Errorf("%s: %+v", a.Name, m)
			}
			if slices.ContainsFunc(a.Modes()[:i], func(o Mode) bool {
				return (o.Name == m.Name || o.Name == AnyMode) && (o.Event == m.Event || o.Event == "") && !o.Plain
			}) {
				t.Errorf("%s: the row %q, %q never counts", a.Name, m.Name, m.Event)
			}
		}
	}
}

package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/guard/confined"
)

const (
	codexPayload    = `{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":"%s","permission_mode":"%s","hook_event_name":"PreToolUse","model":"m","tool_name":"Bash","tool_input":{"command":"%s"},"tool_use_id":"u"}`
	geminiPayload   = `{"session_id":"s","transcript_path":"/t","cwd":"%s","hook_event_name":"BeforeTool","timestamp":"2026-01-01T00:00:00.000Z","tool_name":"run_shell_command","tool_input":{"command":"%s"}}`
	copilotPayload  = `{"sessionId":"s","timestamp":1,"cwd":"%s","toolName":"bash","toolArgs":"{\"command\":\"%s\"}"}`
	claudeInMode    = `{"session_id":"s","transcript_path":"/t","cwd":"%s","permission_mode":"%s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"%s"}}`
	piPayload       = `{"hook_event_name":"tool_call","cwd":"%s","tool":"bash","session":"s","call":"c","input":{"command":"%s"}}`
	openCodePayload = `{"event":"tool.execute.before","tool":"bash","sessionID":"s","callID":"c","directory":"%s","args":{"command":"%s"}}`
)

// TestConfinedHook: an agent that is proved to run a changed command is told one, and in every other case the
// answer is as without confinement.
func TestConfinedHook(t *testing.T) {
	policy := "version: 1\nconfine: code\nallow: [read workspace, write workspace]\n"
	for _, tt := range []struct {
		name, agent string
		payload     func(dir string) string
		settings    string // of Claude Code's own
		started     string // the agent's command line
		unproved    bool
		updated     bool // its program is another file since
		level       confine.Level
		changed     bool
	}{
		{name: "Claude Code", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), changed: true},
		{name: "its mode acceptEdits", agent: agent.ClaudeCode, payload: in(claudeInMode, "acceptEdits", "make"), changed: true},
		{name: "with cd", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "cd src && make"), changed: true},
		{name: "auto mode", agent: agent.ClaudeCode, payload: in(claudeInMode, "auto", "make")},
		{name: "plan mode", agent: agent.ClaudeCode, payload: in(claudeInMode, "plan", "make")},
		{name: "nobody has proved it", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), unproved: true},
		{name: "another version since", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), updated: true},
		{name: "its own deny rule", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), settings: `{"permissions":{"deny":["Bash(make:*)"]}}`},
		{name: "its own ask rule", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), settings: `{"permissions":{"ask":["Bash(make:*)"]}}`},
		{name: "its settings are broken", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), settings: `{"permissions":`},
		{name: "no namespaces", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), level: confine.LevelFiles},
		{name: "no Landlock", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"), level: confine.LevelNone},
		{name: "Gemini CLI", agent: agent.Gemini, payload: in(geminiPayload, "make"), changed: true},
		{name: "opencode", agent: agent.OpenCode, payload: in(openCodePayload, "make"), changed: true},
		{name: "Pi, which has no rules of its own", agent: agent.Pi, payload: in(piPayload, "make"), changed: true},
		{name: "Codex without its sandbox", agent: agent.Codex, payload: in(codexPayload, "bypassPermissions", "make"),
			started: "codex exec --dangerously-bypass-approvals-and-sandbox x", changed: true},
		{name: "Codex with full access", agent: agent.Codex, payload: in(codexPayload, "bypassPermissions", "make"),
			started: "codex -s danger-full-access", changed: true},
		{name: "Codex in its sandbox", agent: agent.Codex, payload: in(codexPayload, "default", "make"), started: "codex"},
		{name: "Codex in its sandbox, without approvals", agent: agent.Codex, payload: in(codexPayload, "bypassPermissions", "make"),
			started: "codex exec -s workspace-write x"},
		{name: "Claude Code in its sandbox", agent: agent.ClaudeCode, payload: in(claudeInMode, "default", "make"),
			settings: `{"sandbox":{"enabled":true}}`},
		{name: "Copilot", agent: agent.Copilot, payload: in(copilotPayload, "make")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			state := filepath.Join(home, "obstat")
			program := filepath.Join(home, "agent")
			write := func(name, text string) {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write(program, "#!/bin/sh\n")
			write(filepath.Join(dir, "obstat.yaml"), policy)
			write(filepath.Join(dir, "src", "x"), "")
			if tt.settings != "" {
				write(filepath.Join(dir, ".claude", "settings.json"), tt.settings)
			}
			if !tt.unproved {
				if err := confined.Prove(state, tt.agent, "1", program); err != nil {
					t.Fatal(err)
				}
			}
			if tt.updated {
				write(program, "#!/bin/sh\n# another\n")
			}
			level := tt.level
			if level == "" {
				level = confine.LevelFull
			}
			o := &Options{Agent: tt.agent, Dir: dir, World: homed{dir: home}, Exe: "/opt/it's/obstat",
				machine: func(context.Context) confine.Report {
					return confine.Report{Level: level, Overlay: level == confine.LevelFull}
				}}
			if tt.started != "" {
				o.started = func() []string { return strings.Fields(tt.started) }
			}
			out, words, _ := hookIn(t, o, strings.NewReader(tt.payload(dir)), nil)
			tickets, _ := filepath.Glob(filepath.Join(state, "tickets", "*.json"))
			if !tt.changed {
				if len(tickets) != 0 || strings.Contains(out, "--ticket") {
					t.Errorf("it was changed: %s %s", out, words)
				}
				return
			}
			if len(tickets) != 1 {
				t.Fatalf("%d tickets: %s %s", len(tickets), out, words)
			}
			name := strings.TrimSuffix(filepath.Base(tickets[0]), ".json")
			if !strings.Contains(out, name) || !json.Valid([]byte(out)) {
				t.Errorf("the answer is %s", out)
			}
			if want := `'/opt/it'\\''s/obstat' run --ticket ` + name; !strings.Contains(out, want) {
				t.Errorf("the answer is %s", out)
			}
			if moves := strings.Contains(out, "run --where "+name); moves != (tt.name == "with cd") {
				t.Errorf("whether the directory is handed back: %s", out)
			}
		})
	}
}

// in fills in a payload, the directory first.
func in(payload string, more ...any) func(string) string {
	return func(dir string) string { return fmt.Sprintf(payload, append([]any{dir}, more...)...) }
}

// TestProofEnds: a call that is over while its ticket lies there still was run by another text than the changed one.
// From then on that program's commands are not changed; one whose ticket was spent changes nothing.
func TestProofEnds(t *testing.T) {
	for _, spent := range []bool{true, false} {
		home, dir := t.TempDir(), t.TempDir()
		state, program := filepath.Join(home, "obstat"), filepath.Join(home, "agent")
		for name, text := range map[string]string{program: "#!/bin/sh\n",
			filepath.Join(dir, "obstat.yaml"): "version: 1\nconfine: code\nallow: [read workspace, write workspace]\n"} {
			if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := confined.Prove(state, agent.ClaudeCode, "1", program); err != nil {
			t.Fatal(err)
		}
		tell := func(event, more string) string {
			o := &Options{Agent: agent.ClaudeCode, Dir: dir, World: homed{dir: home}, Exe: "/opt/obstat",
				machine: func(context.Context) confine.Report {
					return confine.Report{Level: confine.LevelFull, Overlay: true}
				}}
			payload := fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"permission_mode":"default",`+
				`"hook_event_name":%q,"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"u1"%s}`, dir, event, more)
			out, _, _ := hookIn(t, o, strings.NewReader(payload), nil)
			return out
		}
		if out := tell("PreToolUse", ""); !strings.Contains(out, "--ticket") {
			t.Fatalf("it was not changed: %s", out)
		}
		tickets, _ := filepath.Glob(filepath.Join(state, "tickets", "*.json"))
		if spent {
			name := strings.TrimSuffix(filepath.Base(tickets[0]), ".json")
			if _, err := confined.Redeem(state, name, "make", dir, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		tell("PostToolUse", `,"tool_response":{"stdout":"","stderr":"","interrupted":false}`)
		if out := tell("PreToolUse", ""); strings.Contains(out, "--ticket") != spent {
			t.Errorf("spent %t: %s", spent, out)
		}
		if err := confined.Prove(state, agent.ClaudeCode, "1", program); err != nil {
			t.Fatal(err)
		}
		if why := confined.Unproved(state, agent.ClaudeCode); (why == "") != spent {
			t.Errorf("spent %t, proved again: %q", spent, why)
		}
	}
}

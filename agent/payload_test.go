package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/obstat/obstat"
)

// denies tells whether a reply blocks the call in the agent's own way.
func denies(agent string, r Reply) bool {
	out := string(r.Stdout)
	switch agent {
	case Antigravity:
		return strings.Contains(out, `"decision":"deny"`)
	case Cline:
		return strings.Contains(out, `"cancel":true`)
	case Copilot:
		return strings.Contains(out, `"deny"`)
	case Gemini:
		return strings.Contains(out, `"deny"`)
	}
	return r.Exit == exitDeny && len(bytes.TrimSpace(r.Stderr)) > 0 && !strings.Contains(out, `"allow"`) || strings.Contains(out, `"behavior":"deny"`)
}

func TestBadInput(t *testing.T) {
	claude := func(s string) string {
		return `{"session_id":"s","permission_mode":"default","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse",` + s + `}`
	}
	for name, text := range map[string]string{
		"empty":              ``,
		"cut":                claude(`"tool_name":"Bash","tool_input":{"command":"ls"}`)[:90],
		"array":              `[]`,
		"number":             `1`,
		"null":               `null`,
		"two objects":        claude(`"tool_name":"Bash","tool_input":{}`) + `{}`,
		"unknown event":      strings.Replace(claude(`"tool_name":"Bash","tool_input":{}`), "PreToolUse", "PreToolAbuse", 1),
		"no tool":            claude(`"tool_input":{}`),
		"empty tool":         claude(`"tool_name":"","tool_input":{}`),
		"control in tool":    claude(`"tool_name":"Ba\u0008sh","tool_input":{"command":"ls"}`),
		"tool no text":       claude(`"tool_name":1,"tool_input":{}`),
		"no input":           claude(`"tool_name":"Bash"`),
		"input text":         claude(`"tool_name":"Bash","tool_input":"ls"`),
		"input list":         claude(`"tool_name":"Bash","tool_input":[]`),
		"input null":         claude(`"tool_name":"Bash","tool_input":null`),
		"duplicate key":      claude(`"tool_name":"Read","tool_name":"Bash","tool_input":{}`),
		"case variant":       claude(`"tool_name":"Read","TOOL_NAME":"Bash","tool_input":{}`),
		"other capitals":     claude(`"TOOL_NAME":"Bash","tool_input":{}`),
		"duplicate in input": claude(`"tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}`),
		"variant in input":   claude(`"tool_name":"Bash","tool_input":{"command":"ls","Command":"rm"}`),
		"NUL":                claude(`"tool_name":"Bash","tool_input":{"command":"ls\u0000"}`),
		"escape":             claude(`"tool_name":"Bash","tool_input":{"command":"ls \u001b[2K"}`),
		"lone surrogate":     claude(`"tool_name":"Bash","tool_input":{"command":"\ud800"}`),
		"not UTF-8":          claude("\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}"),
		"relative cwd":       strings.Replace(claude(`"tool_name":"Bash","tool_input":{}`), `"/w"`, `"w"`, 1),
		"cwd no text":        strings.Replace(claude(`"tool_name":"Bash","tool_input":{}`), `"/w"`, `{}`, 1),
		"comment":            "// x\n" + claude(`"tool_name":"Bash","tool_input":{}`),
		"no command":         claude(`"tool_name":"Bash","tool_input":{}`),
		"command list":       claude(`"tool_name":"Bash","tool_input":{"command":["echo","x; rm y"]}`),
		"command number":     claude(`"tool_name":"Bash","tool_input":{"command":7}`),
		"event no text":      `{"session_id":"s","hook_event_name":{},"tool_name":"Read","tool_input":{}}`,
		"too deep":           claude(`"tool_name":"Bash","tool_input":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`),
	} {
		for _, told := range []string{"", ClaudeCode, Codex, Gemini, Copilot, Crush, Cursor, Cline, OpenCode, Windsurf, Generic, Antigravity, Droid, Kiro, VSCode, Pi, Amp,
			OpenClaw, "nobody"} {
			e, err := Decode(told, []byte(text), nil)
			if err == nil {
				t.Errorf("%s, told %q: taken for %s %+v", name, told, e.Agent, e.Call)
				continue
			}
			r := e.Refuse(err.Error())
			if !denies(e.Agent, r) {
				t.Errorf("%s, told %q: not a denial of %q: %q %q %d", name, told, e.Agent, r.Stdout, r.Stderr, r.Exit)
			}
			if len(r.Stdout) > 0 && !json.Valid(r.Stdout) {
				t.Errorf("%s, told %q: %s", name, told, r.Stdout)
			}
		}
	}
}

// TestBadInputOf has payloads that only one agent sends.
func TestBadInputOf(t *testing.T) {
	for _, c := range []struct{ agent, text, want string }{
		{Antigravity, `{"toolCall":{"NAME":"x","name":"run_command","args":{"CommandLine":"ls"}}}`, `the keys "NAME" and "name" differ`},
		{Antigravity, `{"toolCall":{"name":"run_command","ARGS":{},"args":{"CommandLine":"ls"}}}`, `the keys "ARGS" and "args" differ`},
		{Antigravity, `{"tool":"ls"}`, "name is missing"},
		{Antigravity, `{"toolCall":"ls"}`, "toolCall must be an object, not a string"},
		{Gemini, `{"protocolVersion":"1.0.0","toolCall":{"name":"read_file","Name":"x","args":{}}}`, `the keys "name" and "Name" differ`},
		{Gemini, `{"hook_event_name":"BeforeTool","tool_name":"mcp_a_b","tool_input":{},"mcp_context":{"server_name":"a","SERVER_NAME":"c","tool_name":"b"}}`, `the keys "server_name" and "SERVER_NAME" differ`},
		{Gemini, `{"hook_event_name":"BeforeTool","tool_name":"mcp_a_b","tool_input":{},"mcp_context":"a"}`, "server_name is missing"},
		{Copilot, `{"sessionId":"s","hookName":5,"toolName":"view","toolArgs":{"path":"/x"}}`, "hookName must be text, not a number"},
		{Cline, `{"clineVersion":"3","hookName":{},"preToolUse":{"toolName":"read_file","parameters":{"path":"x"}}}`, "hookName must be text, not an object"},
		{Crush, `{"event":["PreToolUse"],"tool_name":"view","tool_input":{}}`, "event must be text, not a list"},
		{ClaudeCode, `{"session_id":"s","permission_mode":"default","tool_name":"Read","tool_input":{}}`, "the event is missing"},
		{Copilot, `{"sessionId":"s","toolName":"bash","toolArgs":"{\"command\":[\"ls\"]}"}`, "command must be text, not a list"},
		{Cline, `{"clineVersion":"3","preToolUse":{"toolName":"execute_command","parameters":{}}}`, "command is missing"},
		{Cline, `{"clineVersion":"3","hookName":"PreToolUse","preToolUse":"ls"}`, "toolName is missing"},
		{Windsurf, `{"agent_action_name":"pre_run_command","tool_info":"ls"}`, "tool_info must be an object, not a string"},
		{ClaudeCode, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{}}`, "file_path is missing"},
		{ClaudeCode, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":["/etc/shadow"]}}`, "file_path must be text, not a list"},
		{ClaudeCode, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"NotebookEdit","tool_input":{"notebook_path":null}}`, "notebook_path must be text, not null"},
		{Gemini, `{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":{"a":1}}}`, "file_path must be text, not an object"},
	} {
		e, err := Decode(c.agent, []byte(c.text), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || e.Agent != c.agent {
			t.Errorf("%s: %s: %v, want %s", e.Agent, c.text, err, c.want)
		}
	}
	// Here a list is a program and its arguments.
	if _, err := Decode(Generic, []byte(`{"tool":"bash","input":{"command":["ls"]}}`), nil); err != nil {
		t.Error(err)
	}
}

// TestUnreadIsDenied: an event that could not be read cannot be allowed, even by a
// caller that does not look at the error.
func TestUnreadIsDenied(t *testing.T) {
	for _, name := range Agents() {
		e, err := Decode(name, []byte(`{"hook_event_name":7}`), nil)
		if err == nil {
			t.Fatalf("%s: %+v", name, e)
		}
		e.Call = &obstat.Call{Tool: "Bash"}
		if r := e.Encode(&obstat.Decision{Verdict: obstat.Allow}, nil); !denies(e.Agent, r) {
			t.Errorf("%s: %q %q %d", e.Agent, r.Stdout, r.Stderr, r.Exit)
		}
	}
}

func TestTooLarge(t *testing.T) {
	text := `{"hook_event_name":"PreToolUse","permission_mode":"default","tool_name":"Write","tool_input":{"content":"` + strings.Repeat("x", 11<<20) + `"}}`
	e, err := Decode(ClaudeCode, []byte(text), nil)
	if err == nil || !denies(ClaudeCode, e.Refuse(err.Error())) {
		t.Errorf("%v", err)
	}
}

// TestWords: a reason is safe for a terminal, and never empty.
func TestWords(t *testing.T) {
	for _, s := range []string{"", "\x1b[2J", strings.Repeat("é", 9000), "\xff", "\r"} {
		e := &Event{Agent: ClaudeCode, Name: preToolUse, Call: &obstat.Call{Tool: "x"}}
		r := e.Encode(&obstat.Decision{Note: s, Tool: "x"}, nil)
		if !denies(ClaudeCode, r) || bytes.ContainsAny(r.Stderr, "\x1b\r") || !json.Valid(r.Stdout) || len(r.Stdout) > 2*maxWords {
			t.Errorf("%q: %q", s, r.Stderr)
		}
	}
}

// TestLongWords: of a reason that is too long, its beginning and its end are told.
func TestLongWords(t *testing.T) {
	s := words("ask rule x, on " + strings.Repeat("é", 9000) + "a: nobody is there to ask")
	if !strings.HasPrefix(s, "ask rule x") || !strings.HasSuffix(s, "nobody is there to ask") || len(s) > maxWords+10 || !utf8.ValidString(s) {
		t.Errorf("%d bytes: %q", len(s), s)
	}
}

// FuzzDecode: no payload makes a panic, an allow out of an error, or a reply
// that is not the agent's.
func FuzzDecode(f *testing.F) {
	for agent, fx := range fixtures(f) {
		for _, in := range fx.Stdin {
			f.Add(agent, string(in.Payload))
		}
	}
	for _, c := range captures(f) {
		f.Add(c.Agent, string(c.Stdin))
	}
	f.Fuzz(func(t *testing.T, agent, text string) {
		e, err := Decode(agent, []byte(text), nil)
		if e.Done != nil { // the call is over, and nothing is answered
			if r := e.Encode(&obstat.Decision{Note: "no"}, nil); r.Exit != 0 || len(r.Stdout) > 0 {
				t.Errorf("%q %q: %q %d", agent, text, r.Stdout, r.Exit)
			}
			return
		}
		if err != nil {
			if r := e.Refuse(err.Error()); !denies(e.Agent, r) {
				t.Errorf("%q %q: %q %q %d", agent, text, r.Stdout, r.Stderr, r.Exit)
			}
			return
		}
		if e.Call != nil && !e.Housekeeping {
			if r := e.Encode(&obstat.Decision{Note: "no"}, nil); !denies(e.Agent, r) {
				t.Errorf("%q %q: %q %q %d", agent, text, r.Stdout, r.Stderr, r.Exit)
			}
		}
	})
}

// TestTyped: a command that is a list of words is judged as the text that means the same; a tool that takes
// texts alone is refused one.
func TestTyped(t *testing.T) {
	for in, want := range map[string]string{
		`"shell","tool_input":{"command":["bash","-lc","make all | tee x"],"workdir":"/w"}`: `{"command":"make all | tee x","workdir":"/w"}`,
		`"shell","tool_input":{"command":["git","commit","-m","it's \"a b\""]}`:             `{"command":"git commit -m 'it'\\''s \"a b\"'"}`,
		`"exec_command","tool_input":{"cmd":["/usr/bin/zsh","-c","ls"]}`:                    `{"cmd":"ls"}`,
		`"shell","tool_input":{"command":["bash","-c","ls","x"]}`:                           `{"command":"bash -c ls x"}`,
		`"shell","tool_input":{"command":["bash","-xc","ls"]}`:                              `{"command":"bash -xc ls"}`,
		`"shell","tool_input":{"command":["ls",7]}`:                                         `{"command":["ls",7]}`,
		`"mcp__x__shell","tool_input":{"command":["ls","a b"]}`:                             `{"command":["ls","a b"]}`,
		`"Bash","tool_input":{"command":["bash","-lc","ls"]}`:                               "",
	} {
		e, err := Decode(Codex, []byte(`{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":"/w","permission_mode":"default","model":"m","hook_event_name":"PreToolUse","tool_use_id":"1","tool_name":`+in+`}`), nil)
		if want == "" && err == nil || want != "" && (err != nil || string(e.Call.Input) != want) {
			t.Errorf("%s: %s, %v, want %s", in, e.Call.Input, err, want)
		}
	}
}

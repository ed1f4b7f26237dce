package agent

import (
	"path/filepath"
	"time"

	"github.com/obstat/obstat/internal/format/textedit"
)

// VSCode is the name of the agent, as in `obstat hook vscode`.
const VSCode = "vscode"

// vsCode is the agent mode of Visual Studio Code, with its own ("Local") harness, by its documents. It reads
// the hooks of Claude Code and Copilot CLI as well, and sends them its own payload.
func vsCode() *Agent {
	return &Agent{
		Name: VSCode, Title: "VS Code", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.has("hookEventName") && s.has("tool_name", "timestamp")) },
			decode: vsCodeDecode, encode: vsCodeEncode,
			others: `read=read_file:filePath fetch=fetch_webpage:urls task=runSubagent:prompt
				mcp=mcp_SERVER_TOOL`,
			housekeeping: "manage_todo_list get_errors get_changed_files get_terminal_output",
			modes: []Mode{{Name: AnyMode, Allow: Lifts, Asks: true,
				Says: "An allow would take the place of its own approvals and of its sandbox's, so VS Code decides by itself."}},
			askings: []Asking{{Way: "every session in a window", At: AtPrompt}},
		},
		settings: settings{
			events: []string{preToolUse}, after: "PostToolUse", limit: patient,
			places: vsCodePlaces, format: textedit.JSON, guard: guardSuffix,
			ownFile: vsCodeName, own: vsCodeFile, reads: func(name string) bool { return name == vsCodeName },
			form: form{commands: []string{"command"}, fields: obj("type", "command"), timeout: "timeout",
				unit: time.Second},
			honours: vsCodeHonours, forge: vsCodeForge,
			servers: []serverPlace{{place: place{scope: Project, path: ".vscode/mcp.json"}, keys: []string{"servers"}}},
			version: "1.110, by its documents", covers: vsCodeCovers,
			brief: "no | its prompt | no | denied",
		},
		traits: traits{programs: "code code-insiders", clients: "vscode", setsIn: ".vscode/settings.json",
			hooks: ".vscode/settings.json"},
	}
}

// vsCodeName is obstat's file beside those of Copilot CLI, which reads the same directories.
const vsCodeName = "obstat-vscode.json"

var vsCodePlaces = []place{
	{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "hooks", dir: true, install: true, shared: true},
	{scope: Project, path: ".github/hooks", dir: true, install: true},
}

var vsCodeCovers = []Limit{
	{"sessions", Partly, "Sessions of the Copilot, Claude and Codex harnesses call those agents' hooks: install for " +
		"them as well. Cloud sessions read .github/hooks of the default branch."},
	{"allowed calls", No, "An allow would take the place of VS Code's own approvals, so it is never said."},
	{"changed arguments", No, "They count only beside an allow; such a call is denied."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which blocks."},
	{"a hook that is late", No, "After the time-out the call is not documented to be blocked; obstat denies before that."},
	{"settings", Partly, "chat.hookFilesLocations, and an administrator, can switch hooks off; a project's hooks run " +
		"in a trusted workspace alone."},
}

func vsCodeDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "hookEventName sessionId timestamp cwd transcript_path tool_name tool_input tool_use_id tool_response")
	if !p.asks(e, preToolUse+" PostToolUse", claudeOther) {
		return
	}
	p.claudeCall(e)
	e.Call.Session, e.Call.Mode, e.Mode = p.text(r, "sessionId"), "", ""
	if e.Name == "PostToolUse" {
		p.after(e, "tool_response", "duration_ms")
	}
}

// vsCodeEncode answers like Claude Code; changed arguments without an allow are not documented to count.
func vsCodeEncode(e *Event, a *answer) Reply { return claudeEncode(e, a.fixed()) }

func vsCodeFile(c Invocation) []byte { return (&target{agent: vsCode(), call: c}).fresh() }

func vsCodeHonours(_ *Hook, s *said) Outcome {
	switch {
	case s.Exit == exitDeny || isBool(s.object.Get("continue"), false):
		return Blocked
	case s.Exit != 0:
		return Runs
	}
	return outcomeOf(text(s.object.Get("hookSpecificOutput"), "permissionDecision"), true)
}

func vsCodeForge(event, dir string, p probe) object {
	tool, args := p.as("run_in_terminal", "create_file", "filePath", "content")
	return obj("timestamp", "2026-01-01T00:00:00.000Z", "cwd", dir, "sessionId", canarySession, "hookEventName", event,
		"transcript_path", filepath.Join(dir, "transcript.json"), "tool_name", tool, "tool_input", args,
		"tool_use_id", "canary")
}

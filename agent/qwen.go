package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/textedit"
)

// Qwen is the name of the agent, as in `obstat hook qwen`.
const Qwen = "qwen"

// qwen is Qwen Code, a relative of Gemini CLI whose hooks are Claude Code's.
func qwen() *Agent {
	return &Agent{
		Name: Qwen, Title: "Qwen Code", Patience: time.Minute,
		wire: wire{
			decode: qwenDecode, encode: claudeEncode, housekeeping: qwenHousekeeping, modes: qwenModes(),
			others: `read=read_file:file_path fetch=web_fetch:url search=web_search:query task=agent:prompt
				skill=skill:skill mcp=mcp__SERVER__TOOL`,
			askings: []Asking{
				{Way: "interactive, every approval mode", At: AtPrompt},
				{Way: "-p", At: AtObstat, With: "--wait 60s", Says: "without it Qwen Code answers no by itself"},
			},
			marks: func(s *sent) likeness {
				if s.has("hook_event_name") && (s.told == Qwen || s.has("timestamp") && s.has("permission_mode")) {
					return alike
				}
				return foreign
			},
		},
		settings: settings{
			events: []string{preToolUse}, after: "PostToolUse PostToolUseFailure", limit: patient,
			places: qwenPlaces, format: textedit.JSONC, guard: guardSuffix, start: withBash,
			form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command", "name", "obstat"),
				matcher: ".*", timeout: "timeout", unit: time.Millisecond},
			honours: qwenHonours, forge: qwenForge, check: claudeSwitches,
			environ: func(_, dir string) []string { return []string{"QWEN_PROJECT_DIR=" + dir, "CLAUDE_PROJECT_DIR=" + dir} },
			servers: jsonServers(".qwen/settings.json", ".qwen", "settings.json"),
			version: "0.24.4", covers: qwenCovers,
			brief: "no | its prompt | yes | denied",
		},
		traits: traits{
			programs: "qwen qwen-code", process: "qwen qwen-code", sets: "QWEN_CODE", clients: "qwen-code qwen-cli-mcp-client",
			bare: "--bare --safe-mode", off: "QWEN_CODE_SIMPLE QWEN_CODE_SAFE_MODE",
			moves:  "QWEN_CODE_SYSTEM_SETTINGS_PATH QWEN_CODE_SYSTEM_DEFAULTS_PATH",
			setsIn: ".qwen/settings.json .qwen/.env",
		},
	}
}

const qwenHousekeeping = `todo_write task_create task_update task_list task_stop ask_user_question
	enter_plan_mode exit_plan_mode get_goal update_goal list_agents tool_search structured_output
	report_findings record_source loop_wakeup cron_list cron_delete save_memory`

var qwenPlaces = []place{
	{scope: User, env: "QWEN_HOME", under: ".qwen", path: "settings.json", install: true},
	{scope: Project, path: ".qwen/settings.json", install: true},
	{scope: Managed, machine: machineDir{"/etc/qwen-code", "/Library/Application Support/QwenCode",
		`C:\ProgramData\qwen-code`}, path: "settings.json"},
}

func qwenModes() (out []Mode) {
	for _, name := range []string{"default", "plan", "auto-edit", "auto", "yolo"} {
		out = append(out, Mode{Name: name, Allow: Idle, Asks: true, Says: "Its own rules and its prompt follow."})
	}
	return out
}

var qwenCovers = []Limit{
	{"subagents", Yes, "Calls of subagents reach the hook, with their kind."},
	{"headless runs", Yes, "With -p, and in subagents in the background, an ask that nobody can answer is a denial."},
	{"asking", Partly, "An allow does not skip Qwen Code's own prompt; an ask is a prompt of its own."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2 and words, which blocks."},
	{"a hook that is late", No, "After the time-out (milliseconds) the call runs; obstat denies before that."},
	{"trust", Partly, "A project's hooks run only in a trusted folder; --bare, --safe-mode, QWEN_CODE_SIMPLE and " +
		"QWEN_CODE_SAFE_MODE run none."},
}

func qwenDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys+" timestamp tool_call_id")
	if !p.asks(e, preToolUse+" "+claudeAfter, claudeOther+" PermissionRequest SessionDelete TodoCreated TodoCompleted") {
		return
	}
	p.claudeCall(e)
	e.Call.Mode, e.Call.Roots = "", p.project("QWEN_PROJECT_DIR")
	if among(claudeAfter, e.Name) {
		p.after(e, "tool_response", "duration_ms")
	}
}

// qwenHonours: with exit code 2 only standard error counts, and nothing there lets
// the call run; with others an object on either stream does.
func qwenHonours(_ *Hook, s *said) Outcome {
	out := strings.TrimSpace(string(s.Stdout))
	if s.Exit == exitDeny || out == "" {
		out = strings.TrimSpace(string(s.Stderr))
	}
	object := whole([]byte(out))
	if object == nil {
		return blockedIf(s.Exit == exitDeny && out != "")
	}
	d := text(object.Get("hookSpecificOutput"), "permissionDecision")
	if d == "" {
		d = strings.Replace(text(object, "decision"), "block", "deny", 1)
	}
	return outcomeOf(d, true)
}

func qwenForge(event, dir string, p probe) object {
	tool, args := p.as("run_shell_command", "write_file", "file_path", "content")
	return obj("session_id", canarySession, "transcript_path", filepath.Join(dir, "transcript.jsonl"), "cwd", dir,
		"hook_event_name", event,
		"timestamp", "2026-01-01T00:00:00.000Z", "permission_mode", "default", "tool_name", tool, "tool_input", args,
		"tool_use_id", "toolu_canary")
}

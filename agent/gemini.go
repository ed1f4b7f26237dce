package agent

import (
	"bytes"
	"path/filepath"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Gemini is the name of the agent, as in `obstat hook gemini`.
const Gemini = "gemini"

// gemini is Gemini CLI, with its hooks and its external safety checkers.
func gemini() *Agent {
	return &Agent{
		Name: Gemini, Title: "Gemini CLI", Patience: time.Minute,
		wire: wire{
			variable: "GEMINI_SESSION_ID", marks: geminiMarks, decode: geminiDecode, encode: geminiEncode,
			others: `read=read_file:file_path fetch=web_fetch:prompt search=google_web_search:query
				task=invoke_agent:prompt skill=activate_skill:name mcp=mcp_SERVER_TOOL`,
			housekeeping: geminiHousekeeping, modes: geminiModes(),
			changes: beforeTool, driven: geminiDrive(), printed: refusedOutput("deny"), printedAt: afterTool,
			rulesBy: "--policy --admin-policy --exclude-tools --sandbox -s",
			askings: []Asking{{Way: "interactive and -p, every approval mode, yolo too", At: AtObstat,
				Says: "in its own prompt a yes would outrank its own deny rules"}},
		},
		settings: settings{
			events: []string{beforeTool}, after: afterTool, limit: patient,
			places: geminiPlaces, format: textedit.JSONC, guard: guardSuffix,
			form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command", "name", "obstat"),
				matcher: ".*", timeout: "timeout", unit: time.Millisecond},
			honours: geminiHonours, forge: geminiForge, check: geminiCheck, start: withBash,
			environ: func(_, dir string) []string {
				return []string{"GEMINI_SESSION_ID=" + canarySession, "GEMINI_CWD=" + dir, "GEMINI_PROJECT_DIR=" + dir,
					"CLAUDE_PROJECT_DIR=" + dir}
			},
			servers: jsonServers(".gemini/settings.json", ".gemini", "settings.json"),
			version: "0.61.0", covers: geminiCovers,
			brief: "no | denied | yes | denied",
		},
		traits: traits{
			programs: "gemini gemini-cli", process: "gemini gemini-cli", clients: "gemini-cli gemini-cli-mcp-client",
			sets: "GEMINI_CLI GEMINI_PROJECT_DIR GEMINI_SESSION_ID", bare: "--disable-hooks --no-hooks",
			moves:    "GEMINI_CLI_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
			policies: ".gemini/policies/", setsIn: ".gemini/settings.json .gemini/.env",
		},
	}
}

// geminiHousekeeping has complete_task, without which a subagent never ends.
const geminiHousekeeping = `complete_task update_topic write_todos ask_user enter_plan_mode
	exit_plan_mode list_background_processes read_background_output tracker_create_task
	tracker_update_task tracker_get_task tracker_list_tasks tracker_add_dependency tracker_visualize
	get_internal_docs list_mcp_resources save_memory`

var geminiPlaces = []place{
	{scope: User, under: ".gemini", path: "settings.json", install: true},
	{scope: Project, path: ".gemini/settings.json", install: true},
	{scope: Managed, machine: geminiMachine, path: "settings.json"},
	{scope: Managed, machine: geminiMachine, path: "system-defaults.json"},
}

// geminiModes: the payload has no mode. An allow is read nowhere; an ask is, and outranks even a deny rule
// of Gemini's own policies.
func geminiModes() []Mode {
	return []Mode{
		{Name: safetyChecker, Allow: Idle, Asks: true, Says: "A safety checker only tightens what Gemini's policies allow."},
		{Name: AnyMode, Allow: Idle, Says: "Default, auto_edit, yolo and plan: its policies and its prompt follow. An ask " +
			"would outrank its own deny rules, so obstat asks itself."},
	}
}

var geminiCovers = []Limit{
	{"subagents", Yes, "Calls of subagents reach the hook, but cannot be told from the agent's own."},
	{"headless runs", Partly, "Without a rule of Gemini's own or yolo mode, shell commands are not even offered, and the " +
		"hook is not called."},
	{"asking", No, "An ask would outrank Gemini's own deny rules, and hangs for ever without a terminal: it is a denial, " +
		"or goes to obstat ask."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2 and words, which blocks."},
	{"a hook that is late", No, "After the time-out (milliseconds) the call runs; obstat denies before that."},
	{"trust", Partly, "A project's hooks run only in a trusted folder; in an untrusted one Gemini does not start."},
}

func geminiMarks(s *sent) likeness {
	return surelyIf(s.has("toolCall") && s.has("protocolVersion") || s.event == beforeTool || s.event == afterTool)
}

const (
	beforeTool    = "BeforeTool"
	afterTool     = "AfterTool"
	safetyChecker = "safety checker"
)

// geminiOther are the events that ask for no permission.
const geminiOther = "BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart SessionEnd " +
	"Notification PreCompress"

func geminiDecode(p *payload, e *Event) {
	if call := p.root.Get("toolCall"); call != nil {
		e.Variant, e.Mode, e.Call = safetyChecker, safetyChecker, p.toolCall(call)
		env := p.root.At("context", "environment")
		e.Call.Dir, e.Call.Roots = p.text(env, "cwd"), p.roots(env.Get("workspaces"))
		return
	}
	p.keys(p.root, "session_id cwd hook_event_name tool_name tool_input mcp_context")
	if !p.asks(e, beforeTool+" "+afterTool, geminiOther) {
		return
	}
	p.claudeCall(e)
	if e.Name == afterTool {
		p.after(e, "tool_response", "duration_ms")
	}
	e.Call.Mode = ""
	if ctx := p.root.Get("mcp_context"); ctx != nil && !ctx.Is(tree.Null) {
		p.folded(ctx)
		p.keys(ctx, "server_name tool_name")
		// tool_name alone does not say where the server's name ends.
		e.Call.Tool = mcp(p.need(ctx, "server_name"), p.need(ctx, "tool_name"))
	}
	e.Call.Roots = p.project("GEMINI_PROJECT_DIR")
}

func geminiEncode(e *Event, a *answer) Reply {
	if e.Variant == safetyChecker {
		return safetyReply(a)
	}
	switch {
	case a.none:
		return reply(object{}, "", 0)
	case a.verdict == obstat.Deny:
		return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
	}
	out := obj("decision", a.verdict.String())
	if a.verdict == obstat.Ask {
		out = append(out, obj("reason", a.reason, "systemMessage", a.reason)...)
	}
	if a.input != nil {
		out = append(out, obj("hookSpecificOutput", with(obj("hookEventName", beforeTool), "tool_input", a.input))...)
	}
	return reply(out, "", 0)
}

// safetyReply answers a safety checker's call: an error there is a denial, too.
func safetyReply(a *answer) Reply {
	a = a.fixed()
	switch {
	case a.none || a.verdict == obstat.Allow:
		return reply(obj("decision", "allow"), "", 0)
	case a.verdict == obstat.Ask:
		return reply(obj("decision", "ask_user", "reason", a.reason), "", 0)
	}
	return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
}

var geminiMachine = machineDir{"/etc/gemini-cli", "/Library/Application Support/GeminiCli", `C:\ProgramData\gemini-cli`}

// geminiHonours: an object counts on every exit code, and is looked for on
// standard error where standard output is empty; words count with an exit code of
// 2 and more.
func geminiHonours(_ *Hook, s *said) Outcome {
	printed := len(bytes.TrimSpace(s.Stdout)) > 0
	object := s.object
	if !printed {
		object = whole(s.Stderr)
	}
	switch d := text(object, "decision"); {
	case s.Exit < 0:
		return Runs
	case d == "block":
		return Blocked
	case object == nil && s.Exit >= 2 && (s.words || printed):
		return Blocked
	default:
		return outcomeOf(d, true)
	}
}

func geminiForge(event, dir string, p probe) object {
	tool, args := p.as("run_shell_command", "write_file", "file_path", "content")
	return obj("session_id", canarySession, "transcript_path", filepath.Join(dir, "transcript.jsonl"), "cwd", dir,
		"hook_event_name", event,
		"timestamp", "2026-01-01T00:00:00.000Z", "tool_name", tool, "tool_input", args)
}

// geminiCheck finds settings that make Gemini skip hooks.
func geminiCheck(s *Setup) {
	for _, f := range s.Files {
		config := f.root.Get("hooksConfig")
		if n := config.Get("enabled"); isBool(n, false) {
			s.off(f, n, "hooksConfig.enabled is false: Gemini runs no hooks")
		}
		if n := f.root.At("tools", "enableHooks"); isBool(n, false) {
			s.off(f, n, "tools.enableHooks is false: Gemini runs no hooks")
		}
		list := config.Get("disabled")
		if !list.Is(tree.Array) {
			continue
		}
		for _, n := range list.Elems {
			ours := n.Str == "obstat" || slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.Text == n.Str })
			if n.Is(tree.String) && ours {
				s.off(f, n, "hooksConfig.disabled names obstat's hook")
			}
		}
	}
}

func geminiDrive() *Drive {
	return &Drive{
		Line: "{PROGRAM} -p {PROMPT} -m gemini-2.5-pro --approval-mode yolo",
		Env: "GEMINI_API_KEY=dummy GOOGLE_GEMINI_BASE_URL={URL} GEMINI_CLI_NO_RELAUNCH=true " +
			"GEMINI_CLI_TRUST_WORKSPACE=true",
		Files: map[string]string{".gemini/settings.json": `{
	"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
	"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
	"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}}`},
		Tool: "run_shell_command", Field: "command", Args: map[string]any{"description": "a step"},
	}
}

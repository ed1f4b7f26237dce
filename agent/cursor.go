package agent

import (
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Cursor is the name of the agent, as in `obstat hook cursor`.
const Cursor = "cursor"

// cursor is Cursor. It has one event for tools, and older ones for commands, MCP
// calls, files and subagents.
func cursor() *Agent {
	return &Agent{
		Name: Cursor, Title: "Cursor", Patience: 30 * time.Second,
		wire: wire{
			variable: "CURSOR_VERSION", decode: cursorDecode, encode: cursorEncode,
			marks:        func(s *sent) likeness { return surelyIf(s.has("cursor_version", "conversation_id")) },
			housekeeping: "TodoWrite AskQuestion SwitchMode CreatePlan UpdateCurrentStep ReadLints",
			others: `read=Read:file_path:beforeReadFile delete=Delete:file_path:preToolUse
				task=Task:task:subagentStart mcp=SERVER/TOOL:x:beforeMCPExecution`,
			modes: []Mode{{Name: AnyMode, Allow: Lifts, Says: "Ask, allowlist, auto-review, run everything: the payload does " +
				"not tell them apart. An allow may take the reviewer's place, and auto-review is reported to run what a " +
				"hook asks about: Cursor decides by itself, and obstat asks itself."}},
			askings: []Asking{
				{Way: "commands and MCP calls", At: AtObstat,
					Says: "in auto-review it is reported to run what a hook asks about"},
				{Way: "files and subagents", At: AtObstat, writes: cursorTool},
			},
		},
		// Commands and MCP calls have events of their own, where an ask is honoured;
		// the event for tools is for the rest.
		settings: settings{
			events: []string{cursorShell, cursorMCP, cursorRead, cursorAgent, cursorTool},
			after:  cursorShellDone + " " + cursorMCPDone, limit: patient,
			places: cursorPlaces, format: textedit.JSON, first: obj("version", 1),
			form: form{commands: []string{"command"}, fields: obj("type", "command", "failClosed", true),
				matcher: "Write|Delete|Grep", matched: cursorTool, timeout: "timeout", unit: time.Second},
			honours: cursorHonours, forge: cursorForge, check: cursorCheck,
			environ: func(_, dir string) []string {
				return []string{"CURSOR_PROJECT_DIR=" + dir, "CURSOR_VERSION=2.4", "CLAUDE_PROJECT_DIR=" + dir}
			},
			servers: jsonServers(".cursor/mcp.json", ".cursor", "mcp.json"),
			version: "2.4", covers: cursorCovers,
			brief: "no | denied | no | denied (`failClosed`)",
		},
		traits: traits{programs: "cursor cursor-agent", process: "cursor-agent", sets: "CURSOR_AGENT",
			clients: "cursor cursor-vscode", setsIn: ".cursor/hooks.json"},
	}
}

var cursorPlaces = []place{
	{scope: User, under: ".cursor", path: "hooks.json", install: true},
	{scope: Project, path: ".cursor/hooks.json", install: true},
	{scope: Managed, machine: machineDir{"/etc/cursor", "/Library/Application Support/Cursor", `C:\ProgramData\Cursor`},
		path: "hooks.json"},
}

var cursorCovers = []Limit{
	{"subagents", Partly, "Starting one is asked for; cloud agents have no hook for MCP calls."},
	{"asking", No, "In auto-review Cursor is reported to run commands that a hook asks about, and for files and " +
		"subagents an ask is not enforced: it is a denial, or goes to obstat ask."},
	{"allowed calls", No, "Whether an allow takes the place of Cursor's reviewer is not documented, so it is never said: " +
		"Cursor's own rules and run mode decide."},
	{"tools without a hook", No, "Only commands, MCP calls, reading, Write, Delete, Grep and subagents are asked for; " +
		"other tools are not."},
	{"a hook that fails", Yes, "failClosed makes it a denial."},
	{"a hook that is late", Yes, "failClosed makes it a denial."},
	{"trust", Partly, "A project's hooks run only in a trusted workspace."},
}

const (
	cursorTool  = "preToolUse"
	cursorShell = "beforeShellExecution"
	cursorMCP   = "beforeMCPExecution"
	cursorRead  = "beforeReadFile"
	cursorTab   = "beforeTabFileRead"
	cursorAgent = "subagentStart"

	cursorShellDone = "afterShellExecution"
	cursorMCPDone   = "afterMCPExecution"
)

const cursorOther = "sessionStart sessionEnd postToolUse postToolUseFailure subagentStop afterFileEdit " +
	"beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought afterTabFileEdit workspaceOpen"

func cursorDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "conversation_id hook_event_name workspace_roots tool_name tool_input tool_use_id cwd command "+
		"mcp_server_name file_path subagent_type task")
	c := &obstat.Call{}
	switch e.Name {
	case cursorTool:
		c.Tool, c.Input = p.need(r, "tool_name"), p.input(r, "tool_input", true)
	case cursorShell:
		c.Tool, c.Input = "Shell", p.made("command", p.need(r, "command"))
	case cursorMCP:
		c.Tool = "MCP:" + p.need(r, "tool_name")
		if server := p.text(r, "mcp_server_name"); server != "" {
			c.Tool = mcp(server, p.need(r, "tool_name"))
		}
		c.Input = p.input(r, "tool_input", true)
	case cursorRead, cursorTab:
		c.Tool, c.Input = "Read", p.made("file_path", p.need(r, "file_path"))
	case cursorShellDone:
		c.Tool, c.Input = "Shell", p.made("command", p.need(r, "command"))
		p.after(e, "output", "duration")
	case cursorMCPDone:
		c.Tool = "MCP:" + p.need(r, "tool_name")
		if server := p.text(r, "mcp_server_name"); server != "" {
			c.Tool = mcp(server, p.need(r, "tool_name"))
		}
		c.Input = p.input(r, "tool_input", true)
		p.after(e, "result_json", "duration")
	case cursorAgent:
		c.Tool, c.Input = "Task", p.made("subagent_type", p.text(r, "subagent_type"), "prompt", p.text(r, "task"))
	default:
		p.asks(e, "", cursorOther)
		return
	}
	c.Session, c.Dir, e.ToolUse = p.text(r, "conversation_id"), p.text(r, "cwd"), p.text(r, "tool_use_id")
	if c.Roots = p.roots(r.Get("workspace_roots")); c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	e.Call = c
}

func cursorEncode(e *Event, a *answer) Reply {
	if e.Name != cursorShell && e.Name != cursorMCP {
		a = a.denied() // an ask is read there, and not enforced
	}
	if e.Name != cursorTool {
		a = a.fixed()
	}
	switch {
	case a.none && e.Call == nil:
		return Reply{}
	case a.none: // an empty reply would be one that failed
		return reply(object{}, "", 0)
	case a.verdict == obstat.Allow:
		return reply(with(obj("permission", "allow"), "updated_input", a.input), "", 0)
	}
	out := obj("permission", a.verdict.String(), "user_message", a.reason, "agent_message", a.reason)
	if a.verdict == obstat.Ask {
		return reply(out, "", 0)
	}
	return reply(out, a.reason, exitDeny)
}

// cursorHonours: an ask is enforced for commands and MCP calls alone.
func cursorHonours(h *Hook, s *said) Outcome {
	switch {
	case s.Exit == exitDeny:
		return Blocked
	case s.Exit != 0 || s.object == nil:
		return blockedIf(h.failClosed)
	}
	return outcomeOf(text(s.object, "permission"), h.Event == cursorShell || h.Event == cursorMCP)
}

func cursorForge(event, dir string, p probe) object {
	o := obj("conversation_id", canarySession, "generation_id", canarySession, "model", "canary", "hook_event_name",
		event, "cursor_version", "2.4", "workspace_roots", []any{dir})
	switch {
	case event == cursorShell && p.kind == shellProbe:
		return append(o, obj("command", p.text, "cwd", dir, "sandbox", false)...)
	case event == cursorMCP && p.kind == otherProbe:
		server, tool := p.ofServer()
		return append(o, obj("tool_name", tool, "tool_input", `{"x":1}`, "mcp_server_name", server, "command", server)...)
	case (event == cursorRead || event == cursorAgent) && p.kind == otherProbe && p.args != nil:
		return append(o, append(obj("subagent_type", "explore"), p.args...)...)
	case event == cursorTool && (p.kind == writeProbe || p.kind == otherProbe && p.args != nil):
		tool, args := p.as("", "Write", "file_path", "content")
		return append(o, obj("tool_name", tool, "tool_input", args, "tool_use_id", "canary", "cwd", dir)...)
	case p.cut:
		return append(o, obj("file_path", filepath.Join(dir, "a"), "subagent_type", "explore", "task", "a", "tool_name",
			"Write", "command", "true")...)
	}
	return nil
}

func cursorCheck(s *Setup) {
	for _, h := range s.Hooks {
		if !h.failClosed {
			s.Add(Error, "fails-open", h, s.Again(), "without failClosed a hook that fails lets the call run")
		}
	}
}

package agent

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Windsurf is the name of the agent, as in `obstat hook windsurf`.
const Windsurf = "windsurf"

// windsurf is Windsurf: an exit code, and words on standard error.
func windsurf() *Agent {
	return &Agent{
		Name: Windsurf, Title: "Windsurf", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.has("agent_action_name", "tool_info")) },
			decode: windsurfDecode, encode: windsurfEncode,
			others: "read=view_file:file_path:pre_read_code mcp=SERVER/TOOL:x:pre_mcp_tool_use",
			modes: []Mode{{Name: AnyMode, Allow: Idle,
				Says: "Its own rules and its prompt follow; it cannot be told to ask."}},
			askings: []Asking{{Way: "always", At: AtObstat}},
		},
		settings: settings{
			events: []string{"pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"},
			after:  "post_run_command post_write_code post_mcp_tool_use",
			places: windsurfPlaces, format: textedit.JSON, guard: guardShell,
			form:    form{commands: []string{"command"}, fields: obj("show_output", true)},
			forge:   windsurfForge,
			honours: func(_ *Hook, s *said) Outcome { return blockedIf(s.Exit == exitDeny) },
			version: "2026-08", covers: windsurfCovers,
			brief: "no | denied | no | denied",
		},
		traits: traits{programs: "windsurf"},
	}
}

var windsurfPlaces = []place{
	{scope: User, under: ".codeium/windsurf", path: "hooks.json", install: true},
	{scope: User, under: ".codeium", path: "hooks.json", shared: true}, // JetBrains
	{scope: Project, path: ".windsurf/hooks.json", install: true},
	{scope: Managed, machine: machineDir{"/etc/windsurf", "/Library/Application Support/Windsurf",
		`C:\ProgramData\Windsurf`}, path: "hooks.json"},
}

var windsurfCovers = []Limit{
	{"tools without a hook", No, "Only commands, reading, writing and MCP calls have events; other tools are not asked " +
		"for."},
	{"asking", No, "Cascade cannot be told to ask, so an ask is a denial; obstat ask can answer it."},
	{"changed arguments", No, "Arguments cannot be changed; what is allowed only with others is denied."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which blocks."},
	{"a hook that is late", No, "What happens then is not documented; calls presumably run."},
}

func windsurfDecode(p *payload, e *Event) {
	p.keys(p.root, "agent_action_name trajectory_id tool_info")
	name, done := strings.CutPrefix(e.Name, "post_")
	if done && among("run_command read_code write_code mcp_tool_use", name) {
		name = "pre_" + name
	} else if name = e.Name; done || name == "pre_user_prompt" {
		return
	}
	info := p.root.Get("tool_info")
	c := &obstat.Call{Input: p.input(p.root, "tool_info", false), Session: p.text(p.root, "trajectory_id")}
	switch name {
	case "pre_run_command":
		c.Tool = "run_command"
		p.need(info, "command_line")
	case "pre_read_code":
		c.Tool = "view_file"
		p.need(info, "file_path")
	case "pre_write_code":
		c.Tool = "edits"
		p.need(info, "file_path")
	case "pre_mcp_tool_use":
		c.Tool, c.Input = mcp(p.need(info, "mcp_server_name"), p.need(info, "mcp_tool_name")),
			p.input(info, "mcp_tool_arguments", true)
	default:
		p.noEvent(e)
	}
	c.Dir = p.text(info, "cwd")
	e.Call = c
	if done {
		p.after(e, "tool_result", "duration_ms")
	}
}

func windsurfEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return Reply{}
	}
	return reply(nil, a.reason, exitDeny)
}

func windsurfForge(event, dir string, p probe) object {
	info := func(kv ...any) object {
		return obj("agent_action_name", event, "trajectory_id", canarySession, "execution_id", canarySession, "timestamp",
			"2026-01-01T00:00:00Z",
			"model_name", "canary", "tool_info", obj(kv...))
	}
	switch {
	case event == "pre_run_command" && p.kind == shellProbe:
		return info("command_line", p.text, "cwd", dir)
	case event == "pre_write_code" && p.kind == writeProbe:
		return info("file_path", p.text, "edits", []any{obj("old_string", "a", "new_string", "b")})
	case event == "pre_mcp_tool_use" && p.kind == otherProbe:
		server, tool := p.ofServer()
		return info("mcp_server_name", server, "mcp_tool_name", tool, "mcp_tool_arguments", obj("x", 1))
	case event == "pre_read_code" && p.kind == otherProbe && p.args != nil:
		return obj("agent_action_name", event, "trajectory_id", canarySession, "execution_id", canarySession, "timestamp",
			"2026-01-01T00:00:00Z", "tool_info", p.args)
	case p.cut:
		return info("file_path", filepath.Join(dir, "a"))
	}
	return nil
}

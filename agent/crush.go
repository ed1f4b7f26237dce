package agent

import (
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Crush is the name of the agent, as in `obstat hook crush`.
const Crush = "crush"

// crush is Crush. An empty reply makes it ask by itself.
func crush() *Agent {
	return &Agent{
		Name: Crush, Title: "Crush", Patience: 30 * time.Second,
		wire: wire{
			variable: "CRUSH_EVENT", decode: crushDecode, encode: crushEncode,
			marks: func(s *sent) likeness { return surelyIf(s.has("event") && !s.has("hook_event_name")) },
			others: `read=view:file_path fetch=fetch:url search=web_search:query task=agent:prompt
				mcp=mcp_SERVER_TOOL`,
			housekeeping: `todos job_output job_kill crush_info crush_logs lsp_diagnostics lsp_restart
				list_mcp_resources`,
			modes: crushModes(), starts: crushYes, askings: crushAskings,
		},
		settings: settings{
			events: []string{preToolUse}, limit: time.Minute,
			places: crushPlaces, format: textedit.JSON, guard: guardSuffix,
			form: form{commands: []string{"command"}, fields: obj("name", "obstat"), timeout: "timeout",
				unit: time.Second},
			honours: crushHonours, forge: crushForge,
			environ: func(event, dir string) []string {
				return []string{"CRUSH_EVENT=" + event, "CRUSH_SESSION_ID=" + canarySession, "CRUSH_CWD=" + dir,
					"CRUSH_PROJECT_DIR=" + dir, "AGENT=crush"}
			},
			version: "0.96.1", covers: crushCovers,
			brief: "yes | its prompt; with `--yolo` and in `run` denied | yes | denied",
		},
		traits: traits{programs: "crush", process: "crush", sets: "CRUSH CRUSH_EVENT", moves: "CRUSH_GLOBAL_CONFIG"},
	}
}

var crushAskings = []Asking{
	{Way: "interactive", At: AtPrompt, args: "--debug"},
	{Way: "--yolo, run", At: AtObstat, args: "--yolo",
		Says: "Crush would answer yes by itself; so on macOS and Windows, where obstat cannot see its command line"},
}

var crushPlaces = []place{
	{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "crush/crush.json", install: true},
	{scope: Project, path: "crush.json", install: true},
	{scope: Project, path: ".crush.json"},
}

func crushModes() []Mode {
	return []Mode{
		{Name: AnyMode, Plain: true, Allow: Skips, Asks: true, Says: "Tools that are switched off stay so."},
		{Name: AnyMode, Allow: Skips, Says: "With --yolo, and in crush run, Crush would answer yes by itself; so would one " +
			"whose command line cannot be seen."},
	}
}

var crushCovers = []Limit{
	{"subagents", No, "Hooks run for the top-level agent alone: deny the agent tool, or allow it knowingly."},
	{"asking", Partly, "No answer is Crush's own prompt. With --yolo, and in crush run, it would answer yes by itself: " +
		"there, and on macOS and Windows, where obstat cannot tell, an ask is a denial, or goes to obstat ask."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which denies."},
	{"a hook that is late", Partly, "After the time-out Crush's own prompt decides."},
}

func crushDecode(p *payload, e *Event) {
	p.text(p.root, "event")
	p.keys(p.root, "event session_id cwd tool_name tool_input")
	if strings.ToLower(strings.ReplaceAll(e.Name, "_", "")) != "pretooluse" {
		p.noEvent(e)
		return
	}
	p.claudeCall(e)
	e.Call.Mode = ""
}

// crushYes are words of Crush's command line by which it answers its prompts itself, with yes.
const crushYes = "--yolo -y run"

func crushEncode(_ *Event, a *answer) Reply {
	if a.none || a.verdict == obstat.Ask {
		return Reply{}
	}
	out := obj("version", 1, "decision", a.verdict.String())
	if a.verdict == obstat.Deny {
		return reply(append(out, obj("reason", a.reason)...), a.reason, exitDeny)
	}
	return reply(with(out, "updated_input", a.input), "", 0)
}

// crushHonours: a reply without an opinion leaves the call to Crush's own prompt.
func crushHonours(_ *Hook, s *said) Outcome {
	d := text(s.object, "decision")
	if out := s.object.Get("hookSpecificOutput"); d == "" && out != nil {
		d = text(out, "permissionDecision")
	}
	switch {
	case s.Exit == exitDeny || s.Exit == 49:
		return Blocked
	case s.Exit != 0 || d != "deny" && d != "allow":
		return Asks
	}
	return blockedIf(d == "deny")
}

func crushForge(event, dir string, p probe) object {
	tool, args := p.as("bash", "write", "file_path", "content")
	return obj("event", event, "session_id", canarySession, "cwd", dir, "tool_name", tool, "tool_input", args)
}

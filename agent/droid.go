package agent

import (
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Droid is the name of the agent, as in `obstat hook droid`.
const Droid = "droid"

// droid is Factory's Droid, whose hooks are Claude Code's with other modes and tools. It was read in the
// documents and in the program, and not run with a model.
func droid() *Agent {
	return &Agent{
		Name: Droid, Title: "Droid", Patience: time.Minute,
		wire: wire{
			decode: droidDecode, encode: droidEncode, housekeeping: "TodoWrite AskUser ExitSpecMode",
			others: `read=Read:file_path fetch=FetchUrl:url search=WebSearch:query task=Task:prompt skill=Skill:skill
				mcp=mcp__SERVER__TOOL`,
			modes: droidModes(), askings: []Asking{{Way: "always", At: AtObstat, Says: "Droid goes on after an ask"}},
			marks: func(s *sent) likeness {
				mode := text(s.root, "permission_mode")
				if s.has("hook_event_name") && (s.told == Droid || among(droidWords, mode) ||
					s.getenv("FACTORY_PROJECT_DIR") != "") {
					return alike
				}
				return foreign
			},
		},
		settings: settings{
			events: []string{preToolUse}, after: "PostToolUse", limit: patient,
			places: droidPlaces, format: textedit.JSONC, guard: guardSuffix,
			form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command"), matcher: "*",
				timeout: "timeout", unit: time.Second},
			honours: droidHonours, forge: droidForge, check: droidCheck,
			environ: func(_, dir string) []string { return []string{"FACTORY_PROJECT_DIR=" + dir} },
			servers: jsonServers(".factory/mcp.json", ".factory", "mcp.json"),
			version: "0.225.2, by its documents", covers: droidCovers,
			brief: "no | denied | no | denied",
		},
		traits: traits{programs: "droid", process: "droid", sets: "FACTORY_PROJECT_DIR", clients: "droid factory-cli",
			bare: "droid:--settings", moves: "FACTORY_HOME_OVERRIDE", setsIn: ".factory/settings.json"},
	}
}

// droidWords are the modes that no other agent has a word for.
const droidWords = "off spec auto-low auto-medium auto-high"

var droidPlaces = []place{
	{scope: User, under: ".factory", path: "settings.json", install: true},
	{scope: User, under: ".factory", path: "hooks.json"},
	{scope: User, under: ".factory", path: "hooks/hooks.json"},
	{scope: Project, path: ".factory/settings.json", install: true},
	{scope: Project, path: ".factory/settings.local.json"},
	{scope: Project, path: ".factory/hooks.json"},
	{scope: Project, path: ".factory/hooks/hooks.json"},
}

// droidModes: an allow skips every confirmation, also those of spec mode and of the person's own list of
// denied commands.
func droidModes() (out []Mode) {
	for _, name := range []string{"off", "spec", "auto-low", "auto-medium", "auto-high"} {
		out = append(out, Mode{Name: name, Allow: Lifts,
			Says: "Its own autonomy and lists of commands decide about what obstat allows."})
	}
	return out
}

var droidCovers = []Limit{
	{"asking", No, "An ask of a hook changes nothing in Droid, so it goes to obstat ask, and is a denial where nobody " +
		"is there."},
	{"allowed calls", No, "An allow would skip Droid's own confirmations, those of denied commands too, so it is never " +
		"said."},
	{"changed arguments", No, "They count only beside an allow; such a call is denied."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which blocks."},
	{"a hook that is late", No, "After the time-out the call runs; obstat denies before that."},
	{"hooks.json", Partly, "Where it has PreToolUse, Droid does not read that of settings.json beside it: doctor says " +
		"so."},
	{"trust", Partly, "A project's hooks run only in a trusted folder; hooksDisabled runs none."},
}

func droidDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys)
	if !p.asks(e, preToolUse+" "+claudeAfter, claudeOther) {
		return
	}
	p.claudeCall(e)
	e.Call.Mode, e.Call.Roots = "", p.project("FACTORY_PROJECT_DIR")
	if among(claudeAfter, e.Name) {
		p.after(e, "tool_response", "duration_ms")
	}
}

func droidEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return Reply{}
	}
	out := obj("hookEventName", preToolUse, "permissionDecision", "deny", "permissionDecisionReason", a.reason)
	return reply(obj("hookSpecificOutput", out), a.reason, exitDeny)
}

// droidHonours: an ask, and every exit code but 2 and 3, let the call go on.
func droidHonours(_ *Hook, s *said) Outcome {
	if s.Exit == exitDeny || s.Exit == 3 || isBool(s.object.Get("continue"), false) {
		return Blocked
	}
	return blockedIf(text(s.object.Get("hookSpecificOutput"), "permissionDecision") == "deny")
}

func droidForge(event, dir string, p probe) object {
	tool, args := p.as("Execute", "Create", "file_path", "content")
	return obj("session_id", canarySession, "transcript_path", filepath.Join(dir, "transcript.jsonl"), "cwd", dir,
		"permission_mode", "off", "hook_event_name", event, "tool_name", tool, "tool_input", args)
}

// droidCheck finds hooks that are off, and those of settings.json that a hooks.json beside it hides.
func droidCheck(s *Setup) {
	for _, f := range s.Files {
		for _, n := range []*tree.Node{f.root.Get("hooksDisabled"), f.root.Get("hooks").Get("hooksDisabled")} {
			if isBool(n, true) {
				s.off(f, n, "hooksDisabled: Droid runs no hooks")
			}
		}
		if filepath.Base(f.Name) != "hooks.json" || f.root.Get(preToolUse) == nil {
			continue
		}
		for _, h := range s.Hooks {
			if h.File.Scope == f.Scope && h.Event == preToolUse {
				s.idle(h, "hidden-hook", "move its PreToolUse into settings.json, and take it out there",
					"%s has PreToolUse, and Droid then does not read that of settings.json", f.Name)
			}
		}
	}
}

package agent

import (
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Copilot is the name of the agent, as in `obstat hook copilot`.
const Copilot = "copilot"

// copilot is Copilot CLI. It has its own protocol, in camel case, and speaks
// Claude Code's where it reads that agent's settings.
func copilot() *Agent {
	return &Agent{
		Name: Copilot, Title: "Copilot CLI", Patience: 30 * time.Second,
		wire: wire{
			variable: "COPILOT_CLI", marks: copilotMarks, decode: copilotDecode, encode: copilotEncode,
			others: `read=view:path fetch=web_fetch:url search=web_search:query task=task:prompt skill=skill:skill
				mcp=SERVER-TOOL`,
			housekeeping: copilotHousekeeping, modes: copilotModes(), askings: copilotAskings, alters: true,
			starts: "--deny-tool --deny-url --excluded-tools --available-tools",
		},
		settings: settings{
			events: []string{"preToolUse"}, after: "postToolUse", limit: patient,
			places: copilotPlaces, format: textedit.JSON, first: obj("version", 1),
			ownFile: "obstat.json", own: copilotFile,
			form: form{commands: []string{"bash", "powershell"}, fields: obj("type", "command"),
				timeout: "timeoutSec", unit: time.Second},
			honours: copilotHonours, forge: copilotForge, check: copilotCheck, start: withBash,
			environ: func(_, dir string) []string { return []string{"COPILOT_CLI=1", "COPILOT_PROJECT_DIR=" + dir} },
			servers: jsonServers("", ".copilot", "mcp-config.json"),
			version: "1.0.102", covers: copilotCovers,
			brief: "no | its prompt | yes | denied, but a time-out runs the call",
		},
		traits: traits{
			programs: "copilot", process: "copilot", clients: "copilot github-copilot-developer",
			sets:  "COPILOT_CLI COPILOT_PROJECT_DIR COPILOT_AGENT_SESSION_ID",
			hooks: ".copilot/config.json", bare: "--config-dir", moves: "COPILOT_CLI_DIST_DIR",
		},
	}
}

var copilotAskings = []Asking{
	{Way: "interactive, --allow-all-tools too", At: AtPrompt, env: "COPILOT_CLI=1", args: "--allow-all-tools"},
	{Way: "interactive, --deny-tool, or on macOS and Windows", At: AtObstat, env: "COPILOT_CLI=1",
		args: "--deny-tool=write",
		Says: "a yes in its own prompt would outrank the denial; where obstat cannot see the command line, there may be one"},
	{Way: "the app", At: AtObstat, Says: "it is reported to run what a hook asks about"},
	{Way: "-p", At: AtObstat, env: "COPILOT_CLI=1", args: "-p x", With: "--wait 60s",
		Says: "without it Copilot answers no by itself, and does not say that nobody is there"},
}

// copilotHousekeeping has sql, which is for the session's own tables.
const copilotHousekeeping = `report_intent update_todo task_complete ask_user exit_plan_mode
	read_agent list_agents sql session_store_sql store_memory list_bash read_bash stop_bash
	list_powershell read_powershell stop_powershell fetch_copilot_cli_documentation`

var copilotPlaces = []place{
	{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "hooks", dir: true, install: true},
	{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "settings.json"},
	{scope: Project, path: ".github/hooks", dir: true},
	{scope: Project, path: ".github/copilot/settings.json"},
	{scope: Project, path: ".github/copilot/settings.local.json"},
	{scope: Managed, machine: machineDir{"/etc/github-copilot", "/etc/github-copilot", `C:\ProgramData\github-copilot`},
		path: "policy.d", dir: true},
}

// copilotCLI is the mode of calls of the command line program, which says so by a variable.
const copilotCLI = "cli"

// copilotModes: an allow outranks the person's own `--deny-tool` and the check of paths, and nothing in
// the payload tells whether there are any.
func copilotModes() []Mode {
	const own = "An allow would outrank --deny-tool and the check of paths, so Copilot's own rules decide; " +
		"--allow-all-tools leaves all questions to obstat."
	return []Mode{
		{Name: AnyMode, Event: request, Allow: Lifts, Asks: true, Says: own},
		{Name: AnyMode, Event: permissionRequest, Allow: Lifts, Asks: true, Says: own},
		{Name: copilotCLI, Plain: true, Allow: Lifts, Asks: true, Says: own},
		{Name: AnyMode, Allow: Lifts, Says: "With --deny-tool, or a command line that cannot be seen: a yes in the prompt " +
			"that an ask brings up would outrank the denial, so obstat asks itself. The app is reported not to show asks."},
	}
}

var copilotCovers = []Limit{
	{"subagents", Yes, "Calls of subagents reach the hook."},
	{"headless runs", Yes, "With -p an ask that nobody can answer is a denial."},
	{"allowed calls", No, "An allow would outrank --deny-tool and the check of paths, so it is never said: Copilot asks " +
		"about what its own rules do not allow. With --allow-all-tools it asks nothing, --deny-tool holds, and obstat's " +
		"denials and asks do."},
	{"a hook that fails", Yes, "Every exit code but 0 is a denial; half an answer with code 0 is not."},
	{"a hook that is late", No, "After the time-out the call runs; obstat denies before that."},
	{"trust", No, "Hooks of a project (.github/hooks) are skipped without a word unless the folder is trusted: obstat " +
		"installs for the user."},
}

func copilotMarks(s *sent) likeness {
	switch {
	case s.has("toolName", "toolArgs", "sessionId"):
		return surely
	case !s.has("hook_event_name"):
	case s.told == Copilot || s.getenv("COPILOT_CLI") != "" || s.has("timestamp") &&
		!s.has("permission_mode", "transcript_path"):
		return alike
	}
	return foreign
}

// pascal is the variant of Claude Code's settings, request the event before
// Copilot's own rules.
const (
	pascal  = "pascal"
	request = "permissionRequest"
)

const copilotOther = "sessionStart sessionEnd userPromptSubmitted errorOccurred agentStop subagentStart subagentStop " +
	"preCompact notification"

func copilotDecode(p *payload, e *Event) {
	r := p.root
	if p.getenv("COPILOT_CLI") != "" {
		defer func() { e.Mode = copilotCLI }()
	}
	if r.Get("hook_event_name") != nil {
		e.Variant = pascal
		claudeDecode(p, e)
		e.Housekeeping = e.Call != nil && among(claudeHousekeeping, e.Call.Tool)
		return
	}
	p.keys(r, "sessionId cwd toolName toolArgs toolInput hookName agentType")
	args := "toolArgs"
	switch {
	case among(copilotOther, e.Name):
		return
	case e.Name == request:
		e.Variant, args = request, "toolInput"
	case r.Get("toolResult") != nil || among("postToolUse postToolUseFailure", e.Name):
		p.copilotAfter(e)
	case e.Name != "" && e.Name != "preToolUse":
		p.noEvent(e)
	}
	e.Call = &obstat.Call{Tool: p.need(r, "toolName"), Input: p.input(r, args, true), Session: p.text(r, "sessionId"),
		Dir: p.text(r, "cwd")}
	e.Subagent = p.text(r, "agentType")
}

// copilotAfter reads the outcome of a call; its event may not be named.
func (p *payload) copilotAfter(e *Event) {
	p.after(e, "toolResult", "durationMs")
	switch kind := text(p.root.Get("toolResult"), "resultType"); {
	case among("failure error", kind):
		e.Done.State = Failed
	case among("denied rejected", kind):
		e.Done.State = NotRun
	}
}

func copilotEncode(e *Event, a *answer) Reply {
	switch {
	case a.none && a.input == nil:
		return Reply{}
	case a.none && e.Variant == "":
		return reply(with(nil, "modifiedArgs", a.input), "", 0)
	case a.none:
		a = a.fixed()
	}
	switch e.Variant {
	case pascal:
		return pascalReply(e, a)
	case request:
		return copilotRequest(a)
	}
	out := obj("permissionDecision", a.verdict.String())
	if a.verdict != obstat.Allow {
		out = append(out, obj("permissionDecisionReason", a.reason)...)
	}
	if a.verdict == obstat.Deny {
		return reply(out, a.reason, exitDeny)
	}
	return reply(with(out, "modifiedArgs", a.input), "", 0)
}

// pascalReply is Claude Code's reply, with the older keys that both take.
func pascalReply(e *Event, a *answer) Reply {
	if a.verdict != obstat.Deny || e.Name == permissionRequest {
		return claudeEncode(e, a)
	}
	out := obj("hookEventName", preToolUse, "permissionDecision", "deny", "permissionDecisionReason", a.reason)
	return reply(obj("decision", "block", "reason", a.reason, "hookSpecificOutput", out), a.reason, exitDeny)
}

func copilotRequest(a *answer) Reply {
	a = a.fixed()
	switch a.verdict {
	case obstat.Ask:
		return Reply{} // its own prompt
	case obstat.Allow:
		return reply(obj("behavior", "allow"), "", 0)
	}
	return reply(obj("behavior", "deny", "message", a.reason), a.reason, exitDeny)
}

// copilotFile is a file of settings that is obstat's alone.
func copilotFile(c Invocation) []byte { return (&target{agent: copilot(), call: c}).fresh() }

func copilotHonours(_ *Hook, s *said) Outcome {
	if s.Exit != 0 {
		return Blocked
	}
	return outcomeOf(text(s.object, "permissionDecision"), true)
}

func copilotForge(_, dir string, p probe) object {
	tool, args := p.as("bash", "create", "path", "file_text")
	return obj("sessionId", canarySession, "timestamp", int64(1767225600000), "cwd", dir, "toolName", tool, "toolArgs",
		args)
}

func copilotCheck(s *Setup) {
	claudeSwitches(s)
	for _, f := range s.Files { // by a digest of Copilot's own, so that it cannot be told whose hook it is
		if n := f.root.Get("disabledHooks"); n.Is(tree.Array) && len(n.Elems) > 0 && len(s.Hooks) > 0 {
			found := Finding{Level: Warning, Code: "hooks-listed", File: f.Name,
				Msg: "disabledHooks: Copilot does not run the hooks that are listed here by digest, and obstat's may be one of " +
					"them", Hint: "see that it is on in Copilot's /hooks, or take the list out"}
			found.Line, found.Col = tree.LineCol(f.data, n.Start)
			s.note(found)
		}
	}
	for _, h := range s.Hooks {
		if h.File.Scope == Project {
			s.Add(Warning, "skipped-scope", h, s.Again(), "Copilot skips hooks of a project unless its folder is trusted, and "+
				"says nothing")
		}
	}
}

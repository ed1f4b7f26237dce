package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// ClaudeCode is the name of the agent, as in `obstat hook claude-code`.
const ClaudeCode = "claude-code"

// claudeCode is Claude Code. Several others have copied its protocol.
func claudeCode() *Agent {
	return &Agent{
		Name: ClaudeCode, Title: "Claude Code", Dialect: "claudecode", Patience: patient,
		wire: wire{
			variable: "CLAUDE_CODE_ENTRYPOINT", marks: claudeMarks, decode: claudeDecode, encode: claudeEncode,
			others: `read=Read:file_path fetch=WebFetch:url search=WebSearch:query task=Agent:prompt skill=Skill:skill
				mcp=mcp__SERVER__TOOL`,
			housekeeping: claudeHousekeeping, fileTools: "Read Write Edit MultiEdit NotebookEdit",
			modes: claudeModes(), askings: claudeAskings(), alters: true,
			changes: preToolUse, driven: claudeDrive(), printed: claudePrinted, printedAt: "PostToolUse",
			rulesBy: "--disallowedTools --disallowed-tools --settings --setting-sources",
			mute:    "Write Edit MultiEdit NotebookEdit", unboxed: "dangerouslyDisableSandbox",
			boxedBy: "sandbox.enabled",
		},
		settings: settings{
			events: []string{preToolUse, permissionRequest}, spare: permissionRequest,
			after: claudeAfter, limit: patient,
			places: claudePlaces, format: textedit.JSON, guard: guardSuffix, merges: true,
			form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command"), matcher: "*",
				timeout: "timeout", unit: time.Second},
			honours: claudeHonours, forge: claudeForge, check: claudeSwitches,
			environ: func(_, dir string) []string {
				return []string{"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_PROJECT_DIR=" + dir}
			},
			servers: []serverPlace{
				{place: place{scope: Project, path: ".mcp.json"}, keys: []string{"mcpServers"}},
				{place: place{scope: User, path: ".claude.json"}, keys: []string{"mcpServers", "projects/*/mcpServers"}},
			},
			version: "2.1.326", covers: claudeCovers,
			brief: "yes; not in plan mode, and in auto mode only over a rule that says so | its " +
				"prompt; in `bypassPermissions` obstat ask | yes | denied",
		},
		traits: traits{
			programs: "claude claude-code", process: "claude claude-code", clients: "claude-code",
			// AI_AGENT is meant for all agents.
			sets: "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION CLAUDE_PROJECT_DIR AI_AGENT",
			bare: "--bare --safe-mode --settings --setting-sources", off: "CLAUDE_CODE_SIMPLE CLAUDE_CODE_SAFE_MODE",
			policies: `.claude/settings.json .claude/settings.local.json claude-code/managed-settings.json
				claudecode/managed-settings.json /etc/claude-code/`,
			setsIn: ".claude/settings.json .claude/settings.local.json",
		},
	}
}

// claudeAskings: without a terminal, and in dontAsk, Claude Code answers its prompt itself, with no.
func claudeAskings() []Asking {
	const headless = "CLAUDE_CODE_SESSION_ATTENDED=0"
	return []Asking{
		{Way: "interactive, every known mode but plan and bypassPermissions", At: AtPrompt, mode: "default",
			Says: "in dontAsk and, without a terminal, in every mode it answers no by itself"},
		{Way: "interactive and -p, plan", At: AtObstat, mode: "plan",
			Says: "a yes in its own prompt would switch the mode off; after a yes here Claude Code's own word stands"},
		{Way: "interactive, a mode that is not known", At: AtObstat, mode: "turbo", Says: "nobody has seen it ask there"},
		{Way: "interactive, bypassPermissions", At: AtObstat, mode: bypass, Says: "it would not reliably ask there"},
		{Way: "-p, every known mode but plan and bypassPermissions", At: AtObstat, mode: "default", env: headless,
			Says: "while somebody is at `obstat ask`; else a --permission-prompt-tool, or Claude Code answers no"},
		{Way: "-p, bypassPermissions", At: AtObstat, mode: bypass, env: headless},
	}
}

var claudePlaces = []place{
	{scope: User, env: "CLAUDE_CONFIG_DIR", under: ".claude", path: "settings.json", install: true},
	{scope: Project, path: ".claude/settings.json", install: true},
	{scope: Project, path: ".claude/settings.local.json"},
	{scope: Managed, machine: claudeMachine, path: "managed-settings.json"},
	{scope: Managed, machine: claudeMachine, path: "managed-settings.d", dir: true},
}

// claudeModes: at PreToolUse an allow leaves Claude Code's own deny and ask rules in force. A question at
// PermissionRequest that follows an allow is therefore one of its own rules', or of its mode.
func claudeModes() []Mode {
	const (
		prompts  = "Its own deny and ask rules stand."
		ownRule  = "After an allow it asks only where a rule of its own, or its mode, wants a person."
		judged   = "Its classifier decides, unless the rule says `over: auto-mode`."
		decided  = "Its classifier has decided by now, or a rule of its own asks, which no rule outranks."
		unsafe   = "An allow here would switch the mode off; a denial stands."
		unproved = "It does not reliably show an ask here, so obstat asks itself."
	)
	return []Mode{
		{Name: "default", Event: preToolUse, Allow: Skips, Asks: true, Says: prompts},
		{Name: "acceptEdits", Event: preToolUse, Allow: Skips, Asks: true, Says: prompts},
		{Name: "dontAsk", Event: preToolUse, Allow: Skips, Asks: true, Says: prompts +
			" It refuses only since nobody is to be asked."},
		{Name: bypass, Event: preToolUse, Allow: Skips, Says: prompts + " " + unproved},
		{Name: "auto", Event: preToolUse, Allow: Silences, Over: obstat.OverAutoMode, Asks: true, Says: judged},
		{Name: "plan", Event: preToolUse, Allow: Lifts, Says: unsafe +
			" So would a yes in the prompt that an ask brings up, so obstat asks itself."},
		{Name: "default", Event: permissionRequest, Allow: Answers, Asks: true, Says: ownRule},
		{Name: "acceptEdits", Event: permissionRequest, Allow: Answers, Asks: true, Says: ownRule},
		{Name: "dontAsk", Event: permissionRequest, Allow: Answers, Asks: true, Says: ownRule},
		{Name: bypass, Event: permissionRequest, Allow: Answers, Asks: true, Says: ownRule},
		{Name: "auto", Event: permissionRequest, Allow: Lifts, Asks: true, Says: decided},
		{Name: AnyMode, Event: permissionRequest, Allow: Lifts, Asks: true,
			Says: "Plan mode, and every mode that is not known: " + unsafe},
	}
}

var claudeCovers = []Limit{
	{"subagents", Yes, "Calls of subagents reach the hook."},
	{"headless runs", Yes, "With -p an ask that nobody can answer is a denial."},
	{"modes", Partly, "In plan mode, and in modes that are not known, obstat says no and asks, but never yes; in auto " +
		"mode the classifier decides about what a rule allows, unless the rule says over: auto-mode; in bypassPermissions " +
		"obstat ask is asked, and the call is denied where nobody answers there, since Claude Code's own prompt is not " +
		"reliably shown."},
	{"tools without a hook", No, "@file mentions and what the user runs with ! reach no hook."},
	{"permission prompts", Partly, "A --permission-prompt-tool and the PermissionRequest hook are asked at once, and the " +
		"first answer wins; PreToolUse denials are final."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which blocks."},
	{"a hook that is late", No, "After the time-out the call runs; obstat denies before that."},
	{"trust", Partly, "Interactive sessions read a project's hooks only in a trusted folder; -p reads them always."},
}

// claudeMarks: it writes hook_event_name, like others, with a capital letter.
func claudeMarks(s *sent) likeness {
	if s.has("hook_event_name") && (s.told == "" || s.event != "" && strings.ToUpper(s.event[:1]) == s.event[:1]) {
		return alike
	}
	return foreign
}

const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	claudeAsking      = preToolUse + " " + permissionRequest
)

// claudeOther are the events that ask for no permission.
const claudeOther = `SessionStart Setup UserPromptSubmit UserPromptExpansion PostToolBatch
	Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted Stop StopFailure
	TeammateIdle InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate
	WorktreeRemove PreCompact PostCompact Elicitation ElicitationResult SessionEnd`

const claudeKeys = "session_id transcript_path cwd permission_mode hook_event_name agent_id agent_type tool_name " +
	"tool_input tool_use_id permission_suggestions"

const claudeHousekeeping = `TodoWrite TodoRead TaskCreate TaskList TaskGet TaskUpdate TaskStop
	TaskOutput BashOutput KillShell KillBash ToolSearch ListAgents AskUserQuestion EnterPlanMode
	ExitPlanMode ReportFindings ScheduleWakeup CronList CronDelete StructuredOutput ListMcpResources
	ListMcpResourcesTool`

func claudeDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys)
	if !p.asks(e, claudeAsking+" "+claudeAfter, claudeOther) {
		return
	}
	p.claudeCall(e)
	if among(claudeAfter, e.Name) {
		p.after(e, "tool_response", "duration_ms")
	}
	e.Unattended = p.getenv("CLAUDE_CODE_SESSION_ATTENDED") == "0" || p.getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
	e.Call.Roots = p.project("CLAUDE_PROJECT_DIR")
	if e.Name == permissionRequest {
		p.suggestions(e)
	}
}

// claudeCall reads the call from the keys that several agents have copied.
func (p *payload) claudeCall(e *Event) {
	r := p.root
	e.Call = &obstat.Call{Tool: p.need(r, "tool_name"), Input: p.input(r, "tool_input", false),
		Session: p.text(r, "session_id"), Dir: p.text(r, "cwd"), Mode: obstat.Mode(p.text(r, "permission_mode"))}
	e.Mode = string(e.Call.Mode)
	e.Subagent, e.ToolUse = p.text(r, "agent_type"), p.text(r, "tool_use_id")
}

// suggestions reads the rules that Claude Code would add; other suggestions, such
// as a mode, are left out.
func (p *payload) suggestions(e *Event) {
	list := p.root.Get("permission_suggestions")
	if list == nil || list.Is(tree.Null) {
		return
	}
	if !list.Is(tree.Array) {
		p.fail("permission_suggestions is %s, not a list", list.Kind)
	}
	for _, n := range list.Elems {
		rules := n.Get("rules")
		if text(n, "type") != "addRules" || text(n, "behavior") != "allow" || !rules.Is(tree.Array) {
			continue
		}
		for _, r := range rules.Elems {
			tool, content := text(r, "toolName"), r.Get("ruleContent")
			switch {
			case tool == "":
			case content == nil:
				e.Suggestions = append(e.Suggestions, obstat.Offer{Text: tool})
			case content.Is(tree.String):
				e.Suggestions = append(e.Suggestions, obstat.Offer{Text: tool + "(" + content.Str + ")"})
			}
		}
	}
}

// Exact returns the rule that the agent suggests for exactly this command.
func (e *Event) Exact() (obstat.Offer, bool) {
	if e.Call == nil {
		return obstat.Offer{}, false
	}
	root, _ := jsonx.Parse(e.Call.Input, jsonx.Options{})
	command := text(root, "command")
	if command == "" || strings.ContainsAny(command, "*:\\\n") { // these mean something in a rule
		return obstat.Offer{}, false
	}
	i := slices.IndexFunc(e.Suggestions, func(o obstat.Offer) bool { return o.Text == e.Call.Tool+"("+command+")" })
	if i < 0 {
		return obstat.Offer{}, false
	}
	return e.Suggestions[i], true
}

// bypass is the mode in which Claude Code lets everything through. It puts an ask
// of its hook to the user only where its own rules do not match; for settings below
// .claude, for example, they do, and the call runs.
const bypass = "bypassPermissions"

func claudeEncode(e *Event, a *answer) Reply {
	switch {
	case a.none && a.input == nil:
		return Reply{}
	case a.none && e.Name == permissionRequest: // there, changed arguments take an allow
		return claudeRequest(a.fixed())
	case a.none:
		return reply(obj("hookSpecificOutput", with(obj("hookEventName", preToolUse), "updatedInput", a.input)), "", 0)
	case e.Name == permissionRequest:
		return claudeRequest(a)
	}
	out := obj("hookEventName", preToolUse, "permissionDecision", a.verdict.String(), "permissionDecisionReason", a.reason)
	if a.verdict == obstat.Deny {
		return reply(obj("hookSpecificOutput", out), a.reason, exitDeny)
	}
	object := obj("hookSpecificOutput", with(out, "updatedInput", a.input))
	if a.verdict == obstat.Ask && e.Call != nil && among(e.Who().mute, e.Call.Tool) {
		object = append(object, obj("systemMessage", "obstat asks: "+a.reason)...)
	}
	return reply(object, "", 0)
}

// claudeRequest answers PermissionRequest: only the decision object counts, and
// an empty reply asks.
func claudeRequest(a *answer) Reply {
	var d object
	stderr, exit := "", 0
	switch a.verdict {
	case obstat.Ask:
		return Reply{}
	case obstat.Allow:
		d = with(obj("behavior", "allow"), "updatedInput", a.input)
		if updates := claudeUpdates(a.accepted); updates != nil {
			d = append(d, obj("updatedPermissions", updates)...)
		}
	default:
		d, stderr, exit = obj("behavior", "deny", "message", a.reason), a.reason, exitDeny
	}
	return reply(obj("hookSpecificOutput", obj("hookEventName", permissionRequest, "decision", d)), stderr, exit)
}

// claudeUpdates writes rules the way "always allow" does: one update for each
// place that they are remembered in.
func claudeUpdates(offers []obstat.Offer) []any {
	var out []any
	for _, place := range []string{"session", "localSettings", "userSettings"} {
		var rules []any
		for i := range offers {
			if claudePlace(offers[i].Scope) == place {
				rules = append(rules, claudeRule(offers[i].Text))
			}
		}
		if rules != nil {
			out = append(out, obj("type", "addRules", "rules", rules, "behavior", "allow", "destination", place))
		}
	}
	return out
}

// claudePlace returns where Claude Code remembers a rule for a scope: no further
// than the project, unless it is for the user.
func claudePlace(scope string) string {
	switch scope {
	case "session", "agent":
		return "session"
	case "user":
		return "userSettings"
	}
	return "localSettings"
}

// claudeRule splits `Bash(npm test)` into the tool and the content.
func claudeRule(rule string) object {
	tool, content, has := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if !has {
		return obj("toolName", tool)
	}
	return obj("toolName", tool, "ruleContent", content)
}

var claudeMachine = machineDir{"/etc/claude-code", "/Library/Application Support/ClaudeCode",
	`C:\Program Files\ClaudeCode`}

// claudeHonours: one thing that is wrong in the object makes all of it count for
// nothing.
func claudeHonours(h *Hook, s *said) Outcome {
	if h.Event == permissionRequest {
		return requestHonours(s)
	}
	top, out := s.object.Get("decision"), s.object.Get("hookSpecificOutput")
	decision := text(s.object, "decision")
	switch {
	case s.Exit == exitDeny:
		return Blocked
	case top != nil && decision != "block" && decision != "approve", out != nil && text(out, "hookEventName") != h.Event:
		return Runs
	case decision == "block":
		return Blocked
	}
	return outcomeOf(text(out, "permissionDecision"), true)
}

// requestHonours reads the decision of a permission request; without one the
// prompt decides.
func requestHonours(s *said) Outcome {
	out := s.object.Get("hookSpecificOutput")
	switch behavior := text(out.Get("decision"), "behavior"); {
	case text(out, "hookEventName") != permissionRequest:
	case behavior == "deny":
		return Blocked
	case behavior == "allow":
		return Runs
	}
	return Asks
}

func claudeForge(event, dir string, p probe) object {
	tool, args := p.as("Bash", "Write", "file_path", "content")
	o := obj("session_id", canarySession, "transcript_path", filepath.Join(dir, "transcript.jsonl"), "cwd", dir,
		"prompt_id", canarySession,
		"permission_mode", "default", "hook_event_name", event, "tool_name", tool, "tool_input", args)
	if event == preToolUse {
		o = append(o, obj("tool_use_id", "toolu_canary")...)
	}
	return o
}

// claudeSwitches finds settings that make the agent skip hooks.
func claudeSwitches(s *Setup) {
	byMachine := slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.File.Scope == Managed })
	for _, f := range s.Files {
		if n := f.root.Get("disableAllHooks"); isBool(n, true) && (f.Scope == Managed || !byMachine) {
			s.off(f, n, "disableAllHooks: %s runs no hooks", s.Agent.Title)
		}
		if n := f.root.Get("allowManagedHooksOnly"); isBool(n, true) && f.Scope == Managed && !byMachine {
			s.off(f, n, "allowManagedHooksOnly: entries outside of the machine's settings are skipped")
		}
	}
}

func claudeDrive() *Drive {
	return &Drive{
		Line: "{PROGRAM} -p {PROMPT} --model claude-sonnet-4-5 --permission-mode default",
		Env: `ANTHROPIC_BASE_URL={URL} ANTHROPIC_API_KEY=sk-ant-dummy CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
			DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1`,
		Tool: "Bash", Field: "command", Args: map[string]any{"description": "a step"},
	}
}

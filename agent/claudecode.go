package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// claudeCode is Claude Code. Several others have copied its protocol.
func claudeCode() *Agent {
	return &Agent{Name: ClaudeCode, Title: "Claude Code", Dialect: "claudecode", Patience: 5 * time.Minute,
		wire: wire{variable: "CLAUDE_CODE_ENTRYPOINT", marks: claudeMarks, decode: claudeDecode, encode: claudeEncode,
			housekeeping: claudeHousekeeping, fileTools: "Read Write Edit MultiEdit NotebookEdit"}}
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
const claudeOther = `SessionStart Setup UserPromptSubmit UserPromptExpansion PermissionDenied PostToolUse PostToolUseFailure
	PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted Stop StopFailure TeammateIdle
	InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate WorktreeRemove PreCompact PostCompact
	Elicitation ElicitationResult SessionEnd`

const claudeKeys = "session_id transcript_path cwd permission_mode hook_event_name agent_id agent_type tool_name tool_input tool_use_id permission_suggestions"

const claudeHousekeeping = "TodoWrite TodoRead TaskOutput BashOutput TaskList TaskGet TaskUpdate TaskStop ToolSearch EnterPlanMode"

func claudeDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys)
	if !p.asks(e, claudeAsking, claudeOther) {
		return
	}
	p.claudeCall(e)
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

const notAlwaysAsked = "this call needs a person's approval, which Claude Code does not reliably ask for in the mode " + bypass + ": "

func claudeEncode(e *Event, a *answer) Reply {
	switch {
	case a.none:
		return Reply{}
	case e.Name == permissionRequest:
		return claudeRequest(a)
	case e.Call != nil && e.Call.Mode == bypass:
		a = a.deniedBecause(notAlwaysAsked)
	}
	out := obj("hookEventName", preToolUse, "permissionDecision", a.verdict.String(), "permissionDecisionReason", a.reason)
	if a.verdict == obstat.Deny {
		return reply(obj("hookSpecificOutput", out), a.reason, exitDeny)
	}
	return reply(obj("hookSpecificOutput", with(out, "updatedInput", a.input)), "", 0)
}

// claudeRequest answers PermissionRequest: only the decision object counts, and
// an empty reply asks.
func claudeRequest(a *answer) Reply {
	var d object
	stderr := ""
	switch a.verdict {
	case obstat.Ask:
		return Reply{}
	case obstat.Allow:
		d = with(obj("behavior", "allow"), "updatedInput", a.input)
		if updates := claudeUpdates(a.accepted); updates != nil {
			d = append(d, obj("updatedPermissions", updates)...)
		}
	default:
		d, stderr = obj("behavior", "deny", "message", a.reason), a.reason
	}
	return reply(obj("hookSpecificOutput", obj("hookEventName", permissionRequest, "decision", d)), stderr, 0)
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

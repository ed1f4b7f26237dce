package agent

import (
	"slices"

	"github.com/obstat/obstat"
)

// claudeCode is Claude Code's protocol, which several others have copied.
type claudeCode struct{}

const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
)

// otherEvents are Claude Code's events that ask for no permission.
const otherEvents = `SessionStart Setup UserPromptSubmit UserPromptExpansion PermissionDenied PostToolUse PostToolUseFailure
	PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted Stop StopFailure TeammateIdle
	InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate WorktreeRemove PreCompact PostCompact
	Elicitation ElicitationResult SessionEnd`

var claudeKeys = []string{"session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name", "agent_id", "agent_type", "tool_name", "tool_input", "tool_use_id", "permission_suggestions"}

// claudeHousekeeping are tools that touch nothing outside the agent.
var claudeHousekeeping = []string{"TodoWrite", "TodoRead", "TaskOutput", "BashOutput", "TaskList", "TaskGet", "TaskUpdate", "TaskStop", "ToolSearch", "EnterPlanMode"}

func (claudeCode) decode(p *payload, e *Event) error {
	if err := p.keys(p.root, claudeKeys...); err != nil {
		return err
	}
	if among(otherEvents, e.Name) {
		return nil
	}
	if e.Name != preToolUse && e.Name != permissionRequest {
		return noEvent(e)
	}
	if err := p.claudeCall(e); err != nil {
		return err
	}
	e.Housekeeping = slices.Contains(claudeHousekeeping, e.Call.Tool)
	if root := p.getenv("CLAUDE_PROJECT_DIR"); absolute(root) {
		e.Call.Roots = []string{root}
	}
	if e.Name == permissionRequest {
		return p.suggestions(e)
	}
	return nil
}

// claudeCall reads the call out of the keys that Claude Code gave the world.
func (p *payload) claudeCall(e *Event) (err error) {
	c := &obstat.Call{}
	var mode string
	if c.Tool, err = p.need(p.root, "tool_name"); err != nil {
		return err
	}
	if c.Input, err = p.input(p.root, "tool_input", false); err != nil {
		return err
	}
	err = p.texts(p.root, map[string]*string{"session_id": &c.Session, "cwd": &c.Dir, "permission_mode": &mode, "agent_type": &e.Subagent, "tool_use_id": &e.ToolUse})
	c.Mode = obstat.Mode(mode)
	e.Call = c
	return err
}

// bypass is the mode in which Claude Code lets everything through. An ask of its
// hook is only asked there where its own rules have nothing to say of the call;
// otherwise, as with settings below .claude, they decide, and the call runs.
const bypass = "bypassPermissions"

const notAlwaysAsked = "this call needs a person's approval, which Claude Code does not reliably ask for in the mode " + bypass + ": "

func (claudeCode) encode(e *Event, a *answer) Reply {
	if a.verdict == obstat.Ask && !a.none && e.Name != permissionRequest && e.Call != nil && e.Call.Mode == bypass {
		b := *a
		b.verdict, b.reason = obstat.Deny, notAlwaysAsked+a.reason
		a = &b
	}
	switch {
	case a.none:
		return Reply{}
	case e.Name == permissionRequest:
		return claudeRequest(a)
	}
	out := object{{Key: "hookEventName", Value: preToolUse}, {Key: "permissionDecision", Value: a.verdict.String()}, {Key: "permissionDecisionReason", Value: a.reason}}
	if a.verdict == obstat.Deny {
		return reply(object{{Key: "hookSpecificOutput", Value: out}}, a.reason, exitDeny)
	}
	if a.input != nil {
		out = append(out, field("updatedInput", raw(a.input)))
	}
	return reply(object{{Key: "hookSpecificOutput", Value: out}}, "", 0)
}

// claudeRequest answers PermissionRequest: only the decision object counts, and
// to say nothing is to ask.
func claudeRequest(a *answer) Reply {
	var d object
	stderr := ""
	switch a.verdict {
	case obstat.Ask:
		return Reply{}
	case obstat.Allow:
		d = object{{Key: "behavior", Value: "allow"}}
		if a.input != nil {
			d = append(d, field("updatedInput", raw(a.input)))
		}
		if updates := permissionUpdates(a.accepted); updates != nil {
			d = append(d, field("updatedPermissions", updates))
		}
	default:
		d, stderr = object{{Key: "behavior", Value: "deny"}, {Key: "message", Value: a.reason}}, a.reason
	}
	return reply(object{{Key: "hookSpecificOutput", Value: object{{Key: "hookEventName", Value: permissionRequest}, {Key: "decision", Value: d}}}}, stderr, 0)
}

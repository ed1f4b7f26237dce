package agent

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/tree"
)

// byEnv tells the agent by the variables that it sets for its hooks.
func byEnv(getenv func(string) string) string {
	for _, v := range []struct{ name, agent string }{
		{"COPILOT_CLI", Copilot}, {"CURSOR_VERSION", Cursor}, {"CRUSH_EVENT", Crush}, {"GEMINI_SESSION_ID", Gemini}, {"CLAUDE_CODE_ENTRYPOINT", ClaudeCode},
	} {
		if getenv(v.name) != "" {
			return v.agent
		}
	}
	return ""
}

// sniff tells the agent by what it sent. told stands where the payload could be
// its own; what only another agent writes overrules it, since agents read each
// other's settings.
func sniff(told string, n *tree.Node, getenv func(string) string) string {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return n.Get(k) != nil })
	}
	event := eventName(n)
	switch {
	case has("protocolVersion") && has("toolCall"):
		return Gemini
	case has("toolCall"):
		return Antigravity
	case has("agent_action_name", "tool_info"):
		return Windsurf
	case has("clineVersion"):
		return Cline
	case event == "tool.execute.before" || has("sessionID") && has("callID"):
		return OpenCode
	case has("toolName", "toolArgs", "sessionId"):
		return Copilot
	case has("cursor_version", "conversation_id"):
		return Cursor
	case has("turn_id"):
		return Codex
	case event == "BeforeTool" || event == "AfterTool":
		return Gemini
	case has("event") && !has("hook_event_name") && told != Generic:
		return Crush
	case !has("hook_event_name"):
		return told
	case told == Copilot || getenv("COPILOT_CLI") != "" || has("timestamp") && !has("permission_mode", "transcript_path"):
		return Copilot
	case told == Codex && !has("permission_mode"):
		return Codex
	}
	return claudeLike(told, event)
}

// claudeLike is who writes hook_event_name, and none of the marks of others.
func claudeLike(told, event string) string {
	if event != "" && strings.ToUpper(event[:1]) == event[:1] || told == "" {
		return ClaudeCode
	}
	return told
}

// eventName returns the event, whatever the agent calls the key.
func eventName(n *tree.Node) string {
	for _, key := range []string{"hook_event_name", "agent_action_name", "hookName", "event"} {
		if v := n.Get(key); v.Is(tree.String) {
			return v.Str
		}
	}
	return ""
}

package agents

import (
	"bytes"
	"slices"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// An Outcome is what an agent makes of a hook's reply.
type Outcome uint8

// The outcomes. The zero value is the one that nobody wants.
const (
	Runs    Outcome = iota // the call runs
	Asks                   // the agent's own prompt decides
	Blocked                // the call does not run
)

// String returns the outcome as a word.
func (o Outcome) String() string {
	return [...]string{"runs", "asks", "blocked"}[min(o, Blocked)]
}

// A Reply is what a hook process left behind. Exit is negative where it was
// ended by a signal, or not started.
type Reply struct {
	Stdout, Stderr []byte
	Exit           int
}

// said is a reply with its object, as far as it has one.
type said struct {
	*Reply
	object *tree.Node // nil if standard output is no whole object
	words  bool       // something is on standard error
}

// Honours says what the agent makes of a reply to an event. It is what was seen
// of the agents that could be run, and what their documents say of the others;
// where these leave it open, the call runs.
func (a *Agent) Honours(event string, failClosed bool, r *Reply) Outcome {
	s := &said{Reply: r, object: whole(r.Stdout), words: len(bytes.TrimSpace(r.Stderr)) > 0}
	switch a.Name {
	case ClaudeCode:
		return claudeHonours(event, s)
	case Codex:
		return codexHonours(event, s)
	case Gemini:
		return geminiHonours(s)
	case Copilot:
		if r.Exit != 0 {
			return Blocked
		}
		return verdict(s.object.Get("permissionDecision"), true)
	case Cursor:
		return cursorHonours(event, failClosed, s)
	case Crush:
		return crushHonours(s)
	case OpenCode: // the plugin is obstat's
		if r.Exit == 0 && text(s.object, "decision") == "allow" {
			return Runs
		}
		return Blocked
	case Windsurf:
		if r.Exit == 2 {
			return Blocked
		}
	case Cline:
		if n := s.object.Get("cancel"); n.Is(tree.Bool) && n.Bool {
			return Blocked
		}
	}
	return Runs
}

func whole(b []byte) *tree.Node {
	n, problems := jsonx.Parse(b, jsonx.Options{})
	if tree.Fatal(problems) || !n.Is(tree.Object) {
		return nil
	}
	return n
}

// verdict reads deny, and ask where that is honoured.
func verdict(n *tree.Node, ask bool) Outcome {
	switch {
	case n.Is(tree.String) && n.Str == "deny":
		return Blocked
	case ask && n.Is(tree.String) && n.Str == "ask":
		return Asks
	}
	return Runs
}

// behavior reads the decision of a permission request; to say nothing is to
// leave it to the prompt.
func behavior(event string, s *said) Outcome {
	out := s.object.Get("hookSpecificOutput")
	if text(out, "hookEventName") != event {
		return Asks
	}
	switch text(out.Get("decision"), "behavior") {
	case "deny":
		return Blocked
	case "allow":
		return Runs
	}
	return Asks
}

// claudeHonours: one thing that is wrong in the object makes all of it count for
// nothing.
func claudeHonours(event string, s *said) Outcome {
	if event == "PermissionRequest" {
		return behavior(event, s)
	}
	if s.Exit == 2 {
		return Blocked
	}
	top := s.object.Get("decision")
	if top != nil && text(s.object, "decision") != "block" && text(s.object, "decision") != "approve" {
		return Runs
	}
	out := s.object.Get("hookSpecificOutput")
	if out != nil && text(out, "hookEventName") != event {
		return Runs
	}
	if text(s.object, "decision") == "block" {
		return Blocked
	}
	return verdict(out.Get("permissionDecision"), true)
}

// codexHonours: an unknown key, an ask, a bare exit code make the call run.
func codexHonours(event string, s *said) Outcome {
	switch {
	case s.Exit == 2 && s.words:
		return Blocked
	case event == "PermissionRequest" && s.Exit == 0:
		return behavior(event, s)
	case event == "PermissionRequest":
		return Asks
	case s.Exit != 0 || !only(s.object, "decision", "reason", "systemMessage", "hookSpecificOutput"):
		return Runs
	}
	out := s.object.Get("hookSpecificOutput")
	if out != nil && (!only(out, "hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext") || text(out, "hookEventName") != event) {
		return Runs
	}
	if text(s.object, "decision") == "block" && text(s.object, "reason") != "" {
		return Blocked
	}
	if text(out, "permissionDecisionReason") == "" {
		return Runs
	}
	return verdict(out.Get("permissionDecision"), false)
}

func only(n *tree.Node, known ...string) bool {
	return n.Is(tree.Object) && !slices.ContainsFunc(n.Members, func(m tree.Member) bool { return !slices.Contains(known, m.Key) })
}

// geminiHonours: an object counts on every exit code, and is looked for on
// standard error where standard output is empty; words count with an exit code of
// 2 and more.
func geminiHonours(s *said) Outcome {
	object := s.object
	if len(bytes.TrimSpace(s.Stdout)) == 0 {
		object = whole(s.Stderr)
	}
	switch d := text(object, "decision"); {
	case s.Exit < 0:
		return Runs
	case d == "deny" || d == "block":
		return Blocked
	case d == "ask":
		return Asks
	case object == nil && s.Exit >= 2 && (s.words || len(bytes.TrimSpace(s.Stdout)) > 0):
		return Blocked
	}
	return Runs
}

// cursorHonours: an ask is enforced for commands and MCP calls alone.
func cursorHonours(event string, failClosed bool, s *said) Outcome {
	switch {
	case s.Exit == 2:
		return Blocked
	case s.Exit != 0 || s.object == nil:
		if failClosed {
			return Blocked
		}
		return Runs
	}
	return verdict(s.object.Get("permission"), event == "beforeShellExecution" || event == "beforeMCPExecution")
}

// crushHonours: whatever is no opinion leaves the call to Crush's own prompt.
func crushHonours(s *said) Outcome {
	if s.Exit == 2 || s.Exit == 49 {
		return Blocked
	}
	d := text(s.object, "decision")
	if out := s.object.Get("hookSpecificOutput"); d == "" && out != nil {
		d = text(out, "permissionDecision")
	}
	switch {
	case s.Exit != 0:
		return Asks
	case d == "deny":
		return Blocked
	case d == "allow":
		return Runs
	}
	return Asks
}

package agentscope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A heard tool is one that runs in another process, in Python. Its methods were called there, for one
// call, and these are their answers.
type heard struct {
	// Known is one of AgentScope's own tools: this package's check counts as well, the stricter of both.
	Known bool `json:"known"`
	// MCP is a server's tool, whose word on itself counts where its server is trusted.
	MCP bool `json:"mcp"`
	// Matcher is a tool with a match_rule of its own; without one, rules are parameters as JSON.
	Matcher     bool        `json:"matcher"`
	ReadOnly    bool        `json:"read_only"`
	Checked     heardAnswer `json:"check"`
	Matches     []string    `json:"matches"` // contents of rules that match the call
	Suggestions []*string   `json:"suggestions"`
}

// A heardAnswer is a PermissionDecision of check_permissions.
type heardAnswer struct {
	Behavior       string `json:"behavior"`
	BypassImmune   bool   `json:"bypass_immune"`
	Message        string `json:"message"`
	DecisionReason string `json:"decision_reason"`
}

// heardMatcher is a heard tool that matches its rules itself.
type heardMatcher struct{ *heard }

// MatchRule tells whether the tool said that the content matches the call.
func (h heardMatcher) MatchRule(content string, _ map[string]any) bool { return h.matches(content) }

func (h *heard) matches(content string) bool { return slices.Contains(h.Matches, content) }

// Hear returns the dialect for one call of a tool that answered in its own process: said holds what
// its check_permissions, check_read_only, match_rule and generate_suggestions returned. Policies of
// equal keys decide equally: texts and suggestions are no part of it.
func (d *Dialect) Hear(tool string, said json.RawMessage) (of dialect.Dialect, key string, err error) {
	h := &heard{}
	dec := json.NewDecoder(bytes.NewReader(said))
	dec.DisallowUnknownFields()
	if err := dec.Decode(h); err != nil {
		return nil, "", fmt.Errorf("the answers of the tool %s: %w", tool, err)
	}
	if !slices.Contains(heardBehaviors, h.Checked.Behavior) {
		return nil, "", fmt.Errorf("the check of the tool %s answered %q, not one of %q", tool, h.Checked.Behavior,
			heardBehaviors)
	}
	var one CustomTool = h
	if h.Matcher && !h.Known {
		one = heardMatcher{h}
	}
	plain := *h
	plain.Suggestions, plain.Checked.Message, plain.Checked.DecisionReason = nil, "", ""
	text, err := json.Marshal(&plain)
	return &Dialect{Tools: map[string]CustomTool{tool: one}}, string(text), err
}

var heardBehaviors = []string{"allow", "deny", "ask", "passthrough"}

// CheckReadOnly returns the answer of check_read_only.
func (h *heard) CheckReadOnly(map[string]any) bool { return h.ReadOnly }

// CheckPermissions returns the answer of check_permissions.
func (h *heard) CheckPermissions(map[string]any, Context) obstat.Finding {
	switch h.Checked.Behavior {
	case "allow":
		return allow(ownCheck)
	case "ask":
		return obstat.Finding{Verdict: obstat.Ask, Safety: h.Checked.BypassImmune, Note: ownCheck}
	case "passthrough":
		return pass()
	}
	return obstat.Finding{Verdict: obstat.Deny, Note: ownCheck}
}

// ownCheck is the note of an answer that a tool gave in its own process; [Dialect.Words] has the
// tool's words in its place.
const ownCheck = "the tool's own check"

// Suggest returns the contents that generate_suggestions proposed.
func (h *heard) Suggest(map[string]any) (out []string) {
	for _, content := range h.Suggestions {
		if content == nil {
			out = append(out, "")
		} else if *content != "" {
			out = append(out, *content)
		}
	}
	return out
}

// hears returns a tool of the host that answered in its own process, nil for any other.
func hears(c CustomTool) *heard {
	switch c := c.(type) {
	case *heard:
		return c
	case heardMatcher:
		return c.heard
	}
	return nil
}

// strictness orders what a check can say, from a denial to an allowance.
func strictness(fd *obstat.Finding) int {
	switch {
	case fd.Pass:
		return 3
	case fd.Verdict == obstat.Allow:
		return 4
	case fd.Verdict == obstat.Ask && fd.Safety:
		return 1
	case fd.Verdict == obstat.Ask:
		return 2
	}
	return 0
}

// checkHeard is the check of a tool that answered in its own process. A server's word on itself
// allows nothing unless the server is trusted.
func (t *toolset) checkHeard(h *heard, f *obstat.Facts) obstat.Finding {
	own := h.CheckPermissions(nil, Context{})
	if h.MCP && own.Verdict == obstat.Allow && !t.believes(f.Call.Tool, dialect.Tool{Kind: "mcp"}) {
		own = plainAsk("MCP tools must be explicitly allowed by the user")
	}
	if !h.Known {
		return own
	}
	if mine := t.checkBuiltin(f); strictness(&mine) < strictness(&own) {
		return mine
	}
	return own
}

// readsOnly tells whether a tool that answered in its own process only reads; of AgentScope's own
// tools this package has to find so, too.
func (t *toolset) readsOnly(h *heard, f *obstat.Facts) bool {
	switch {
	case !h.ReadOnly:
		return false
	case h.Known:
		return t.builtinReads(f)
	case h.MCP:
		return t.believes(f.Call.Tool, dialect.Tool{Kind: "mcp"})
	}
	return true
}

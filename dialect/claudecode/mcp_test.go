package claudecode

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestGluedNames: opencode and Copilot say neither that a tool is an MCP
// server's nor where the server's name ends; rules hold for it all the same.
func TestGluedNames(t *testing.T) {
	for _, c := range []struct{ rules, agent, tool, want string }{
		{"allow mcp__canary__touch", "opencode", "canary_touch", "allow"},
		{"allow mcp__canary__touch", "copilot", "canary-touch", "allow"},
		{"allow mcp__canary__touch", "copilot", "canary_touch", "ask"}, // not how Copilot writes it
		{"allow mcp__canary__touch", "codex", "canary_touch", "ask"},
		{"allow mcp__canary__touch", "", "canary_touch", "ask"},
		{"allow mcp__canary", "opencode", "canary_anything_else", "allow"},
		{"allow mcp__my-srv__get_*", "copilot", "my-srv-get_it", "allow"},
		{"allow mcp__my-srv__get_*", "copilot", "my-srv-put_it", "ask"},
		{"deny mcp__canary__erase;allow mcp__canary", "opencode", "canary_erase", "deny"},
		{"deny mcp__canary", "copilot", "canary-x", "deny"},
		{"deny mcp__*", "opencode", "some_tool", "deny"},
		{"deny mcp__*__erase", "opencode", "any_where_erase", "deny"},
		{"deny mcp__c*y", "opencode", "canary_x", "deny"},
		{"deny mcp__c*y", "opencode", "canaries_x", "ask"},
		// Two servers of the rules may be meant: both have to allow.
		{"allow mcp__a__b_c;allow mcp__a_b__d", "opencode", "a_b_c", "ask"},
		{"allow mcp__a__b_c;deny mcp__a_b__c", "opencode", "a_b_c", "deny"},
		{"allow mcp__a__b_c;allow mcp__a_b__c", "opencode", "a_b_c", "allow"},
		// A rule with the tool's own name is heard as well.
		{"allow mcp__canary;deny canary_erase", "opencode", "canary_erase", "deny"},
		{"allow mcp__canary;deny canary_e*", "opencode", "canary_erase", "deny"},
		{"allow mcp__canary;deny *", "opencode", "canary_erase", "deny"},
		// Tools that are known are what they are.
		{"deny mcp__apply;allow Edit", "opencode", "apply_patch", "allow"},
		{"deny mcp__canary", "opencode", "canary_", "ask"},
	} {
		l := load(t, nil, rules("project", "", strings.Split(c.rules, ";")...))
		call := &obstat.Call{Tool: c.tool, Input: []byte("{}"), Agent: c.agent, Dir: "/w"}
		d := l.Policy.Decide(call, world)
		if d.Verdict.String() != c.want {
			t.Errorf("[%s] %s of %q: %s, want %s: %s", c.rules, c.tool, c.agent, d.Verdict, c.want, d.Reason())
		}
		if r := l.Policy.Reach(c.tool, ""); d.Verdict < r.Strictest || d.Verdict > r.Loosest {
			t.Errorf("[%s] %s: %s is not in the reach of %s to %s", c.rules, c.tool, d.Verdict, r.Strictest, r.Loosest)
		}
	}
}

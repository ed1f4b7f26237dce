package mcp

import (
	"strings"
	"testing"
)

// TestGoesOn: a call that a person has allowed goes on with the server's own state, once, and not where
// the policy denies it by then.
func TestGoesOn(t *testing.T) {
	w := newWire(t, open)
	w.lists("ask", "echo")
	raw := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask","arguments":{"text":"x"},"requestState":"s1"}}`
	note := func() {
		f, err := (&reader{}).read([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		c, _ := w.s.callOf(f)
		digest, _ := w.s.tools.said(f.name)
		c.Channel = "mcp " + digest
		w.s.goesOn(c.Digest(), f.state, true)
	}
	note()
	w.through(raw, `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`)
	w.says(raw)
	if got := w.next(w.client); !strings.Contains(got, "obstat denied ask") {
		t.Errorf("it goes on twice: %s", got)
	}
	note()
	w.write(".claude/settings.json", `{"permissions":{"allow":["mcp__toy"],"deny":["mcp__toy__ask"]}}`)
	w.says(raw)
	if got := w.next(w.client); !strings.Contains(got, "deny rule mcp__toy__ask") {
		t.Errorf("it goes on although it is denied by now: %s", got)
	}
	w.quiet(w.server)
}

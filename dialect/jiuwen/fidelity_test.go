package jiuwen

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestGlob: section 6.3, "glob-style wildcard": with the floor on a deny or ask rule is
// about every character, and an allow rule about no more than the original's.
func TestGlob(t *testing.T) {
	src := func(action string) []byte {
		return []byte(`permissions: {schema: tiered_policy, tools: {bash: allow}, defaults: {"*": ask}, rules: [{id: r, tools: [bash], pattern: "rm *", action: ` + action +
			`}, {id: p, tools: [bash], pattern: "pip* install *", action: ` + action + `}]}`)
	}
	for _, cmd := range []string{"rm ~/notes", "rm *.log", "rm a=b", "rm x", "rm", "pip3 install x", "pip install x", "rm a,b"} {
		for action, want := range map[string]obstat.Verdict{"deny": obstat.Deny, "ask": obstat.Ask} {
			call := shellCall(t, "bash", cmd)
			call.Dir, call.Roots = "/srv/ws", []string{"/srv/ws"}
			d := load(t, src(action), nil).Policy.Decide(call, &obstat.Snapshot{HomeDir: "/srv/ws"})
			if d.Verdict != want {
				t.Errorf("%s %s: %v: %s", action, cmd, d.Verdict, d.Reason())
			}
		}
	}
	call := shellCall(t, "bash", "ls a=b")
	bare := load(t, []byte(`permissions: {schema: tiered_policy, rules: [{id: r, tools: [bash], pattern: "ls *", action: allow}]}`), nil)
	if d := bare.Policy.Decide(call, nil); d.Verdict != obstat.Ask {
		t.Errorf("an allow rule: %v: %s", d.Verdict, d.Reason())
	}
}

// TestChannelReason: section 1, "Channels subject to checks": a call of a channel that is
// checked is refused by its rule, not by the channel.
func TestChannelReason(t *testing.T) {
	l := load(t, []byte(`permissions: {schema: tiered_policy, tools: {bash: deny}}`), map[string]string{ChannelsOption: "web"})
	call := shellCall(t, "bash", "ls")
	for channel, want := range map[string]string{"web": "deny rule tools.bash", "": "deny rule tools.bash", "telegram": "channel that is not checked? yes"} {
		call.Channel = channel
		if d := l.Policy.Decide(call, nil); !strings.Contains(d.Reason(), want) || strings.Contains(d.Reason(), "channel") != (channel == "telegram") {
			t.Errorf("%q: %v: %s", channel, d.Verdict, d.Reason())
		}
	}
}

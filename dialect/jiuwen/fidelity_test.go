package jiuwen

import (
	"fmt"
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

// TestAddedDrive: after `/add-dir C:\Users\me` its files may be named with either slash. With the floor on, a path
// without quotes is the one that a shell reads, `C:Usersmea.txt`, and asks.
func TestAddedDrive(t *testing.T) {
	src := []byte(`permissions: {schema: tiered_policy, tools: {bash: ask}, external_directory: {"*": ask, "C:/Users/me": allow},
  approval_overrides: [{id: s, tools: [bash], match_type: command, pattern: "re:.*C:/Users/me.*", action: allow, source: cli_add_dir}]}`)
	for _, tt := range []struct {
		command        string
		floor, without obstat.Verdict
	}{
		{`type C:/Users/me/a.txt`, obstat.Allow, obstat.Allow},
		{`type "C:\Users\me\a.txt"`, obstat.Allow, obstat.Allow},
		{`type C:\Users\me\a.txt`, obstat.Ask, obstat.Allow},
		{`type C:\Users\you\a.txt`, obstat.Ask, obstat.Ask},
	} {
		for floor, want := range map[string]obstat.Verdict{"on": tt.floor, "off": tt.without} {
			d := load(t, src, map[string]string{"floor": floor}).Policy.Decide(shellCall(t, "bash", tt.command), nil)
			if d.Verdict != want {
				t.Errorf("%s, floor %s: %v: %s", tt.command, floor, d.Verdict, d.Reason())
			}
		}
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

// TestLiteralOverrides: an override that names one command whole holds with the floor on, also as `re:^...$`; one that
// leaves anything open is judged by its parts.
func TestLiteralOverrides(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             obstat.Verdict
	}{
		{`re:^sudo apt update$`, "sudo apt update", obstat.Allow},
		{`re:^make && make install$`, "make && make install", obstat.Allow},
		{`re:^make \> out\.txt$`, "make > out.txt", obstat.Allow},
		{`re:^timeout 5 make$`, "timeout 5 make", obstat.Allow},
		{`re:^FOO=1 make$`, "FOO=1 make", obstat.Allow},
		{`re:\AFOO=1 make\Z`, "FOO=1 make", obstat.Allow},
		{`re:^make && make`, "make && make install", obstat.Ask},
		{`re:^make && .*$`, "make && curl x | sh", obstat.Ask},
		{`re:(?m)^make$`, "make\ncurl x | sh", obstat.Ask},
		{`re:make \$$`, "make $; curl x", obstat.Ask},
	} {
		text := fmt.Sprintf(`{"permissions": {"enabled": true, "schema": "tiered_policy", "tools": {"bash": "ask"},
			"approval_overrides": [{"id": "p", "tools": ["bash"], "match_type": "command", "pattern": %q, "action": "allow"}]}}`, c.pattern)
		call := shellCall(t, "bash", c.command)
		call.Dir, call.Roots = "/srv/ws", []string{"/srv/ws"}
		if d := load(t, []byte(text), nil).Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != c.want {
			t.Errorf("%s, %q: %v, %s", c.pattern, c.command, d.Verdict, d.Reason())
		}
	}
}

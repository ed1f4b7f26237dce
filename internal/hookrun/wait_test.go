package hookrun

import (
	"testing"
	"time"

	"github.com/obstat/obstat/hook"
)

func TestWaiting(t *testing.T) {
	for text, want := range map[string]Waiting{"": {}, "auto": {}, "off": {Off: true}, "0": {Off: true}, "50s": {Always: true, For: 50 * time.Second}} {
		if got, err := ParseWaiting(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yes", "10", "-5s", "1ms", "on"} {
		if w, err := ParseWaiting(text); err == nil || w != (Waiting{}) {
			t.Errorf("%q: %+v, %v", text, w, err)
		}
	}
	for _, agent := range append(hook.Agents(), "", "other") {
		if l := (Waiting{}).Limit(agent); l < 20*time.Second || l > 5*time.Minute-Margin {
			t.Errorf("%s: %s", agent, l)
		}
	}
	if ownMargin+quickMore >= Margin {
		t.Error("the agent would not wait for the refusal")
	}
}

func TestKnown(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		agent  string
		wait   time.Duration
		others bool
	}{
		{nil, "", 0, false},
		{[]string{"codex"}, "codex", 0, false},
		{[]string{"--wait", "50s", "codex"}, "codex", 50 * time.Second, false},
		{[]string{"codex", "--wait=50s"}, "codex", 50 * time.Second, false},
		{[]string{"--wait", "soon", "codex"}, "soon", 0, true},
		{[]string{"codex", "--ledger=off", "--deadline", "5s", "--interactive"}, "codex", 0, false},
		{[]string{"codex", "--ledger", "maybe"}, "codex", 0, true},
		{[]string{"codex", "--deadline=-5s"}, "codex", 0, true},
		{[]string{"--wait"}, "", 0, true},
		{[]string{"codex", "gemini"}, "codex", 0, true},
		{[]string{"--policy", "x", "codex"}, "x", 0, true},
		{[]string{""}, "", 0, true},
	} {
		var o Options
		if ok := o.parse(tc.args); o.Agent != tc.agent || o.Waiting.For != tc.wait || ok == tc.others {
			t.Errorf("%q: %q, %+v, %v", tc.args, o.Agent, o.Waiting, ok)
		}
	}
}

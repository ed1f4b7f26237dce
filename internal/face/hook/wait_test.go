package hook

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/store"
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
	for _, agent := range append(agent.Agents(), "", "other") {
		if l := (Waiting{}).Limit(agent); l < 20*time.Second || l > 5*time.Minute-Margin {
			t.Errorf("%s: %s", agent, l)
		}
	}
	if ownMargin >= Margin {
		t.Error("the agent would not wait for the refusal")
	}
}

func TestLongest(t *testing.T) {
	for _, tc := range []struct {
		agent string
		args  []string
		want  time.Duration
	}{
		{agent.Codex, []string{"codex"}, 297 * time.Second},
		{agent.Codex, []string{"--wait", "off", "codex"}, 20 * time.Second},
		{agent.Codex, []string{"--wait=9m", "codex"}, 9*time.Minute + 2*time.Second},
		{agent.Copilot, []string{"--policy", "x", "--deadline", "1m", "copilot"}, 60 * time.Second},
		{agent.Copilot, nil, 27 * time.Second},
	} {
		if got := Longest(tc.agent, tc.args); got != tc.want {
			t.Errorf("%s %q: %s", tc.agent, tc.args, got)
		}
	}
}

// TestLate: a hook ends when its own deadline does, or a little after it has
// stopped waiting for a person, whichever is later.
func TestLate(t *testing.T) {
	watching()
	const codexPayload = `{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/src","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"u"}`
	for _, tc := range []struct {
		waiting  Waiting
		deadline time.Duration
		ends     time.Duration
	}{
		{Waiting{}, DefaultDeadline, 297 * time.Second},
		{Waiting{Always: true, For: 9 * time.Minute}, DefaultDeadline, 9*time.Minute + ownMargin},
		{Waiting{}, time.Minute, 297 * time.Second},
		{Waiting{}, 6 * time.Minute, 6 * time.Minute},
		{Waiting{Always: true, For: 2 * time.Second}, 40 * time.Second, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			o := &Options{Deadline: tc.deadline, Waiting: tc.waiting, taken: func(string) bool { return true }, open: func(context.Context, string) (store.Store, error) {
				time.Sleep(time.Hour)
				runtime.Goexit() // nobody hears it any more
				return nil, nil
			}}
			if _, words, code := hookIn(t, o, strings.NewReader(codexPayload), nil); code != ExitDeny || time.Since(began) != tc.ends {
				t.Errorf("%+v: %d after %s, %s", tc, code, time.Since(began), words)
			}
			time.Sleep(time.Hour)
		})
	}
}

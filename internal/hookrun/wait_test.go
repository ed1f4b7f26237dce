package hookrun

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
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
		{[]string{"--wait", "soon", "codex"}, "codex", 0, true},
		{[]string{"codex", "--ledger=off", "--deadline", "5s", "--interactive"}, "codex", 0, false},
		{[]string{"codex", "--ledger", "maybe"}, "codex", 0, true},
		{[]string{"codex", "--deadline=-5s"}, "codex", 0, true},
		{[]string{"--wait"}, "", 0, true},
		{[]string{"codex", "gemini"}, "codex", 0, true},
		{[]string{"--policy", "x", "codex"}, "codex", 0, true},
		{[]string{""}, "", 0, true},
	} {
		var o Options
		if ok := o.parse(tc.args); o.Agent != tc.agent || o.Waiting.For != tc.wait || ok == tc.others {
			t.Errorf("%q: %q, %+v, %v", tc.args, o.Agent, o.Waiting, ok)
		}
	}
}

func TestLongest(t *testing.T) {
	for _, tc := range []struct {
		agent string
		args  []string
		want  time.Duration
	}{
		{agent.Codex, []string{"codex"}, 298 * time.Second},
		{agent.Codex, []string{"--wait", "off", "codex"}, 21 * time.Second},
		{agent.Codex, []string{"--wait=9m", "codex"}, 9*time.Minute + 3*time.Second},
		{agent.Copilot, []string{"--policy", "x", "--deadline", "1m", "copilot"}, 61 * time.Second},
		{agent.Copilot, nil, 28 * time.Second},
	} {
		if got := Longest(tc.agent, tc.args); got != tc.want {
			t.Errorf("%s %q: %s", tc.agent, tc.args, got)
		}
	}
}

// TestPair: the quick half of a pair ends after the other one, whatever the
// arguments say: who waits is heard.
func TestPair(t *testing.T) {
	const codexPayload = `{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/src","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"u"}`
	for _, tc := range []struct {
		args []string
		ends time.Duration // of the other half
	}{
		{[]string{"codex"}, 297 * time.Second},
		{[]string{"codex", "--wait", "9m"}, 9*time.Minute + ownMargin},
		{[]string{"codex", "--deadline", "1m"}, 297 * time.Second},
		{[]string{"--deadline=6m", "codex"}, 6 * time.Minute},
		{[]string{"--wait", "2s", "--deadline", "40s", "codex"}, 40 * time.Second},
		{[]string{"--policy", "x", "codex"}, 297 * time.Second},
		{[]string{"--option", "a=b", "--deadline", "6m", "codex"}, 6 * time.Minute},
		{[]string{"--option", "a=b"}, 297 * time.Second}, // told by the payload
	} {
		quick := &Options{}
		quick.Elsewhere = !quick.parse(tc.args)
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			quick.Handover = func(payload []byte) (agent.Reply, error) {
				time.Sleep(quickMore / 2) // it has to start
				other := &Options{Agent: agent.Codex, Deadline: quick.Deadline, Waiting: quick.Waiting, Wait: func(*Ask) (obstat.Decision, bool) {
					time.Sleep(time.Hour)
					runtime.Goexit() // nobody hears it any more
					return obstat.Decision{}, false
				}}
				if other.Deadline == 0 {
					other.Deadline = DefaultDeadline
				}
				out, words, code := hookIn(t, other, bytes.NewReader(payload), nil)
				if took := time.Since(began) - quickMore/2; took != tc.ends {
					t.Errorf("%q: the other half took %s", tc.args, took)
				}
				return agent.Reply{Stdout: []byte(out), Stderr: []byte("heard: " + words), Exit: code}, nil
			}
			if quick.Deadline == 0 {
				quick.Deadline = DefaultDeadline
			}
			if _, words, code := hookIn(t, quick, strings.NewReader(codexPayload), nil); code != ExitDeny || !strings.HasPrefix(words, "heard: ") {
				t.Errorf("%q: %d, %s", tc.args, code, words)
			}
			time.Sleep(time.Hour)
		})
	}
}

package gate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
)

// limited opens a gate whose policy allows most and has these limits.
func limited(t *testing.T, kept gate.Sessions, limits string) *gate.Gate {
	t.Helper()
	text := "version: 1\nlimit: [" + limits + "]\nallow: [read anything, run ls, write workspace, connect anywhere]\n"
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Open(t.Context(), gate.Options{Policy: gate.Fixed{Loaded: l}, NoStart: true, Sessions: kept,
		World: &obstat.Snapshot{Dirs: []string{"/", "/p"}}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func oneCall(session, command string) *obstat.Call {
	return &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: "/p", Agent: "claude-code",
		Session: session}
}

// put returns the verdict of a call, and why.
func put(t *testing.T, g *gate.Gate, c *obstat.Call, terms gate.Terms) (obstat.Verdict, string) {
	t.Helper()
	res, err := g.Authorize(t.Context(), c, &terms)
	if err != nil {
		t.Fatal(err)
	}
	return res.Verdict, res.Reason()
}

// TestLimits: each unit is counted, and past its limit a call asks or is denied, with the line of the policy.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		limit    string
		commands string // each is allowed
		past     string // and this is not
		want     obstat.Verdict
		says     string
		free     string // while this is
	}{
		{"3 calls per session", "ls;ls -a;cat x", "ls", obstat.Ask, "3 calls were made this session", ""},
		{"'3 calls per day, deny'", "ls;ls -a;cat x", "ls", obstat.Deny, "3 calls were made today", ""},
		{"'2 writes per session, deny'", "touch a;ls;touch b", "touch c", obstat.Deny, "2 writes were made", "ls"},
		{"1 connection per day", "curl https://a.example;ls", "curl https://b.example", obstat.Ask, "1 connections", "ls"},
		{"2 equal calls in a row", "ls;ls -a;ls;ls", "ls", obstat.Ask, "2 times in a row", "ls -a"},
	} {
		for _, kept := range []gate.Sessions{nil, gate.SessionDir(t.TempDir())} {
			g := limited(t, kept, tt.limit)
			for _, command := range strings.Split(tt.commands, ";") {
				if v, why := put(t, g, oneCall("s", command), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
					t.Errorf("%s: %s: %s: %s", tt.limit, command, v, why)
				}
			}
			v, why := put(t, g, oneCall("s", tt.past), gate.Terms{Ask: gate.Leave})
			if v != tt.want || !strings.Contains(why, tt.says) || !strings.Contains(why, "obstat.yaml:2:9") {
				t.Errorf("%s: %s: %s: %s", tt.limit, tt.past, v, why)
			}
			if tt.free != "" && tt.want == obstat.Deny {
				if v, why := put(t, g, oneCall("s", tt.free), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
					t.Errorf("%s: %s: %s: %s", tt.limit, tt.free, v, why)
				}
			}
			v, _ = put(t, g, oneCall("other", tt.past), gate.Terms{Ask: gate.Leave})
			if day := strings.Contains(tt.limit, "per day"); day != (v != obstat.Allow) {
				t.Errorf("%s: another session: %s", tt.limit, v)
			}
		}
	}
}

// TestPutAgain: a call that a framework puts twice, to learn whether it asks and again before it runs, is one call to
// limits and to the count of equal calls in a row; its answer stays the same. Another call is counted.
func TestPutAgain(t *testing.T) {
	for _, limit := range []string{"'2 calls per session, deny'", "'2 equal calls in a row, deny'"} {
		g := limited(t, nil, limit)
		for i, want := range []obstat.Verdict{obstat.Allow, obstat.Allow, obstat.Deny} {
			for again := range 3 {
				v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Put, Request: fmt.Sprint("req_", i)})
				if v != want {
					t.Errorf("%s: call %d, put %d: %s: %s", limit, i, again, v, why)
				}
			}
		}
	}
	b := open(t, `{"permission": {"bash": "allow", "doom_loop": "deny"}}`, nil)
	for i, want := range []obstat.Verdict{obstat.Allow, obstat.Allow, obstat.Deny} {
		for range 2 {
			v, why := put(t, b.Gate, bash("git status"), gate.Terms{Ask: gate.Put, Request: fmt.Sprint("req_", i)})
			if v != want {
				t.Errorf("call %d: %s: %s", i, v, why)
			}
		}
	}
}

// TestLimitProcesses: calls of several processes count together and outlive them; of calls at once exactly as many
// pass as the limit says.
func TestLimitProcesses(t *testing.T) {
	dir := gate.SessionDir(t.TempDir())
	var passed atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		g := limited(t, dir, "'25 calls per session, deny'")
		all.Go(func() {
			res, err := g.Authorize(t.Context(), oneCall("s", fmt.Sprint("ls ", i)), &gate.Terms{Ask: gate.Leave})
			if err == nil && res.Verdict == obstat.Allow {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if n := passed.Load(); n != 25 {
		t.Errorf("%d calls passed", n)
	}
}

// TestLimitAnew: a person who approves past a limit begins its count anew; a grant does not, nor does a try count.
func TestLimitAnew(t *testing.T) {
	dir := gate.SessionDir(t.TempDir())
	g := limited(t, dir, "2 calls per session")
	settle := func(v obstat.Verdict) gate.Terms {
		return gate.Terms{Settle: settledAs(v)}
	}
	for i, want := range []obstat.Verdict{obstat.Allow, obstat.Allow, obstat.Deny, obstat.Deny} {
		if v, why := put(t, g, oneCall("s", fmt.Sprint("ls ", i)), settle(obstat.Deny)); v != want {
			t.Errorf("call %d: %s: %s", i, v, why)
		}
	}
	for i, want := range []obstat.Verdict{obstat.Allow, obstat.Allow, obstat.Allow, obstat.Ask} {
		terms := gate.Terms{Ask: gate.Leave}
		if i == 0 {
			terms = settle(obstat.Allow)
		}
		for range 3 {
			if v, _ := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Try}); i == 3 != (v == obstat.Ask) && i > 0 {
				t.Errorf("try before call %d: %s", i, v)
			}
		}
		if v, why := put(t, g, oneCall("s", fmt.Sprint("ls ", i)), terms); v != want {
			t.Errorf("call %d after the approval: %s: %s", i, v, why)
		}
	}
	// The last one was left to the agent's own prompt: that it ran tells that a person has agreed.
	if v, _ := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave}); v != obstat.Ask {
		t.Errorf("before the outcome: %s", v)
	}
	if err := limited(t, dir, "2 calls per session").Report(t.Context(), oneCall("s", "ls 3"), &gate.Outcome{State: "ran"}); err != nil {
		t.Fatal(err)
	}
	if v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
		t.Errorf("after the outcome: %s: %s", v, why)
	}
}

// TestLimitAsks: past a number of asks no person is asked, and the call is denied; what is allowed goes on.
func TestLimitAsks(t *testing.T) {
	g := limited(t, gate.SessionDir(t.TempDir()), "2 asks per day")
	for i, want := range []obstat.Verdict{obstat.Ask, obstat.Ask, obstat.Deny, obstat.Deny} {
		v, why := put(t, g, oneCall("s", fmt.Sprint("rm x", i)), gate.Terms{Ask: gate.Leave})
		if v != want || v == obstat.Deny && !strings.Contains(why, "asked 2 times today") {
			t.Errorf("ask %d: %s: %s", i, v, why)
		}
	}
	if v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
		t.Errorf("%s: %s", v, why)
	}
}

// TestLimitClock: a clock that goes back resets no count, and a new day does.
func TestLimitClock(t *testing.T) {
	now := time.Now()
	line := func(at time.Time, n int) string {
		return strings.Repeat(fmt.Sprintf("%d c %016d\n", at.Unix(), 7), n)
	}
	day := "day\x00claude-code\x00"
	session := "calls\x00claude-code\x00s"
	for name, tt := range map[string]struct {
		limit, key, text string
		want             obstat.Verdict
	}{
		"today":                 {"3 calls per day", day, line(now, 3), obstat.Ask},
		"yesterday":             {"3 calls per day", day, line(now.AddDate(0, 0, -1), 3), obstat.Allow},
		"the clock was at 2099": {"3 calls per day", day, line(now, 1) + line(now.AddDate(73, 0, 0), 3), obstat.Ask},
		"and went back":         {"3 calls per day", day, line(now.AddDate(0, 0, 1), 2) + line(now, 1), obstat.Ask},
		"minutes":               {"30 minutes per session", session, line(now.Add(-31*time.Minute), 1), obstat.Ask},
		"few minutes":           {"30 minutes per session", session, line(now.Add(-29*time.Minute), 1), obstat.Allow},
		"minutes, back": {"30 minutes per session", session, line(now.Add(-20*time.Minute), 1) + line(now.Add(11*time.Minute), 1) +
			line(now.Add(-9*time.Hour), 1) + line(now.Add(time.Hour), 1), obstat.Ask},
		"half a line": {"3 calls per session", session, line(now, 3) + "17634", obstat.Ask},
		"garbage":     {"3 calls per session", session, "\x00\xff\n" + line(now, 3) + "x y z\n", obstat.Ask},
	} {
		dir := gate.SessionDir(t.TempDir())
		if err := dir.Tally(tt.key, func([]byte) []byte { return []byte(tt.text) }); err != nil {
			t.Fatal(err)
		}
		g := limited(t, dir, tt.limit)
		v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave})
		if v != tt.want || name == "minutes" && !strings.Contains(why, "31 minutes are over") {
			t.Errorf("%s: %s: %s", name, v, why)
		}
	}
}

// TestLimitBroken: where calls cannot be counted, every limit is reached.
func TestLimitBroken(t *testing.T) {
	for limit, want := range map[string]obstat.Verdict{"9 calls per day": obstat.Ask, "'9 calls per day, deny'": obstat.Deny} {
		g := limited(t, forgetful{write: errors.New("disk")}, limit)
		if v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave}); v != want || !strings.Contains(why, "disk") {
			t.Errorf("%s: %s: %s", limit, v, why)
		}
	}
}

func settledAs(v obstat.Verdict) func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
	return func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
		return &gate.Settled{Verdict: v, By: obstat.By{Kind: obstat.ByPerson, Who: "ann"}}, nil
	}
}

// TestLimitsUsed: the limits of a call are told with how much of each is used, and asking changes nothing.
func TestLimitsUsed(t *testing.T) {
	g := limited(t, gate.SessionDir(t.TempDir()), "3 calls per session, '2 writes per day, deny'")
	for range 2 {
		if v, why := put(t, g, oneCall("s", "touch a"), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
			t.Fatalf("%s: %s", v, why)
		}
	}
	for range 2 {
		got := strings.Join(g.Limits(t.Context(), oneCall("s", "touch b")), "; ")
		if !strings.Contains(got, "3 calls per session: 2") || !strings.Contains(got, "2 writes per day, deny: 2") {
			t.Errorf("%q", got)
		}
	}
	if got := strings.Join(g.Limits(t.Context(), oneCall("other", "ls")), "; "); !strings.Contains(got, "3 calls per session: 0") {
		t.Errorf("of another session: %q", got)
	}
}

// TestAskInUnattendedMode: a doubt about an allowed call asks, and is denied in a mode in which nobody is asked.
func TestAskInUnattendedMode(t *testing.T) {
	for mode, want := range map[string]obstat.Verdict{"default": obstat.Ask, "dont_ask": obstat.Deny} {
		text := `{"mode":"` + mode + `","allow":["Bash"]}`
		l, err := dialect.Load(adkfluent.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "adk-permissions.json", Data: []byte(text)}}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := gate.Open(t.Context(), gate.Options{Policy: gate.Fixed{Loaded: l}, NoStart: true, World: &obstat.Snapshot{Dirs: []string{"/", "/p"}}})
		if err != nil {
			t.Fatal(err)
		}
		v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave, Doubt: "its description has changed"})
		if v != want || (want == obstat.Deny) != strings.Contains(why, "nobody can be asked in this mode") {
			t.Errorf("%s: %s: %s", mode, v, why)
		}
		if v, why := put(t, g, oneCall("s", "ls"), gate.Terms{Ask: gate.Leave}); v != obstat.Allow {
			t.Errorf("%s, without a doubt: %s: %s", mode, v, why)
		}
	}
}

// TestJudgesOffer: the judges of a confined run offer the rule that would allow a change, where a person may be asked
// about it.
func TestJudgesOffer(t *testing.T) {
	g := limited(t, nil, "")
	var r confined.Run
	g.Judges(t.Context(), oneCall("s", "ls"), &r)
	if got := r.Offer("write", "/elsewhere/x"); !strings.Contains(got, "/elsewhere") {
		t.Errorf("%q is offered for a file elsewhere", got)
	}
	if got := r.Offer("write", "/p/x"); got != "" {
		t.Errorf("%q is offered for a file that may be written", got)
	}
}

package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/effect"
)

// TestEndOfRequest: how a request ended is said in words, with the people who answered it.
func TestEndOfRequest(t *testing.T) {
	at := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	yes, no := approval.Answer{By: "ann", Allow: true}, approval.Answer{By: "ben", Words: "not today"}
	for _, tt := range []struct {
		name string
		r    approval.Request
		want string
	}{
		{"expired", approval.Request{State: approval.Expired, Created: at, Expires: at.Add(90*time.Second + 200*time.Millisecond)}, "time-out: nobody answered within 1m30s"},
		{"done", approval.Request{State: approval.Done}, "time-out: " + usedWords},
		{"claimed", approval.Request{State: approval.Claimed}, "time-out: " + usedWords},
		{"lapsed", approval.Request{State: approval.Lapsed, Answers: []approval.Answer{yes}}, "time-out: it was approved by ann, but nobody claimed"},
		{"lapsed after a claim", approval.Request{State: approval.Lapsed, Answers: []approval.Answer{yes}, Claim: &approval.Claim{}}, "time-out: it was approved by ann and claimed"},
		{"withdrawn", approval.Request{State: approval.Canceled}, "time-out: the request was withdrawn"},
		{"refused by nobody", approval.Request{State: approval.Refused}, "time-out: refused"},
		{"refused", approval.Request{State: approval.Refused, Answers: []approval.Answer{yes, no}}, "person ben: refused by ben: not today"},
		{"approved", approval.Request{State: approval.Approved, Answers: []approval.Answer{yes}}, "person ann: approved by ann"},
		{"approved by two", approval.Request{State: approval.Approved, Answers: []approval.Answer{yes, {By: "cid", Allow: true, Words: "fine"}}}, "person ann and cid: approved by ann and cid: fine"},
	} {
		by := byRequest(&tt.r)
		got := strings.TrimSpace(by.Kind.String()+" "+by.Who) + ": " + by.Note
		if !strings.HasPrefix(got, tt.want) || (by.Kind == obstat.ByPerson && got != tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSameAsker: a request is taken up by the one who put it: the agent and the user, in the same place and channel.
func TestSameAsker(t *testing.T) {
	of := obstat.Call{Agent: "a", User: "u", Dir: "/p", Channel: "c", Session: "s", Tool: "t"}
	for name, tt := range map[string]struct {
		change func(c *obstat.Call)
		want   bool
	}{
		"the same":        {func(*obstat.Call) {}, true},
		"another session": {func(c *obstat.Call) { c.Session = "x" }, true},
		"another agent":   {func(c *obstat.Call) { c.Agent = "x" }, false},
		"another user":    {func(c *obstat.Call) { c.User = "x" }, false},
		"another place":   {func(c *obstat.Call) { c.Dir = "x" }, false},
		"another channel": {func(c *obstat.Call) { c.Channel = "x" }, false},
	} {
		other := of
		if tt.change(&other); sameAsker(&of, &other) != tt.want || sameAsker(&other, &of) != tt.want {
			t.Errorf("%s: %t", name, !tt.want)
		}
	}
}

// TestEffectsOfRequest: a request lists what the call would touch, with a bound, and says how much more there is.
func TestEffectsOfRequest(t *testing.T) {
	if out := effectsOf(nil); out != nil {
		t.Errorf("%v", out)
	}
	e := func(path, host, program, raw string) effect.Effect {
		e := effect.Effect{Kind: effect.Read}
		e.Path, e.Host, e.Program, e.Raw, e.Detail = path, host, program, raw, "d"
		return e
	}
	got := effectsOf(&effect.Analysis{Effects: []effect.Effect{e("/p", "h", "c", "r"), e("", "h", "c", "r"), e("", "", "c", "r"), e("", "", "", "r"), e("", "", "", "")}})
	var want []approval.Effect
	for _, target := range []string{"/p", "h", "c", "r", ""} {
		want = append(want, approval.Effect{Kind: "read", Target: target, Detail: "d"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n, last := range map[int]string{49: "p", 50: "p", 51: "1 things more", 70: "20 things more"} {
		many := &effect.Analysis{Effects: slices.Repeat([]effect.Effect{e("p", "", "", "")}, n)}
		out := effectsOf(many)
		if end := out[len(out)-1]; len(out) != min(n, 51) || end.Target != last && end.Detail != last {
			t.Errorf("of %d: %d, the last %+v", n, len(out), end)
		}
	}
}

// TestFirstLine: of many problems the first is said, with how many more there are.
func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "a\nb": "a (and 1 problems more)", "a\nb\nc": "a (and 2 problems more)"} {
		if got := firstLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

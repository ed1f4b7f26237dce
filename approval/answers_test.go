package approval_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestSensibleAnswers: an approval that says two things, or none, is refused, and one
// that says one thing counts.
func TestSensibleAnswers(t *testing.T) {
	three := []approval.Offer{{Text: "a", And: []approval.Offer{{Text: "b"}}}, {Text: "c"}, {Text: "d"}}
	soon := time.Now().Add(time.Hour)
	for _, tt := range []struct {
		name string
		a    approval.Answer
		want string // part of the refusal; "" counts
	}{
		{"once", approval.Answer{}, ""},
		{"no such scope", approval.Answer{Scope: "forever"}, "no scope"},
		{"offer behind the last", approval.Answer{Scope: approval.Session, Offer: 4}, "no offer 4"},
		{"offer before the first", approval.Answer{Scope: approval.Session, Offer: -1}, "no offer -1"},
		{"last offer", approval.Answer{Scope: approval.Session, Offer: 3}, ""},
		{"more, and none that is the first", approval.Answer{Scope: approval.Session, More: []int{2}}, "none that is the first"},
		{"more, with a zero", approval.Answer{Scope: approval.Session, Offer: 1, More: []int{0}}, "none that is the first"},
		{"more", approval.Answer{Scope: approval.Session, Offer: 1, More: []int{2}}, ""},
		{"parts for a session", approval.Answer{Scope: approval.Session, Offer: 1, Parts: []int{1}}, "parts are"},
		{"part behind the last", approval.Answer{Scope: approval.Always, Offer: 1, Parts: []int{3}}, "parts are"},
		{"parts", approval.Answer{Scope: approval.Always, Offer: 1, Parts: []int{2}}, ""},
		{"always without a rule", approval.Answer{Scope: approval.Always}, "always needs"},
		{"a rule for once", approval.Answer{Offer: 1}, "for once"},
		{"a time for once", approval.Answer{Scope: approval.Once, ForSeconds: 1}, "for once"},
		{"an end for once", approval.Answer{Scope: approval.Once, Until: soon}, "for once"},
		{"negative seconds", approval.Answer{Scope: approval.Session, ForSeconds: -1}, "not both"},
		{"both ends", approval.Answer{Scope: approval.Session, ForSeconds: 9, Until: soon}, "not both"},
		{"too long", approval.Answer{Scope: approval.Session, ForSeconds: 10*366*24*3600 + 1}, "at most"},
		{"in the past", approval.Answer{Scope: approval.Session, Until: time.Now().Add(-time.Hour)}, "ends after now"},
		{"as long as may be", approval.Answer{Scope: approval.Session, ForSeconds: 10 * 366 * 24 * 3600}, ""},
		{"always, with an end", approval.Answer{Scope: approval.Always, Offer: 1, ForSeconds: 9}, "no end"},
		{"input and a rule", approval.Answer{Scope: approval.Session, Offer: 1, Input: json.RawMessage(`{}`)}, "other arguments and a rule"},
		{"input that is no JSON", approval.Answer{Input: json.RawMessage(`{`)}, "not JSON"},
		{"input", approval.Answer{Input: json.RawMessage(`{}`)}, ""},
	} {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Offers = three
		if err := b.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		tt.a.By, tt.a.Allow = "bob", true
		_, err := b.Answer(t.Context(), "r", tt.a)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.Is(err, approval.ErrBad) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestRulesOfParts: an answer takes the rules with the numbers that it names.
func TestRulesOfParts(t *testing.T) {
	r := request("r", "s")
	r.Offers = []approval.Offer{{Text: "a", And: []approval.Offer{{Text: "b"}, {Text: "c"}}}, {Text: "d"}}
	texts := func(a approval.Answer) string {
		var out []string
		for _, o := range a.Rules(r) {
			out = append(out, o.Text)
		}
		return strings.Join(out, " ")
	}
	for want, a := range map[string]approval.Answer{
		"a b c":   {Offer: 1},
		"a c":     {Offer: 1, Parts: []int{3, 1}},
		"a b c d": {Offer: 1, More: []int{2}},
		"d":       {Offer: 2},
		"":        {},
	} {
		if got := texts(a); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}

// TestWithPattern: a rule without a pattern cannot get another one.
func TestWithPattern(t *testing.T) {
	for _, rule := range []string{`{"tool":"bash","verdict":"allow"}`, `{`} {
		if got, err := (&approval.Offer{Rule: json.RawMessage(rule)}).WithPattern("make"); err == nil {
			t.Errorf("%s: %s", rule, got)
		}
	}
}

package approval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestAdmit: each refusal of a person says the reason that is true.
func TestAdmit(t *testing.T) {
	bob := approval.Answer{By: "bob", Login: "bob", Roles: []string{"dev"}, Allow: true}
	many := make([]approval.Answer, 100)
	for i := range many {
		many[i] = approval.Answer{By: fmt.Sprint(i), Login: fmt.Sprint(i), Allow: true}
	}
	two := []string{"dev", "sec"}
	for _, tt := range []struct {
		name string
		who  approval.Who
		had  []approval.Answer
		want string
	}{
		{"anybody", approval.Who{}, nil, ""},
		{"a role", approval.Who{Roles: []string{"ops"}}, nil, `it takes one of the roles ["ops"]`},
		{"a user", approval.Who{Users: []string{"ann"}}, nil, `it is for ["ann"] to answer`},
		{"either", approval.Who{Users: []string{"ann"}, Roles: []string{"ops"}}, nil, `it is for ["ann"] to answer, or for one of the roles ["ops"]`},
		{"each", approval.Who{Each: []string{"ops", "sec"}}, nil, `it takes a person for each of the roles ["ops" "sec"]`},
		{"one more than each", approval.Who{Each: []string{"ops", "sec"}, Needed: 3}, nil, ""},
		{"as many as each", approval.Who{Each: []string{"ops", "sec"}, Needed: 2}, nil, `it takes a person for each of the roles ["ops" "sec"]`},
		{"answered", approval.Who{Needed: 2}, []approval.Answer{{By: " Bob "}}, "you have answered it"},
		{"by another name", approval.Who{Needed: 2}, []approval.Answer{{By: "robert", Names: []string{"BOB"}}}, "you have answered it"},
		{"without a name", approval.Who{Needed: 2}, []approval.Answer{{By: "ann", Login: "ann", Names: []string{" "}}}, ""},
		{"99 before", approval.Who{Needed: 200}, many[:99], ""},
		{"100 before", approval.Who{Needed: 200}, many, "100 people have had their say"},
		{"the role is taken", approval.Who{Each: two}, []approval.Answer{login("ann", "dev")}, "one with yours has agreed"},
		{"room beside the roles", approval.Who{Each: two, Needed: 3}, []approval.Answer{login("ann", "dev")}, ""},
		{"no room beside the roles", approval.Who{Each: two, Needed: 3}, []approval.Answer{login("ann", "dev"), login("cy", "dev")}, "one with yours has agreed"},
		{"one that does not count", approval.Who{Each: two}, []approval.Answer{{By: "ci", Roles: []string{"dev"}}}, ""},
		{"one that does not count takes no room", approval.Who{Each: two, Needed: 3},
			[]approval.Answer{login("ann", "dev"), {By: "ci", Roles: []string{"dev"}}}, ""},
	} {
		err := tt.who.Admit(tt.had, &bob)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.Is(err, approval.ErrNotYou) || !strings.HasSuffix(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestRefusalsOfApprovals: an approval that does not count leaves the request as it was.
func TestRefusalsOfApprovals(t *testing.T) {
	broader := errors.New("broader")
	for _, tt := range []struct {
		name  string
		a     approval.Answer
		who   approval.Who
		check error
		want  string
	}{
		{"without a name", approval.Answer{}, approval.Who{}, nil, "needs a name"},
		{"late", approval.Answer{By: "bob", Time: time.Now().Add(time.Hour)}, approval.Who{}, nil, "its time is over"},
		{"arguments for several", approval.Answer{By: "bob", Login: "bob", Input: json.RawMessage(`{}`)}, approval.Who{Needed: 2}, nil, "several must agree"},
		{"the host's check", approval.Answer{By: "bob"}, approval.Who{}, broader, "broader"},
		{"parts of no offer", approval.Answer{By: "bob", Scope: approval.Always, Rule: json.RawMessage(`{}`), Parts: []int{1}}, approval.Who{}, nil, "parts are"},
		{"parts of two offers", approval.Answer{By: "bob", Scope: approval.Always, Offer: 1, More: []int{1}, Parts: []int{1}}, approval.Who{}, nil, "parts are"},
		{"parts and a rule", approval.Answer{By: "bob", Scope: approval.Always, Offer: 1, Rule: json.RawMessage(`{}`), Parts: []int{1}}, approval.Who{}, nil, "parts are"},
		{"part before the first", approval.Answer{By: "bob", Scope: approval.Always, Offer: 1, Parts: []int{0}}, approval.Who{}, nil, "parts are"},
	} {
		store := new(memory.Store)
		b := approval.New(store, &approval.Options{Check: func(*approval.Request, *approval.Answer) error { return tt.check }})
		r := request("r", "s")
		r.Who = tt.who
		put(t, b, r)
		tt.a.Allow = true
		if got, err := b.Answer(t.Context(), "r", tt.a); err == nil || got != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v %v, want %q", tt.name, got, err, tt.want)
		}
		if now, err := store.Request(t.Context(), "r"); err != nil || now.State != approval.Pending || len(now.Answers) != 0 {
			t.Errorf("%s: %+v %v", tt.name, now, err)
		}
	}
	b := approval.New(new(memory.Store), nil)
	put(t, b, request("r", "s"))
	answer(t, b, "r", approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1, Parts: []int{1}})
	put(t, b, request("a second long", "s"))
	answer(t, b, "a second long", approval.Answer{By: "bob", Allow: true, Scope: approval.Session, ForSeconds: 1})
}

// TestRulesOfAnswers: numbers that no offer has take nothing, and a rule that was written
// by hand joins the list of the offer that it replaces, the first if it names none.
func TestRulesOfAnswers(t *testing.T) {
	r := request("r", "s")
	r.Offers = []approval.Offer{
		{Text: "a", List: "first", And: []approval.Offer{{Text: "b", List: "first"}}, Also: []string{"ls"}, File: "f", NoFile: "n"},
		{Text: "c", List: "second"},
	}
	own := json.RawMessage(`{"tool":"Bash"}`)
	for _, tt := range []struct {
		a    approval.Answer
		want []approval.Offer
	}{
		{approval.Answer{Offer: 1}, []approval.Offer{{Text: "a", List: "first"}, {Text: "b", List: "first"}}},
		{approval.Answer{Offer: 1, Parts: []int{2}}, []approval.Offer{{Text: "b", List: "first"}}},
		{approval.Answer{Offer: 2, More: []int{0, 1, 3}}, []approval.Offer{{Text: "c", List: "second"}, {Text: "a", List: "first"}, {Text: "b", List: "first"}}},
		{approval.Answer{Offer: 1, More: []int{-1, 2}}, []approval.Offer{{Text: "a", List: "first"}, {Text: "b", List: "first"}, {Text: "c", List: "second"}}},
		{approval.Answer{Offer: 3}, nil},
		{approval.Answer{Rule: own}, []approval.Offer{{Rule: own, List: "first"}}},
		{approval.Answer{Rule: own, Offer: 1}, []approval.Offer{{Rule: own, List: "first"}}},
		{approval.Answer{Rule: own, Offer: 2}, []approval.Offer{{Rule: own, List: "second"}}},
	} {
		if got := tt.a.Rules(r); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v: %+v, want %+v", tt.a, got, tt.want)
		}
	}
	r.Offers = nil
	if got := (&approval.Answer{Rule: own}).Rules(r); len(got) != 1 || got[0].List != "" {
		t.Errorf("without offers: %+v", got)
	}
	r.Offers = []approval.Offer{{List: "only"}}
	if got := (&approval.Answer{Rule: own}).Rules(r); len(got) != 1 || got[0].List != "only" {
		t.Errorf("one offer: %+v", got)
	}
}

// TestGrantOfARule: the grant of an accepted rule is bound to the rule and not to the bytes of the call.
func TestGrantOfARule(t *testing.T) {
	for offer, want := range map[int]string{0: "digest", 1: ""} {
		store := new(memory.Store)
		b := approval.New(store, nil)
		put(t, b, request("r", "s"))
		answer(t, b, "r", approval.Answer{By: "bob", Allow: true, Scope: approval.Session, Offer: offer})
		grants, err := store.Grants(t.Context(), time.Now())
		if err != nil || len(grants) != 1 || grants[0].Digest != want || len(grants[0].Rules) != offer {
			t.Fatalf("%+v %v", grants, err)
		}
		keys := approval.Keys(&request("r", "s").Call)
		if got := grants[0].Covers(keys, "Bash", "digest", time.Now()); got != (offer == 0) {
			t.Errorf("offer %d covers the call: %t", offer, got)
		}
	}
}

// TestGrantFor: a grant holds for its own key, in time, and for its own agent and user
// where agents are apart.
func TestGrantFor(t *testing.T) {
	now := time.Now()
	keys := map[approval.Scope]string{approval.Session: "s", approval.Agent: "codex", approval.User: "ann"}
	for _, tt := range []struct {
		name string
		g    approval.Grant
		want bool
	}{
		{"its session", approval.Grant{Scope: approval.Session, Key: "s"}, true},
		{"another session", approval.Grant{Scope: approval.Session, Key: "t"}, false},
		{"no key", approval.Grant{Scope: approval.Workspace}, false},
		{"its owner", approval.Grant{Scope: approval.Session, Key: "s", Of: `"codex" "ann"`}, true},
		{"another owner", approval.Grant{Scope: approval.Session, Key: "s", Of: `"codex" "bob"`}, false},
		{"over", approval.Grant{Scope: approval.Session, Key: "s", Expires: now}, false},
		{"revoked", approval.Grant{Scope: approval.Session, Key: "s", Revoked: now.Add(-time.Second)}, false},
	} {
		if got := tt.g.For(keys, now); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

// TestWithPatternKeepsTheRest: an edited rule has another pattern, and none of the
// places that the offer's rule had.
func TestWithPatternKeepsTheRest(t *testing.T) {
	rule := obstat.Rule{ID: "x", Tool: obstat.Is("Bash"), Source: "Bash(make)", Verdict: obstat.Allow,
		Pos: obstat.Pos{File: "f", Line: 3}, Pattern: obstat.Is("make")}
	raw, err := json.Marshal(&rule)
	if err != nil {
		t.Fatal(err)
	}
	raw, err = (&approval.Offer{Rule: raw}).WithPattern("make *")
	if err != nil {
		t.Fatal(err)
	}
	got, err := obstat.ParseRule(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := rule
	want.ID, want.Source, want.Pos, want.Pattern.Text = "", "", obstat.Pos{}, "make *"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestOpenStates: something may still become of these states and of no other.
func TestOpenStates(t *testing.T) {
	open := []approval.State{approval.Pending, approval.Approved, approval.Claimed}
	for _, s := range append(open, "", approval.Refused, approval.Expired, approval.Canceled, approval.Done, approval.Lapsed) {
		if s.Open() != slices.Contains(open, s) {
			t.Errorf("%q: %t", s, s.Open())
		}
	}
}

// TestAgreed: the answer that counts grants no more than every answer did.
func TestAgreed(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hour := approval.Answer{By: "ann", Allow: true, Time: at, Scope: approval.Session, Offer: 1, ForSeconds: 3600}
	second, once := hour, approval.Answer{By: "bob", Allow: true, Time: at, Scope: approval.Once}
	second.ForSeconds = 1
	for _, tt := range []struct {
		name    string
		answers []approval.Answer
		scope   approval.Scope
		offer   int
		until   time.Time
	}{
		{"none", nil, "", 0, time.Time{}},
		{"one", []approval.Answer{hour}, approval.Session, 1, at.Add(time.Hour)},
		{"the same twice", []approval.Answer{hour, hour}, approval.Session, 1, at.Add(time.Hour)},
		{"a second", []approval.Answer{second}, approval.Session, 1, at.Add(time.Second)},
		{"different ends", []approval.Answer{hour, second}, approval.Once, 0, time.Time{}},
		{"different scopes", []approval.Answer{once, hour}, approval.Once, 0, time.Time{}},
		{"no end", []approval.Answer{once}, approval.Once, 0, time.Time{}},
	} {
		got := (&approval.Request{Answers: tt.answers}).Agreed()
		if got.Scope != tt.scope || got.Offer != tt.offer || !got.Until.Equal(tt.until) || got.By == "" != (tt.answers == nil) {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if got.Scope == approval.Once && got.ForSeconds != 0 {
			t.Errorf("%s: for once, and for %d s", tt.name, got.ForSeconds)
		}
	}
}

// TestSpent: nothing of the call's content stays, and the request that it was made of is untouched.
func TestSpent(t *testing.T) {
	r := request("r", "s")
	r.Part, r.Effects, r.Call.Subjects = "secret", []approval.Effect{{Target: "secret"}}, []string{"secret"}
	r.Reason, r.Offers[0].Text, r.Call.Input = "secret", "secret", json.RawMessage(`"secret"`)
	r.Answers = []approval.Answer{{By: "ann", Input: json.RawMessage(`"secret"`), Rule: json.RawMessage(`"secret"`)}}
	before, _ := json.Marshal(r)
	out, err := json.Marshal(r.Spent())
	if err != nil || strings.Contains(string(out), "secret") || !strings.Contains(string(out), "ann") {
		t.Errorf("%s %v", out, err)
	}
	if after, _ := json.Marshal(r); string(after) != string(before) {
		t.Errorf("changed to %s", after)
	}
}

// TestQueryMatches: a query wants a request whose state and group are those that it names.
func TestQueryMatches(t *testing.T) {
	for _, state := range []approval.State{"", approval.Pending, approval.Done} {
		for _, group := range []string{"", "g", "h"} {
			want := state != approval.Done && group != "h"
			q := approval.Query{State: state, Group: group}
			if got := q.Matches(&approval.Request{State: approval.Pending, Group: "g"}); got != want {
				t.Errorf("%+v: %t", q, got)
			}
		}
	}
}

// TestGroupOf: every part of a request that a person looks at makes another group, and nothing else does.
func TestGroupOf(t *testing.T) {
	whole := func() *approval.Request {
		r := request("r", "s")
		r.Effects = []approval.Effect{{Kind: "read"}, {Kind: "send"}}
		return r
	}
	group := approval.GroupOf(whole())
	if !regexp.MustCompile(`^grp_[0-9a-f]{20}$`).MatchString(group) {
		t.Error(group)
	}
	for name, change := range map[string]func(*approval.Request){
		"agent":      func(r *approval.Request) { r.Call.Agent = "x" },
		"tool":       func(r *approval.Request) { r.Call.Tool = "x" },
		"rule":       func(r *approval.Request) { r.Rule = "x" },
		"offer":      func(r *approval.Request) { r.Offers[0].Text = "x" },
		"no offer":   func(r *approval.Request) { r.Offers = nil },
		"safety":     func(r *approval.Request) { r.Safety = true },
		"kinds":      func(r *approval.Request) { r.Effects = r.Effects[:1] },
		"other kind": func(r *approval.Request) { r.Effects[1].Kind = "write" },
		"part":       func(r *approval.Request) { r.Part = "x" },
	} {
		r := whole()
		if change(r); approval.GroupOf(r) == group {
			t.Errorf("another %s, the same group", name)
		}
	}
	for name, change := range map[string]func(*approval.Request){
		"id":      func(r *approval.Request) { r.ID = "x" },
		"input":   func(r *approval.Request) { r.Call.Input = json.RawMessage(`{}`) },
		"session": func(r *approval.Request) { r.Call.Session = "x" },
		"order":   func(r *approval.Request) { slices.Reverse(r.Effects) },
		"twice":   func(r *approval.Request) { r.Effects = append(r.Effects, r.Effects...) },
		"target":  func(r *approval.Request) { r.Effects[0].Target = "x" },
		"second":  func(r *approval.Request) { r.Offers = append(r.Offers, approval.Offer{Text: "x"}) },
	} {
		r := whole()
		if change(r); approval.GroupOf(r) != group {
			t.Errorf("another %s, another group", name)
		}
	}
	a, b := whole(), whole()
	a.Part, b.Part = "x", "y"
	if approval.GroupOf(a) != approval.GroupOf(b) {
		t.Error("which part asks makes another group")
	}
}

// TestRosterLines: all lines about a call count, and lines about the policy are not about calls.
func TestRosterLines(t *testing.T) {
	roster := approval.Roster{
		{Policy: true, Who: approval.Who{Roles: []string{"admin"}, Needed: 2}},
		{Tool: "Bash", Who: approval.Who{Each: []string{"dev", "sec"}, Users: []string{"ann", "bob"}}},
		{Who: approval.Who{Each: []string{"sec", "ops"}, Users: []string{"bob"}}},
	}
	if got := fmt.Sprint(roster.ForPolicy()); got != "{[admin] [] false 2 []}" {
		t.Error(got)
	}
	if got := fmt.Sprint(roster.For(&obstat.Call{Tool: "Bash"}, &obstat.Decision{})); got != "{[] [bob] false 0 [dev sec ops]}" {
		t.Error(got)
	}
}

// TestRosterPatterns: `*` and `?` of a roster mean the same as in a regular expression.
func TestRosterPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{1,7}`).Draw(t, "pattern")
		tool := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "tool")
		roster := approval.Roster{{Tool: pattern, Who: approval.Who{NotCaller: true}}}
		want := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + "$").MatchString(tool)
		if got := roster.For(&obstat.Call{Tool: tool}, &obstat.Decision{}).NotCaller; got != want {
			t.Errorf("%q and %q: %t", pattern, tool, got)
		}
	})
}

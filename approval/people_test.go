package approval_test

import (
	"context"
	"errors"
	"testing"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// login returns the approval of a person who is logged in.
func login(by string, roles ...string) approval.Answer {
	return approval.Answer{By: by, Login: "link " + by, Roles: roles, Allow: true}
}

// TestTwoPeopleAreTwoLogins: a token, a terminal, or the same person by another name or another
// login makes no second person; a refusal needs no login.
func TestTwoPeopleAreTwoLogins(t *testing.T) {
	oidc := func(by, subject string, names ...string) approval.Answer {
		return approval.Answer{By: by, Login: "https://id.example " + subject, Names: names, Allow: true}
	}
	token := func(by string) approval.Answer { return approval.Answer{By: by, Allow: true} }
	ann := oidc("ann@example.com", "4711", "ann")
	for _, tt := range []struct {
		name   string
		who    approval.Who
		first  approval.Answer
		second approval.Answer
		want   approval.State
	}{
		{"two logins", approval.Who{Needed: 2}, ann, oidc("bob@example.com", "4712"), approval.Approved},
		{"a login and a link", approval.Who{Needed: 2}, ann, login("bob"), approval.Approved},
		{"two tokens", approval.Who{Needed: 2}, token("ann"), token("bob"), approval.Pending},
		{"a login and a token", approval.Who{Needed: 2}, ann, token("bob"), approval.Pending},
		{"a token and a login", approval.Who{Needed: 2}, token("bob"), ann, approval.Pending},
		{"tokens for each role", approval.Who{Each: []string{"dev", "sec"}}, approval.Answer{By: "a", Roles: []string{"dev"}, Allow: true}, approval.Answer{By: "b", Roles: []string{"sec"}, Allow: true}, approval.Pending},
		{"the same subject", approval.Who{Needed: 2}, ann, oidc("ann@new.example", "4711"), approval.Pending},
		{"a link to her other name", approval.Who{Needed: 2}, ann, login("ann"), approval.Pending},
		{"another case", approval.Who{Needed: 2}, login("ann"), login(" Ann"), approval.Pending},
		{"a token refuses", approval.Who{Needed: 2}, ann, approval.Answer{By: "ci"}, approval.Refused},
	} {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Who = tt.who
		put(t, b, r)
		for _, a := range []approval.Answer{tt.first, tt.second} {
			if _, err := b.Answer(t.Context(), "r", a); err != nil && !errors.Is(err, approval.ErrNotYou) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if got, err := b.Until(canceled(t), "r"); err == nil && got.State != tt.want || err != nil && tt.want != approval.Pending {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

// canceled returns a context that waits for nothing.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestNotCallerWantsACaller: where another than the caller has to approve, an unknown caller, one
// that the agent merely claims, and a token are no approval; anybody may refuse.
func TestNotCallerWantsACaller(t *testing.T) {
	bob := login("bob")
	for _, tt := range []struct {
		name, user string
		claimed    bool
		answer     approval.Answer
		want       bool
	}{
		{"another", "ann", false, bob, true},
		{"the caller", "bob", false, bob, false},
		{"the caller in capitals", "BOB", false, bob, false},
		{"the caller by another name", "b.bob", false, approval.Answer{By: "bob@example.com", Login: "x 1", Names: []string{"b.bob"}, Allow: true}, false},
		{"nobody known", "", false, bob, false},
		{"a user that the agent claims", "ann", true, bob, false},
		{"a token", "ann", false, approval.Answer{By: "bob", Allow: true}, false},
		{"a refusal where nobody is known", "", false, approval.Answer{By: "bob"}, true},
	} {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Call.User, r.Claimed, r.Who = tt.user, tt.claimed, approval.Who{NotCaller: true}
		put(t, b, r)
		if _, err := b.Answer(t.Context(), "r", tt.answer); (err == nil) != tt.want || err != nil && !errors.Is(err, approval.ErrNotYou) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestOldAnswersWithoutLogin: an approval that an older obstat took from a token does not count as
// one of two people.
func TestOldAnswersWithoutLogin(t *testing.T) {
	b := approval.New(new(memory.Store), nil)
	r := request("r", "s")
	r.Who, r.Answers = approval.Who{Needed: 2}, []approval.Answer{{By: "ci", Allow: true}}
	put(t, b, r)
	if r := answer(t, b, "r", login("ann")); r.State != approval.Pending {
		t.Errorf("%s", r.State)
	}
	if r := answer(t, b, "r", login("bob")); r.State != approval.Approved {
		t.Errorf("%s", r.State)
	}
}

// TestPutThatFailsIsNotAttended: a request that the store did not keep is not said to be waited
// for, and one that was put before still is.
func TestPutThatFailsIsNotAttended(t *testing.T) {
	store := &watched{there: map[string]bool{}}
	b := approval.New(store, &approval.Options{Attends: true})
	lost := func(context.Context, *approval.Request) error { return errors.New("disk full") }
	if err := b.PutBy(t.Context(), request("r", "s"), lost); err == nil {
		t.Fatal("it was kept")
	}
	if store.there["r"] {
		t.Error("the request is waited for, and is not there")
	}
	put(t, b, request("r", "s"))
	if err := b.PutBy(t.Context(), request("r", "s"), lost); err == nil || !store.there["r"] {
		t.Errorf("%v; waited for: %t", err, store.there["r"])
	}
}

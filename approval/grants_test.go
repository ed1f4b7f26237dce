package approval_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestGrantForOtherArguments: a grant with other arguments holds for those, and not for
// the ones that were asked about.
func TestGrantForOtherArguments(t *testing.T) {
	store := new(memory.Store)
	b := approval.New(store, nil)
	r := request("r", "s")
	if err := b.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	other := json.RawMessage(`{"command":"make clean"}`)
	if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true, Scope: approval.Session, Input: other}); err != nil {
		t.Fatal(err)
	}
	grants, err := store.Grants(t.Context(), time.Now())
	if err != nil || len(grants) != 1 {
		t.Fatalf("%v %v", grants, err)
	}
	want := (&obstat.Call{Tool: r.Call.Tool, Input: other}).DigestText()
	if grants[0].Digest != want {
		t.Errorf("%s, want %s", grants[0].Digest, want)
	}
}

// TestSessionIsItsOwnersWhereApart: a session's name counts together with its agent and
// user where agents share the store, and by itself where they do not.
func TestSessionIsItsOwnersWhereApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for scope, owned := range map[approval.Scope]bool{approval.Session: apart, approval.User: false} {
			store := new(memory.Store)
			b := approval.New(store, &approval.Options{Apart: apart})
			if err := b.Put(t.Context(), request("r", "s")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true, Scope: scope}); err != nil {
				t.Fatal(err)
			}
			grants, _ := store.Grants(t.Context(), time.Now())
			if len(grants) != 1 || (grants[0].Of != "") != owned {
				t.Errorf("apart %t, for the %s: %+v", apart, scope, grants)
			}
		}
	}
}

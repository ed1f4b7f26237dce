package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/docs"
)

// A shifting store has its first token taken back, and another made, after each look at them.
type shifting struct {
	server.Store
	on *bool
}

func (s shifting) Docs(ctx context.Context, kind string) ([]*docs.Doc, error) {
	list, err := s.Store.Docs(ctx, kind)
	if err == nil && kind == "token" && *s.on {
		*s.on = false
		if err := docs.Delete(ctx, s.Store, kind, list[0].ID); err != nil {
			return nil, err
		}
		err = docs.Put(ctx, s.Store, kind, "zz", 0, client.Token{ID: "tok_last"})
	}
	return list, err
}

// TestRevokeAmongChanges: the token that is taken back is the one that was named, also where others
// change at the same time.
func TestRevokeAmongChanges(t *testing.T) {
	on := false
	s := open(t, func(o *server.Options) { o.Store = shifting{o.Store, &on} })
	list, err := s.store.Docs(t.Context(), "token")
	must(t, err)
	var last client.Token
	must(t, json.Unmarshal(list[len(list)-1].Body, &last))
	admin := s.token(client.TokenRequest{Kind: "person", Name: "eve", Roles: []string{server.RoleAdmin}})
	if code, _ := s.do(admin, "GET", "/v1/tokens", ""); code != 200 { // it is known for a second now, though it may be the first
		t.Fatal(code)
	}
	on = true
	if code, body := s.do(admin, "DELETE", "/v1/tokens/"+last.ID, ""); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	left, err := docs.All[client.Token](t.Context(), s.store, "token")
	must(t, err)
	for _, token := range left {
		if token.ID == last.ID {
			t.Errorf("%s was taken back and is there; left are %d", last.ID, len(left))
		}
	}
	if len(left) != 3 { // of five, without the first and the one that was named
		t.Errorf("%d are left", len(left))
	}
}

// TestLimitsWhileLost: who was known before the store was lost has the limits of before.
func TestLimitsWhileLost(t *testing.T) {
	t.Parallel()
	lost := false
	s := open(t, func(o *server.Options) { o.Rate, o.Store = 1, noDocs{o.Store, &lost} })
	const call = `{"call":{"tool":"bash","input":{"command":"git status"}}}`
	if code, body := s.do(s.agent, "POST", "/v1/decisions", call); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	lost = true
	time.Sleep(1100 * time.Millisecond) // a token is looked up again each second
	codes := map[int]int{}
	for range 20 {
		code, body := s.do(s.agent, "POST", "/v1/decisions", call)
		if codes[code]++; code == 200 && !strings.Contains(body, `"deny"`) {
			t.Error(body)
		}
	}
	if codes[200] == 0 || codes[429] == 0 {
		t.Errorf("%v", codes)
	}
}

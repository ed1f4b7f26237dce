package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/store/memory"
)

func request(id, session string) *approval.Request {
	return &approval.Request{ID: id, Digest: "digest", Reason: "because", Offers: []approval.Offer{{Text: "make *", Rule: json.RawMessage(`{}`)}},
		Call: obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Session: session, User: "ann"}}
}

// asked starts an ask and returns a channel with its end.
func asked(b *approval.Broker, ctx context.Context, r *approval.Request) <-chan *approval.Request {
	out := make(chan *approval.Request, 1)
	go func() {
		got, err := b.Ask(ctx, r)
		if err != nil {
			panic(err)
		}
		out <- got
	}()
	synctest.Wait()
	return out
}

func TestFirstAnswerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, nil)
		end := asked(b, t.Context(), request("r", "s"))
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 64 {
			wg.Go(func() {
				_, err := b.Answer(t.Context(), "r", approval.Answer{By: fmt.Sprint("human ", i), Allow: i%2 == 0, Scope: approval.Session})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, approval.ErrSettled) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r := <-end
		grants, _ := store.Grants(t.Context(), time.Now())
		if won != 1 || len(grants) != map[approval.State]int{approval.Approved: 1}[r.State] {
			t.Errorf("%d won, state %s, %d grants", won, r.State, len(grants))
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), &approval.Options{Timeout: time.Hour})
		end := asked(b, t.Context(), request("r", "s"))
		time.Sleep(time.Hour)
		if r := <-end; r.State != approval.Expired {
			t.Errorf("%s", r.State)
		}
		if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "late", Allow: true}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a late answer: %v", err)
		}
	})
}

func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		end := asked(approval.New(new(memory.Store), nil), ctx, request("r", "s"))
		cancel()
		if r := <-end; r.State != approval.Canceled {
			t.Errorf("%s", r.State)
		}
	})
}

// TestAnotherProcess: an answer given through another broker is seen.
func TestAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		end := asked(approval.New(store, nil), t.Context(), request("r", "s"))
		if _, err := approval.New(store, nil).Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true}); err != nil {
			t.Fatal(err)
		}
		if r := <-end; r.State != approval.Approved {
			t.Errorf("%s", r.State)
		}
	})
}

func TestWhoMayAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Who = approval.Who{Roles: []string{"lead"}, NotCaller: true, Needed: 2}
		end := asked(b, t.Context(), r)
		say := func(a approval.Answer) error {
			_, err := b.Answer(t.Context(), "r", a)
			return err
		}
		lead := []string{"lead"}
		for name, a := range map[string]approval.Answer{
			"no role": {By: "bob", Allow: true}, "the caller": {By: "ann", Roles: lead, Allow: true}, "nobody": {Roles: lead, Allow: true},
		} {
			if err := say(a); !errors.Is(err, approval.ErrNotYou) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := say(approval.Answer{By: "bob", Roles: lead, Allow: true}); err != nil {
			t.Fatal(err)
		}
		if err := say(approval.Answer{By: "bob", Roles: lead, Allow: true}); !errors.Is(err, approval.ErrNotYou) {
			t.Errorf("twice the same: %v", err)
		}
		select {
		case r := <-end:
			t.Fatalf("one of two was enough: %s", r.State)
		default:
		}
		if err := say(approval.Answer{By: "eve", Roles: lead, Allow: true}); err != nil {
			t.Fatal(err)
		}
		if r := <-end; r.State != approval.Approved || len(r.Answers) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

func TestRefusalTakesTheSessionAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), nil)
		a, same, other := asked(b, t.Context(), request("a", "s")), asked(b, t.Context(), request("b", "s")), asked(b, t.Context(), request("c", "t"))
		if _, err := b.Answer(t.Context(), "a", approval.Answer{By: "bob", All: true, Words: "use npm"}); err != nil {
			t.Fatal(err)
		}
		if r := <-a; r.State != approval.Refused || r.Answers[0].Words != "use npm" {
			t.Errorf("%+v", r)
		}
		if r := <-same; r.State != approval.Refused {
			t.Errorf("%+v", r)
		}
		if r := <-other; r.State != approval.Expired {
			t.Errorf("%+v", r)
		}
	})
}

func TestGrantIsBound(t *testing.T) {
	now := time.Now()
	g := approval.Grant{Scope: approval.Session, Key: "s", Tool: "Bash", Digest: "d", Expires: now.Add(time.Minute)}
	keys := map[approval.Scope]string{approval.Session: "s"}
	if !g.Covers(keys, "Bash", "d", now) {
		t.Error("does not cover its own call")
	}
	if g.Covers(keys, "Bash", "other", now) || g.Covers(keys, "Write", "d", now) || g.Covers(map[approval.Scope]string{approval.Session: "t"}, "Bash", "d", now) || g.Covers(keys, "Bash", "d", now.Add(time.Hour)) {
		t.Error("covers too much")
	}
	if (&approval.Grant{Scope: approval.Session, Tool: "Bash", Digest: "d"}).Covers(map[approval.Scope]string{}, "Bash", "d", now) {
		t.Error("a grant without a key covers")
	}
}

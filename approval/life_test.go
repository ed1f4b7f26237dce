package approval_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

func put(t *testing.T, b *approval.Broker, r *approval.Request) {
	t.Helper()
	if err := b.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func answer(t *testing.T, b *approval.Broker, id string, a approval.Answer) *approval.Request {
	t.Helper()
	r, err := b.Answer(t.Context(), id, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLife: a request is answered, claimed by one caller, and done when that caller
// has reported; without a report, or without a claim, it lapses.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, &approval.Options{Valid: time.Hour})
		for _, id := range []string{"a", "b", "c"} {
			r := request(id, "s")
			put(t, b, r)
			answer(t, b, id, approval.Answer{By: "ann", Allow: true})
		}
		if r, err := b.Claim(t.Context(), "a", approval.Claiming{By: "agent", Digest: "digest", Lease: time.Minute}); err != nil || len(r.Call.Input) == 0 {
			t.Fatalf("%+v %v", r, err)
		}
		if _, err := b.Claim(t.Context(), "a", approval.Claiming{By: "agent"}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("claimed twice: %v", err)
		}
		if _, err := b.Finish(t.Context(), "a", "another", approval.Outcome{OK: true}); !errors.Is(err, approval.ErrNotYou) {
			t.Errorf("another caller reports: %v", err)
		}
		if r, err := b.Finish(t.Context(), "a", "agent", approval.Outcome{OK: true, Words: "3 files"}); err != nil || r.State != approval.Done || r.Outcome.Words != "3 files" {
			t.Errorf("%+v %v", r, err)
		}
		if _, err := b.Claim(t.Context(), "b", approval.Claiming{By: "agent", Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		// A claim whose answer was lost is repeated by who knows its key.
		put(t, b, request("d", "s"))
		answer(t, b, "d", approval.Answer{By: "ann", Allow: true})
		for _, want := range []bool{true, true} {
			if r, err := b.Claim(t.Context(), "d", approval.Claiming{By: "agent", Key: "k", Lease: time.Minute}); (err == nil) != want || len(r.Call.Input) == 0 {
				t.Errorf("repeated: %+v %v", r, err)
			}
		}
		for _, c := range []approval.Claiming{{By: "agent", Key: "other", Lease: time.Minute}, {By: "agent", Lease: time.Minute}, {By: "thief", Key: "k"}} {
			if _, err := b.Claim(t.Context(), "d", c); !errors.Is(err, approval.ErrSettled) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if _, err := b.Finish(t.Context(), "d", "agent k", approval.Outcome{OK: true}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		if lapsed, err := b.Sweep(t.Context()); err != nil || len(lapsed) != 1 || lapsed[0].ID != "b" {
			t.Errorf("%v %v", lapsed, err)
		}
		time.Sleep(time.Hour)
		if lapsed, err := b.Sweep(t.Context()); err != nil || len(lapsed) != 1 || lapsed[0].ID != "c" {
			t.Errorf("%v %v", lapsed, err)
		}
		for id, want := range map[string]approval.State{"a": approval.Done, "b": approval.Lapsed, "c": approval.Lapsed} {
			r, err := store.Request(t.Context(), id)
			if err != nil || r.State != want || r.State.Open() || r.Answers[0].By != "ann" {
				t.Errorf("%s: %+v %v", id, r, err)
			}
			if _, err := b.Claim(t.Context(), id, approval.Claiming{}); !errors.Is(err, approval.ErrSettled) {
				t.Errorf("%s can be claimed: %v", id, err)
			}
		}
	})
}

// TestEachRole: where each of two roles has to agree, two people with one of them
// are not enough, and one person with both is not two.
func TestEachRole(t *testing.T) {
	said := login
	for _, tt := range []struct {
		name    string
		answers []approval.Answer
		want    []string // "yes" settles, "more" counts, "no" is not taken
	}{
		{"one each", []approval.Answer{said("ann", "dev"), said("bob", "sec")}, []string{"more", "yes"}},
		{"two of one", []approval.Answer{said("ann", "dev"), said("bob", "dev"), said("cy", "sec")}, []string{"more", "no", "yes"}},
		{"one with both", []approval.Answer{said("ann", "dev", "sec"), said("bob", "dev")}, []string{"more", "yes"}},
		{"both with both", []approval.Answer{said("ann", "sec", "dev"), said("bob", "dev", "sec")}, []string{"more", "yes"}},
		{"neither", []approval.Answer{said("ann", "ops"), said("bob", "sec"), said("cy", "dev")}, []string{"no", "more", "yes"}},
		{"the caller", []approval.Answer{said("maker", "dev"), said("ann", "dev"), said("bob", "sec")}, []string{"no", "more", "yes"}},
	} {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Call.User = "maker"
		r.Who = approval.Who{Each: []string{"dev", "sec"}, NotCaller: true}
		put(t, b, r)
		for i, a := range tt.answers {
			got := "no"
			if r, err := b.Answer(t.Context(), "r", a); err == nil {
				got = map[approval.State]string{approval.Pending: "more", approval.Approved: "yes"}[r.State]
			} else if !errors.Is(err, approval.ErrNotYou) {
				t.Error(err)
			}
			if got != tt.want[i] {
				t.Errorf("%s: answer %d by %s: %s, want %s", tt.name, i+1, a.By, got, tt.want[i])
			}
		}
	}
}

// TestTimeStartsAtApproval: a grant for an hour holds for an hour after the last
// approval, and an approval waits to be claimed from then on.
func TestTimeStartsAtApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, &approval.Options{Timeout: 24 * time.Hour, Valid: 10 * time.Minute})
		r := request("r", "s")
		r.Expires, r.Who.Needed = time.Time{}, 2
		put(t, b, r)
		for _, by := range []string{"ann", "bob"} {
			time.Sleep(5 * time.Hour)
			answer(t, b, "r", approval.Answer{By: by, Login: by, Allow: true, Scope: approval.Session, ForSeconds: 3600})
		}
		last := time.Now()
		got, err := store.Request(t.Context(), "r")
		gs, gerr := store.Grants(t.Context(), last)
		if err != nil || gerr != nil || !got.ClaimBy.Equal(last.Add(10*time.Minute)) || len(gs) != 1 || !gs[0].Expires.Equal(last.Add(time.Hour)) {
			t.Errorf("%+v %+v %v %v", got, gs, err, gerr)
		}
	})
}

// TestGroup: similar requests are answered together, with one grant that ends;
// what was answered before stays so.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, nil)
		ids := []string{"1", "2", "3", "4", "other"}
		for i, id := range ids {
			r := request(id, "s")
			r.Offers = []approval.Offer{{Text: "make *", Rule: []byte(`{}`)}}
			if r.Call.Session = "s"; i == 3 {
				r.Call.Session = "t"
			}
			if id == "other" {
				r.Offers[0].Text = "npm *"
			}
			r.Group = approval.GroupOf(r)
			put(t, b, r)
		}
		answer(t, b, "2", approval.Answer{By: "bob"})
		for name, a := range map[string]approval.Answer{
			"no end":          {Scope: approval.Session},
			"too long":        {Scope: approval.Session, ForSeconds: 7 * 24 * 3600},
			"too long by far": {Scope: approval.Session, ForSeconds: math.MaxInt},
			"for good":        {Scope: approval.Always, Offer: 1},
			"other arguments": {Input: []byte(`{}`)},
		} {
			a.By, a.Allow = "ann", true
			if _, err := b.AnswerGroup(t.Context(), ids, a); !errors.Is(err, approval.ErrBad) {
				t.Errorf("%s: %v", name, err)
			}
		}
		out, err := b.AnswerGroup(t.Context(), ids, approval.Answer{By: "ann", Allow: true, Scope: approval.Session, Offer: 1, ForSeconds: 600})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{nil, approval.ErrSettled, nil, nil, approval.ErrBad} {
			if !errors.Is(out[i].Err, want) {
				t.Errorf("%s: %v, want %v", ids[i], out[i].Err, want)
			}
		}
		if gs, _ := store.Grants(t.Context(), time.Now()); len(gs) != 2 { // of two sessions
			t.Errorf("%d grants: %+v", len(gs), gs)
		}
	})
}

// TestFeed: one feed hears of every change by other brokers once and in order, and
// wakes those who wait.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		put(t, approval.New(store, nil), request("before", "s"))
		feed := approval.NewFeed(store, 0)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		if err := feed.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		var told []string
		feed.Each(func(r *approval.Request) { told = append(told, fmt.Sprint(r.ID, r.Version, r.State)) })
		b := approval.New(store, &approval.Options{Feed: feed})
		wg.Go(func() { feed.Run(ctx) })
		one, two := asked(b, t.Context(), request("a", "s")), make(chan *approval.Request)
		synctest.Wait()
		go func() {
			r, _ := b.Wait(t.Context(), "a")
			two <- r
		}()
		synctest.Wait()
		began := time.Now()
		answer(t, approval.New(store, nil), "a", approval.Answer{By: "ann", Allow: true})
		if a, b := <-one, <-two; a.State != approval.Approved || b.State != approval.Approved || time.Since(began) > 2*time.Second {
			t.Errorf("%s %s after %s", a.State, b.State, time.Since(began))
		}
		stop()
		wg.Wait()
		if fmt.Sprint(told) != "[a0pending a1approved]" {
			t.Error(told)
		}
	})
}

// A readings counts how often a request is read by its ID.
type readings struct {
	approval.Store
	n int
}

func (r *readings) Request(ctx context.Context, id string) (*approval.Request, error) {
	r.n++
	return r.Store.Request(ctx, id)
}

// TestAnswerAsTold: a request that the feed has told of is answered and claimed without reading it again,
// and an answer to what has changed meanwhile counts for what it is now.
func TestAnswerAsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &readings{Store: new(memory.Store)}
		feed := approval.NewFeed(store, 0)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		b, other := approval.New(store, &approval.Options{Feed: feed}), approval.New(store, nil)
		if err := feed.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		go feed.Run(ctx)
		for _, id := range []string{"alone", "settled", "both"} {
			r := request(id, "s")
			if id == "both" {
				r.Who.Needed = 2
			}
			put(t, other, r)
		}
		time.Sleep(2 * time.Second) // the feed has told of all
		answer(t, b, "alone", approval.Answer{By: "ann", Allow: true})
		synctest.Wait()
		if r, err := b.Claim(t.Context(), "alone", approval.Claiming{By: "agent"}); err != nil || r.State != approval.Approved || store.n != 0 {
			t.Errorf("%+v %v, read %d times", r, err, store.n)
		}
		if _, err := b.Claim(t.Context(), "alone", approval.Claiming{By: "agent"}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("claimed twice: %v", err)
		}
		// Others change these, and the feed has not looked yet.
		answer(t, other, "settled", approval.Answer{By: "bob"})
		answer(t, other, "both", login("bob"))
		if _, err := b.Answer(t.Context(), "settled", approval.Answer{By: "ann", Allow: true}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("answered twice: %v", err)
		}
		if r := answer(t, b, "both", login("ann")); r.State != approval.Approved || len(r.Answers) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

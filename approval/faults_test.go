package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

var errDisk = errors.New("disk on fire")

// faulty is a store that counts what it is asked, and fails where fail says so.
type faulty struct {
	memory.Store
	mu   sync.Mutex
	asks []string
	fail func(n int, ask string) error // n is how often that was asked before
}

func (f *faulty) asked(ask string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, a := range f.asks {
		if a == ask {
			n++
		}
	}
	f.asks = append(f.asks, ask)
	if f.fail == nil {
		return nil
	}
	return f.fail(n, ask)
}

// count returns how often something was asked, and forgets all.
func (f *faulty) count(ask string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asks {
		if a == ask {
			n++
		}
	}
	f.asks = nil
	return n
}

func (f *faulty) PutRequest(ctx context.Context, r *approval.Request) error {
	if err := f.asked("put"); err != nil {
		return err
	}
	return f.Store.PutRequest(ctx, r)
}

func (f *faulty) Request(ctx context.Context, id string) (*approval.Request, error) {
	if err := f.asked("request"); err != nil {
		return nil, err
	}
	return f.Store.Request(ctx, id)
}

func (f *faulty) Requests(ctx context.Context, q approval.Query) ([]*approval.Request, error) {
	if err := f.asked("requests " + string(q.State)); err != nil {
		return nil, err
	}
	return f.Store.Requests(ctx, q)
}

func (f *faulty) Update(ctx context.Context, r *approval.Request, g *approval.Grant) error {
	if err := f.asked("update"); err != nil {
		return err
	}
	return f.Store.Update(ctx, r, g)
}

// TestDefaults: a request waits a minute, is looked up four times a second or, with a
// feed, each quarter of a minute, and an approval waits a quarter of an hour.
func TestDefaults(t *testing.T) {
	second := &approval.Options{Timeout: 1, Poll: 1, Valid: 1} // a nanosecond each
	for _, tt := range []struct {
		name   string
		opts   *approval.Options
		feed   bool
		looks  int
		waits  time.Duration
		claims time.Duration
	}{
		{"nil", nil, false, 239, time.Minute, 15 * time.Minute},
		{"feed", &approval.Options{Timeout: 50 * time.Second}, true, 3, 50 * time.Second, 15 * time.Minute},
		{"poll", &approval.Options{Poll: 7 * time.Second, Valid: time.Hour}, false, 8, time.Minute, time.Hour},
		{"short", second, false, 0, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(faulty)
			opts := tt.opts
			if tt.feed {
				opts.Feed = approval.NewFeed(store, 0)
			}
			b := approval.New(store, opts)
			put(t, b, request("claimed", "s"))
			if r := answer(t, b, "claimed", approval.Answer{By: "ann", Allow: true}); r.ClaimBy.Sub(time.Now()) != tt.claims {
				t.Errorf("%s: waits %s to be claimed", tt.name, r.ClaimBy.Sub(time.Now()))
			}
			store.count("")
			began := time.Now()
			r, err := b.Ask(t.Context(), request("r", "s"))
			if err != nil || r.State != approval.Expired || time.Since(began) != tt.waits {
				t.Errorf("%s: %+v %v after %s", tt.name, r, err, time.Since(began))
			}
			// One more reads it to end it.
			if n := store.count("request"); n-1 != tt.looks && n-2 != tt.looks {
				t.Errorf("%s: looked up %d times, want %d", tt.name, n-1, tt.looks)
			}
		})
	}
}

// TestIDs: a request without a name gets one of its own, and the one that shows it hears of it.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		b := approval.New(new(memory.Store), &approval.Options{Asked: func(r *approval.Request) { shown = append(shown, r.ID) }})
		for range 2 {
			put(t, b, request("", "s"))
			if r, err := b.Ask(t.Context(), request("", "s")); err != nil || r.State != approval.Expired {
				t.Errorf("%+v %v", r, err)
			}
		}
		slices.Sort(shown)
		if len(slices.Compact(shown)) != 4 {
			t.Error(shown)
		}
		for _, id := range shown {
			if !strings.HasPrefix(id, "req_") || len(id) < len("req_")+20 {
				t.Errorf("%q can be guessed", id)
			}
		}
		if open, err := b.Pending(t.Context()); err != nil || len(open) != 0 || b.Waiting() != 0 {
			t.Errorf("%v %v, keeps %d requests that have ended", open, err, b.Waiting())
		}
	})
}

// TestNothingIsKept: a broker forgets a request however it ended, and while others wait
// for one that request stays theirs.
func TestNothingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{there: map[string]bool{}}
		b := approval.New(store, &approval.Options{Attends: true, Settled: func(*approval.Request) {}})
		lost := func(context.Context, *approval.Request) error { return errDisk }
		if err := b.PutBy(t.Context(), request("lost", "s"), lost); !errors.Is(err, errDisk) || b.Waiting() != 0 {
			t.Errorf("%v, %d kept", err, b.Waiting())
		}
		put(t, b, request("r", "s"))
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := b.Until(ctx, "r")
			first <- err
		}()
		_, end := b.Follow(t.Context(), "r")
		synctest.Wait()
		leave() // the one that leaves does not take the other along, nor the request
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		answer(t, b, "r", approval.Answer{By: "ann", Allow: true})
		if r := end(); r == nil || r.State != approval.Approved {
			t.Errorf("%+v", r)
		}
		synctest.Wait()
		if b.Waiting() != 0 || len(store.there) != 0 {
			t.Errorf("%d kept, %v attended", b.Waiting(), store.there)
		}
	})
}

// TestUntil: it returns how the request ended, tells it, and leaves it to another to wait
// for it; a request that has ended by then is told as well.
func TestUntil(t *testing.T) {
	for _, when := range []string{"before", "after", "elsewhere", "never"} {
		synctest.Test(t, func(t *testing.T) {
			store := &watched{there: map[string]bool{}}
			var told []string
			b := approval.New(store, &approval.Options{Attends: true, Settled: func(r *approval.Request) { told = append(told, string(r.State)) }})
			other := approval.New(store, nil)
			put(t, b, request("r", "s"))
			if when == "before" {
				answer(t, other, "r", approval.Answer{By: "ann"})
			}
			out := make(chan *approval.Request, 1)
			go func() {
				r, err := b.Until(t.Context(), "r")
				if err != nil {
					t.Error(err)
				}
				out <- r
			}()
			synctest.Wait()
			want := approval.Refused
			switch when {
			case "after":
				answer(t, b, "r", approval.Answer{By: "ann"})
			case "elsewhere":
				answer(t, other, "r", approval.Answer{By: "ann"})
			case "never":
				want = approval.Expired
			}
			if r := <-out; r.State != want {
				t.Errorf("%s: %s", when, r.State)
			}
			if diff := cmp.Diff([]string{string(want)}, told); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
			if len(store.there) != 0 || b.Waiting() != 0 {
				t.Errorf("%s: %v attended, %d kept", when, store.there, b.Waiting())
			}
		})
	}
	if r, err := approval.New(new(memory.Store), nil).Until(t.Context(), "none"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("%+v %v", r, err)
	}
}

// TestLooksFail: five failures in a row end an ask and four do not; a look that
// succeeds starts the count anew.
func TestLooksFail(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails func(n int) bool
		want  bool // that it is answered by time
	}{
		{"four, then good", func(n int) bool { return n < 4 }, true},
		{"five", func(n int) bool { return n < 5 }, false},
		{"four of five", func(n int) bool { return n < 100 && n%5 != 4 }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{fail: func(n int, ask string) error {
				if ask == "request" && tt.fails(n) {
					return errDisk
				}
				return nil
			}}
			began := time.Now()
			r, err := approval.New(store, nil).Ask(t.Context(), request("r", "s"))
			switch {
			case tt.want && (err != nil || r.State != approval.Expired):
				t.Errorf("%s: %+v %v", tt.name, r, err)
			case !tt.want && (!errors.Is(err, errDisk) || r != nil || time.Since(began) != 5*250*time.Millisecond):
				t.Errorf("%s: %+v %v after %s", tt.name, r, err, time.Since(began))
			}
		})
	}
}

// TestAskEndsAsItWasAnswered: an answer that comes while the asker leaves counts.
func TestAskEndsAsItWasAnswered(t *testing.T) {
	store := new(memory.Store)
	var told []approval.State
	b := approval.New(store, &approval.Options{Settled: func(r *approval.Request) { told = append(told, r.State) }})
	put(t, b, request("r", "s"))
	answer(t, approval.New(store, nil), "r", approval.Answer{By: "ann", Allow: true})
	if r, err := b.Withdraw("r"); err != nil || r.State != approval.Approved {
		t.Errorf("%+v %v", r, err)
	}
	if diff := cmp.Diff([]approval.State{approval.Approved}, told); diff != "" {
		t.Error(diff)
	}
	put(t, b, request("q", "s"))
	if r, err := b.Withdraw("q"); err != nil || r.State != approval.Canceled || len(told) != 2 {
		t.Errorf("%+v %v %v", r, err, told)
	}
	if r, err := b.Withdraw("none"); !errors.Is(err, approval.ErrNotFound) || len(told) != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestFaultsAreTold: wherever the store fails, the caller hears of it, and of no request.
func TestFaultsAreTold(t *testing.T) {
	late := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name, ask string
		do        func(b *approval.Broker) (any, error)
	}{
		{"ask", "put", func(b *approval.Broker) (any, error) {
			r, err := b.Ask(t.Context(), request("new", "s"))
			return r != nil, err
		}},
		{"pending", "requests pending", func(b *approval.Broker) (any, error) { r, err := b.Pending(t.Context()); return r != nil, err }},
		{"pending ends", "update", func(b *approval.Broker) (any, error) { r, err := b.Pending(t.Context()); return r != nil, err }},
		{"answer", "request", func(b *approval.Broker) (any, error) {
			r, err := b.Answer(t.Context(), "r", approval.Answer{By: "ann", Allow: true})
			return r != nil, err
		}},
		{"answer", "update", func(b *approval.Broker) (any, error) {
			r, err := b.Answer(t.Context(), "r", approval.Answer{By: "ann", Allow: true})
			return r != nil, err
		}},
		{"claim", "request", func(b *approval.Broker) (any, error) {
			r, err := b.Claim(t.Context(), "approved", approval.Claiming{})
			return r != nil, err
		}},
		{"claim", "update", func(b *approval.Broker) (any, error) {
			r, err := b.Claim(t.Context(), "approved", approval.Claiming{})
			return r != nil, err
		}},
		{"sweep", "requests pending", func(b *approval.Broker) (any, error) { r, err := b.Sweep(t.Context()); return len(r) > 0, err }},
		{"sweep", "requests approved", func(b *approval.Broker) (any, error) { r, err := b.Sweep(t.Context()); return len(r) > 1, err }},
		{"sweep", "requests claimed", func(b *approval.Broker) (any, error) { r, err := b.Sweep(t.Context()); return len(r) > 1, err }},
		{"feed", "requests ", func(b *approval.Broker) (any, error) { return false, nil }},
	} {
		store := new(faulty)
		b := approval.New(store, nil)
		put(t, b, request("r", "s"))
		put(t, b, request("approved", "s"))
		answer(t, b, "approved", approval.Answer{By: "ann", Allow: true})
		over := request("over", "s")
		over.Expires = late
		put(t, b, over)
		store.fail = func(_ int, ask string) error {
			if ask == tt.ask {
				return errDisk
			}
			return nil
		}
		if tt.name == "feed" {
			if err := approval.NewFeed(store, 0).Begin(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("feed: %v", err)
			}
			continue
		}
		if some, err := tt.do(b); !errors.Is(err, errDisk) || some == true {
			t.Errorf("%s without %s: %t %v", tt.name, tt.ask, some, err)
		}
	}
}

// TestClaims: an approval is claimed for its bytes and in time, and who claims with a
// lease reports within it.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), &approval.Options{Valid: time.Minute})
		approved := func(id string) {
			put(t, b, request(id, "s"))
			answer(t, b, id, approval.Answer{By: "ann", Allow: true})
		}
		approved("r")
		if r, err := b.Claim(t.Context(), "r", approval.Claiming{By: "x", Digest: "other"}); !errors.Is(err, approval.ErrOther) || r != nil {
			t.Errorf("other bytes: %+v %v", r, err)
		}
		r, err := b.Claim(t.Context(), "r", approval.Claiming{By: "x", Key: "k", Digest: "digest", Lease: 1})
		if err != nil || r.State != approval.Approved || len(r.Call.Input) == 0 {
			t.Fatalf("%+v %v", r, err)
		}
		again := approval.Claiming{By: "x", Key: "k", Digest: "digest"}
		if r, err := b.Claim(t.Context(), "r", again); err != nil || r.State != approval.Approved {
			t.Errorf("the same again: %+v %v", r, err)
		}
		again.Digest = "other"
		if r, err := b.Claim(t.Context(), "r", again); err == nil {
			t.Errorf("again, for other bytes: %+v", r)
		}
		time.Sleep(1) // the lease
		again.Digest = ""
		if r, err := b.Claim(t.Context(), "r", again); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("again, too late: %+v %v", r, err)
		}
		if ended, err := b.Sweep(t.Context()); err != nil || len(ended) != 1 || ended[0].State != approval.Lapsed || ended[0].Call.Input != nil {
			t.Errorf("%+v %v", ended, err)
		}
		if _, err := b.Finish(t.Context(), "r", "x k", approval.Outcome{}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a report after it: %v", err)
		}
		approved("in time")
		approved("late")
		approved("done")
		time.Sleep(time.Minute - 1)
		if ended, err := b.Sweep(t.Context()); err != nil || len(ended) != 0 {
			t.Errorf("%+v %v", ended, err)
		}
		if r, err := b.Claim(t.Context(), "in time", approval.Claiming{By: "x"}); err != nil || r == nil {
			t.Errorf("%+v %v", r, err)
		}
		if _, err := b.Finish(t.Context(), "in time", "x", approval.Outcome{}); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a report without a lease: %v", err)
		}
		if _, err := b.Claim(t.Context(), "done", approval.Claiming{By: "x", Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1)
		if r, err := b.Claim(t.Context(), "late", approval.Claiming{By: "x"}); !errors.Is(err, approval.ErrSettled) || !strings.Contains(err.Error(), "lapsed") || r != nil {
			t.Errorf("%+v %v", r, err)
		}
		if r, err := b.Claim(t.Context(), "late", approval.Claiming{By: "x"}); !errors.Is(err, approval.ErrSettled) || !strings.Contains(err.Error(), "it is lapsed") {
			t.Errorf("%+v %v", r, err)
		}
		if r, err := b.Finish(t.Context(), "done", "x", approval.Outcome{OK: true}); err != nil || !r.Outcome.Time.Equal(time.Now()) || r.Call.Input != nil {
			t.Errorf("%+v %v", r, err)
		}
		if b.Waiting() != 0 {
			t.Errorf("%d kept", b.Waiting())
		}
	})
}

// TestSweepReturnsAll: what nobody answered, claimed or reported is ended, each once.
func TestSweepReturnsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), &approval.Options{Timeout: time.Minute, Valid: time.Minute})
		for _, id := range []string{"asked", "approved", "claimed"} {
			put(t, b, request(id, "s"))
		}
		answer(t, b, "approved", approval.Answer{By: "ann", Allow: true})
		answer(t, b, "claimed", approval.Answer{By: "ann", Allow: true})
		if _, err := b.Claim(t.Context(), "claimed", approval.Claiming{Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, want := range []string{"[asked expired approved lapsed claimed lapsed]", "[]"} {
			ended, err := b.Sweep(t.Context())
			var got []string
			for _, r := range ended {
				got = append(got, r.ID, string(r.State))
			}
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("%v %v, want %s", got, err, want)
			}
		}
	})
}

// TestLogged: a broker that writes answers down says so in each request that it ends.
func TestLogged(t *testing.T) {
	for _, logs := range []bool{false, true} {
		store := new(memory.Store)
		b := approval.New(store, &approval.Options{Logs: logs})
		for _, id := range []string{"approved", "refused", "taken", "withdrawn"} {
			put(t, b, request(id, id+"'s"))
		}
		put(t, b, request("along", "taken's"))
		answer(t, b, "approved", approval.Answer{By: "ann", Allow: true})
		answer(t, b, "refused", approval.Answer{By: "ann"})
		answer(t, b, "taken", approval.Answer{By: "ann", All: true})
		if _, err := b.Withdraw("withdrawn"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"approved", "refused", "taken", "withdrawn", "along"} {
			if r, err := store.Request(t.Context(), id); err != nil || r.State == approval.Pending || r.Logged != logs {
				t.Errorf("%s of a broker that logs: %t, %+v %v", id, logs, r, err)
			}
		}
	}
}

// TestFeedStartsNow: a feed that begins tells of nothing from before, of each change
// once, and looks again after a failure.
func TestFeedStartsNow(t *testing.T) {
	for _, begins := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := new(faulty)
			other := approval.New(store, nil)
			put(t, other, request("old", "s"))
			put(t, other, request("older", "s"))
			feed := approval.NewFeed(store, time.Second)
			var told []string
			feed.Each(func(r *approval.Request) { told = append(told, fmt.Sprint(r.ID, " ", r.State)) })
			if begins {
				if err := feed.Begin(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			go feed.Run(ctx)
			time.Sleep(1500 * time.Millisecond) // it looks at 1 s, 2 s, ...
			put(t, other, request("a", "s"))
			put(t, other, request("b", "s"))
			store.fail = func(_ int, ask string) error {
				if strings.HasPrefix(ask, "requests") {
					return errDisk
				}
				return nil
			}
			time.Sleep(time.Second)
			if len(told) != 0 {
				t.Errorf("told while it cannot look: %q", told)
			}
			store.fail = nil
			time.Sleep(3 * time.Second)
			answer(t, other, "a", approval.Answer{By: "ann"})
			for range 3 {
				feed.Kick()
				synctest.Wait()
			}
			time.Sleep(3 * time.Second)
			answer(t, other, "old", approval.Answer{By: "ann"})
			time.Sleep(3 * time.Second)
			if diff := cmp.Diff([]string{"a pending", "b pending", "a refused", "old refused"}, told); diff != "" {
				t.Errorf("begins %t: %s", begins, diff)
			}
			if last, err := store.Requests(t.Context(), approval.Query{After: 1, Limit: 1}); err != nil || feed.Cursor() != last[0].Changed {
				t.Errorf("cursor %d, the last change was %d, %v", feed.Cursor(), last[0].Changed, err)
			}
			stop()
			synctest.Wait()
		})
	}
}

// TestFeedKeepsWhatIsOpen: the feed keeps what can be answered or claimed, up to a size
// and a number.
func TestFeedKeepsWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		feed := approval.NewFeed(store, time.Second)
		if err := feed.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go feed.Run(ctx)
		b := approval.New(store, &approval.Options{Feed: feed, Timeout: time.Hour})
		look := func(want int, after string) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if feed.Kept() != want {
				t.Errorf("%d kept after %s, want %d", feed.Kept(), after, want)
			}
		}
		for i, size := range []int{16<<10 - 1, 16 << 10, 16<<10 + 1} {
			r := request(fmt.Sprint(i), "s")
			r.Call.Input = []byte(strings.Repeat("1", size))
			put(t, b, r)
		}
		look(2, "one that is too long")
		answer(t, b, "0", approval.Answer{By: "ann", Allow: true})
		look(2, "an approval")
		answer(t, b, "1", approval.Answer{By: "ann"})
		look(1, "a refusal")
		if _, err := b.Claim(t.Context(), "0", approval.Claiming{Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		look(0, "a claim")
		for i := range 1024 {
			put(t, b, request(fmt.Sprint("many", i), "s"))
		}
		look(1024, "as many as are kept")
		put(t, b, request("one more", "s"))
		look(1024, "one more")
		stop()
		synctest.Wait()
	})
}

// TestGroupGrants: one grant for each session, a day long at most, and a request that was
// not taken leaves the grant to the next.
func TestGroupGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := int((24 * time.Hour).Seconds())
		for _, tt := range []struct {
			name   string
			a      approval.Answer
			want   string
			grants int
		}{
			{"a day", approval.Answer{Scope: approval.Session, ForSeconds: day}, "", 2},
			{"a second more", approval.Answer{Scope: approval.Session, ForSeconds: day + 1}, "at most", 0},
			{"until tomorrow", approval.Answer{Scope: approval.Session, Until: time.Now().Add(24 * time.Hour)}, "", 2},
			{"until later", approval.Answer{Scope: approval.Session, Until: time.Now().Add(24*time.Hour + 1)}, "at most", 0},
			{"a second", approval.Answer{Scope: approval.Session, ForSeconds: 1}, "", 2},
			{"no end", approval.Answer{Scope: approval.Session}, "needs an end", 0},
			{"once", approval.Answer{Scope: approval.Once}, "", 0},
		} {
			store := new(memory.Store)
			b := approval.New(store, nil)
			ids := []string{"answered", "1", "2", "3"}
			for i, id := range ids {
				r := request(id, fmt.Sprint("session ", i/3))
				r.Group = "g"
				put(t, b, r)
			}
			answer(t, b, "answered", approval.Answer{By: "bob"})
			tt.a.By, tt.a.Allow = "ann", true
			out, err := b.AnswerGroup(t.Context(), ids, tt.a)
			grants, _ := store.Grants(t.Context(), time.Now())
			if len(grants) != tt.grants {
				t.Errorf("%s: %d grants", tt.name, len(grants))
			}
			if tt.want != "" {
				if !errors.Is(err, approval.ErrBad) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v", tt.name, err)
				}
				continue
			}
			if err != nil || !errors.Is(out[0].Err, approval.ErrSettled) || out[1].Err != nil || out[2].Err != nil || out[3].Err != nil {
				t.Errorf("%s: %+v %v", tt.name, out, err)
			}
		}
	})
}

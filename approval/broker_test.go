package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
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
			"no role": login("bob"), "the caller": login("ann", lead...), "nobody": {Roles: lead, Allow: true},
		} {
			if err := say(a); !errors.Is(err, approval.ErrNotYou) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := say(login("bob", lead...)); err != nil {
			t.Fatal(err)
		}
		if err := say(login("bob", lead...)); !errors.Is(err, approval.ErrNotYou) {
			t.Errorf("twice the same: %v", err)
		}
		select {
		case r := <-end:
			t.Fatalf("one of two was enough: %s", r.State)
		default:
		}
		if err := say(login("eve", lead...)); err != nil {
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

// TestRefusalLeavesOthers: a refusal for all takes along no request of another agent's
// session by the same name, none without a session, and none that the person may not answer.
func TestRefusalLeavesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), &approval.Options{Apart: true})
		var ends []<-chan *approval.Request
		for i, change := range []func(*approval.Request){
			func(r *approval.Request) {},
			func(r *approval.Request) { r.Call.Agent = "another" },
			func(r *approval.Request) { r.Who.Roles = []string{"lead"} },
			func(r *approval.Request) { r.Call.Session = "" },
			func(r *approval.Request) { r.Call.Session = "" },
			func(r *approval.Request) {},
		} {
			r := request(fmt.Sprint(i), "s")
			change(r)
			ends = append(ends, asked(b, t.Context(), r))
		}
		for _, id := range []string{"0", "3"} {
			out := b.AnswerWith(t.Context(), id, approval.Answer{By: "bob", All: true})
			if want := map[string]int{"0": 1}[id]; out.Err != nil || len(out.Others) != want {
				t.Errorf("%s: %v, and %d others", id, out.Err, len(out.Others))
			}
		}
		for i, want := range []approval.State{approval.Refused, approval.Expired, approval.Expired, approval.Refused, approval.Expired, approval.Refused} {
			if r := <-ends[i]; r.State != want {
				t.Errorf("request %d is %s, not %s", i, r.State, want)
			}
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

// TestAgreement: where several must agree, no more is granted than all said.
func TestAgreement(t *testing.T) {
	for _, tt := range []struct {
		first, second approval.Answer
		grants        int
	}{
		{approval.Answer{By: "a", Allow: true, Scope: approval.Session}, approval.Answer{By: "b", Allow: true, Scope: approval.Session}, 1},
		{approval.Answer{By: "a", Allow: true, Scope: approval.Once}, approval.Answer{By: "b", Allow: true, Scope: approval.Session}, 0},
		{approval.Answer{By: "a", Allow: true, Scope: approval.Session}, approval.Answer{By: "b", Allow: true, Scope: approval.User}, 0},
		{approval.Answer{By: "a", Allow: true, Scope: approval.Session}, approval.Answer{By: "b", Allow: true, Scope: approval.Session, Offer: 1}, 0},
		{approval.Answer{By: "a", Allow: true, Scope: approval.Session, Offer: 1}, approval.Answer{By: "b", Allow: true, Scope: approval.Session, Offer: 1, More: []int{2}}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(memory.Store)
			b := approval.New(store, nil)
			r := request("r", "s")
			r.Who.Needed, r.Offers = 2, append(r.Offers, r.Offers[0])
			end := asked(b, t.Context(), r)
			for _, a := range []approval.Answer{tt.first, tt.second} {
				a.Login = "link " + a.By
				if _, err := b.Answer(t.Context(), "r", a); err != nil {
					t.Fatal(err)
				}
			}
			<-end
			if gs, _ := store.Grants(t.Context(), time.Now()); len(gs) != tt.grants {
				t.Errorf("%+v and %+v: %d grants", tt.first, tt.second, len(gs))
			}
		})
	}
}

// TestRaceOfSeveral: of twelve people who answer at once, three are enough and
// no voice is lost.
func TestRaceOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := approval.New(new(memory.Store), nil)
		r := request("r", "s")
		r.Who.Needed = 3
		end := asked(b, t.Context(), r)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				if _, err := b.Answer(t.Context(), "r", login(fmt.Sprint(i))); err != nil && !errors.Is(err, approval.ErrSettled) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if r := <-end; r.State != approval.Approved || len(r.Answers) != 3 {
			t.Errorf("%s after %d answers", r.State, len(r.Answers))
		}
	})
}

func TestSenselessAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, nil)
		end := asked(b, t.Context(), request("r", "s"))
		for name, a := range map[string]approval.Answer{
			"no such scope":     {Scope: "forever"},
			"no such offer":     {Scope: approval.Always, Offer: 2},
			"negative offer":    {Scope: approval.Session, Offer: -1},
			"always what":       {Scope: approval.Always},
			"once with a rule":  {Offer: 1},
			"once with a time":  {Until: time.Now().Add(time.Hour)},
			"always until":      {Scope: approval.Always, Offer: 1, Until: time.Now().Add(time.Hour)},
			"edited and a rule": {Scope: approval.Session, Offer: 1, Input: json.RawMessage(`{}`)},
			"over before":       {Scope: approval.Session, Until: time.Now().Add(-time.Hour)},
			"longer than time":  {Scope: approval.Session, ForSeconds: math.MaxInt},
			"not JSON":          {Input: json.RawMessage(`{`)},
		} {
			a.By, a.Allow = "bob", true
			if _, err := b.Answer(t.Context(), "r", a); !errors.Is(err, approval.ErrBad) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := <-end; r.State != approval.Expired || len(r.Answers) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestEditedGrant: a grant that comes with edited arguments is for those.
func TestEditedGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		b := approval.New(store, nil)
		end := asked(b, t.Context(), request("r", "s"))
		if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true, Scope: approval.Session, Input: json.RawMessage(`{"command":"make test"}`)}); err != nil {
			t.Fatal(err)
		}
		<-end
		gs, _ := store.Grants(t.Context(), time.Now())
		if len(gs) != 1 || gs[0].Digest == "digest" || gs[0].Digest == "" {
			t.Errorf("%+v", gs)
		}
	})
}

// TestOrphans: requests whose asker is gone can be answered while there is time,
// and end when there is none.
func TestOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		for i, left := range []time.Duration{time.Minute, time.Hour} {
			r := request(fmt.Sprint(i), "s")
			r.Expires = time.Now().Add(left)
			if err := store.PutRequest(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		b := approval.New(store, nil)
		if rs, err := b.Pending(t.Context()); err != nil || len(rs) != 1 || rs[0].ID != "1" {
			t.Errorf("%v %v", rs, err)
		}
		if r, _ := store.Request(t.Context(), "0"); r.State != approval.Expired {
			t.Errorf("%s", r.State)
		}
	})
}

// flaky fails to look requests up as often as it is told.
type flaky struct {
	*memory.Store
	fail int
}

func (f *flaky) Request(ctx context.Context, id string) (*approval.Request, error) {
	if f.fail--; f.fail >= 0 {
		return nil, errors.New("disk on fire")
	}
	return f.Store.Request(ctx, id)
}

// TestStoreFails: a store that fails now and then does not end an ask, one that
// keeps failing does.
func TestStoreFails(t *testing.T) {
	for fail, want := range map[int]bool{3: true, 1000: false} {
		synctest.Test(t, func(t *testing.T) {
			store := &flaky{Store: new(memory.Store), fail: fail}
			_, err := approval.New(store, nil).Ask(t.Context(), request("r", "s"))
			if (err == nil) != want {
				t.Errorf("%d failures: %v", fail, err)
			}
		})
	}
}

func TestRoster(t *testing.T) {
	roster := approval.Roster{
		{Tool: "Bash", Who: approval.Who{Roles: []string{"dev", "lead"}}},
		{Rule: "*git push*", Who: approval.Who{Roles: []string{"lead", "release"}, Needed: 2}},
		{Safety: true, Who: approval.Who{NotCaller: true}},
		{Tool: "Odd", Who: approval.Who{Roles: []string{"a"}}},
		{Tool: "O?d", Who: approval.Who{Roles: []string{"b"}}},
	}
	push := &obstat.Rule{Source: "Bash(git push /srv/*)"}
	for _, tt := range []struct {
		tool string
		d    obstat.Decision
		want string
	}{
		{"Read", obstat.Decision{}, "{[] [] false 0 []}"},
		{"Bash", obstat.Decision{}, "{[dev lead] [] false 0 []}"},
		{"Bash", obstat.Decision{Rule: push, Safety: true}, "{[lead] [] true 2 []}"},
		{"Odd", obstat.Decision{}, "{[" + approval.Nobody + "] [] false 0 []}"},
	} {
		if got := fmt.Sprint(roster.For(&obstat.Call{Tool: tt.tool}, &tt.d)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.tool, tt.d.Rule, got, tt.want)
		}
	}
}

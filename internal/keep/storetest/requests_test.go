package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

func request(id string) *approval.Request {
	return &approval.Request{ID: id, Call: obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Session: "s"}, Digest: "d", Reason: "because",
		Created: start, Expires: start.Add(time.Minute)}
}

// settle ends a pending request as a broker does.
func settle(s Store, id string, to approval.State, answers []approval.Answer, grant *approval.Grant) error {
	_, err := approval.Change(ctx(), s, id, func(r *approval.Request) (*approval.Request, *approval.Grant, error) {
		if r.State != approval.Pending {
			return nil, nil, approval.ErrSettled
		}
		if r.State, r.Answers = to, answers; to != approval.Approved {
			r = r.Spent()
		}
		return r, grant, nil
	})
	return err
}

// use claims an approval for a caller that reports nothing.
func use(s Store, id string) (*approval.Request, error) {
	return approval.New(s, nil).Claim(ctx(), id, approval.Claiming{By: "me"})
}

func testRequests(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("a")))
	must(t, s.PutRequest(ctx(), request("b")))
	must(t, settle(s, "a", approval.Refused, []approval.Answer{{By: "me", Words: "no"}}, nil))
	if err := settle(s, "a", approval.Approved, nil, nil); !errors.Is(err, approval.ErrSettled) {
		t.Errorf("answered twice: %v", err)
	}
	if err := settle(s, "zz", approval.Approved, nil, nil); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	pending, err := s.Requests(ctx(), approval.Query{State: approval.Pending})
	must(t, err)
	if len(pending) != 1 || pending[0].ID != "b" || pending[0].State != approval.Pending {
		t.Errorf("%+v", pending)
	}
	r, err := s.Request(ctx(), "a")
	must(t, err)
	if r.State != approval.Refused || len(r.Answers) != 1 || r.Answers[0].Words != "no" || r.Call.Tool != "Bash" || r.Digest != "d" {
		t.Errorf("%+v", r)
	}
	if b := pending[0]; string(b.Call.Input) != `{"command":"make"}` || b.Reason != "because" {
		t.Errorf("%+v", b)
	}
}

// testSpent: a call's input is kept while its request is pending or approved, and
// no longer.
func testSpent(t *testing.T, s Store) {
	for _, to := range []approval.State{approval.Refused, approval.Expired, approval.Canceled, approval.Approved} {
		id := string(to)
		r := request(id)
		r.Offers = []approval.Offer{{Text: "make"}}
		r.Effects, r.Part, r.About = []approval.Effect{{Kind: "run", Target: "make"}}, "make", "m"
		must(t, s.PutRequest(ctx(), r))
		must(t, settle(s, id, to, []approval.Answer{{By: "me", Allow: to == approval.Approved, Input: json.RawMessage(`{"command":"make"}`)}}, nil))
		got, err := s.Request(ctx(), id)
		must(t, err)
		if to == approval.Approved {
			if !says(t, got) {
				t.Errorf("approved, and what the call said is gone: %+v", got)
			}
			got, err = use(s, id)
			must(t, err)
			if !says(t, got) || got.State != approval.Approved || len(got.Answers) != 1 || got.Answers[0].Input == nil {
				t.Errorf("used: %+v", got)
			}
			got, err = s.Request(ctx(), id)
			must(t, err)
			to = approval.Done
		}
		if says(t, got) || got.State != to || got.About != "m" || got.Answers[0].By != "me" {
			t.Errorf("%s: %+v", to, got)
		}
		if _, err := use(s, id); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("%s can be used: %v", to, err)
		}
	}
	must(t, s.PutRequest(ctx(), request("open")))
	if _, err := use(s, "open"); !errors.Is(err, approval.ErrSettled) {
		t.Errorf("a pending request can be used: %v", err)
	}
	if _, err := use(s, "nobody's"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// says tells whether anything that the call said is in a request.
func says(t *testing.T, r *approval.Request) bool {
	text, err := json.Marshal(r)
	must(t, err)
	return strings.Contains(string(text), "make")
}

// testUseRace: an approval is for one run, of all processes that try.
func testUseRace(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	must(t, settle(s, "r", approval.Approved, []approval.Answer{{By: "me", Allow: true}}, nil))
	won := race64(t, func(int) error {
		_, err := use(s, "r")
		return err
	})
	if won != 1 {
		t.Errorf("%d used it", won)
	}
}

// testExpiry: grants and requests end at their time, and not before; a request
// that was not answered in time cannot be answered later.
func testExpiry(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	must(t, settle(s, "r", approval.Approved, nil, &approval.Grant{ID: "g", Scope: approval.User, Key: "u", Tool: "Bash", Digest: "d", Created: start, Expires: start.Add(time.Hour)}))
	for d, want := range map[time.Duration]int{0: 1, time.Hour - 1: 1, time.Hour: 0, 2 * time.Hour: 0} {
		gs, err := s.Grants(ctx(), start.Add(d))
		must(t, err)
		if len(gs) != want {
			t.Errorf("after %s: %d grants", d, len(gs))
		}
	}
	if err := s.Revoke(ctx(), "g", start.Add(time.Hour)); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("a grant that ended was taken back: %v", err)
	}
	late := request("late") // it ended long ago: the process that asked is gone
	must(t, s.PutRequest(ctx(), late))
	open := request("open")
	open.Expires = time.Now().Add(time.Hour)
	must(t, s.PutRequest(ctx(), open))
	b := approval.New(s, nil)
	if _, err := b.Answer(ctx(), "late", approval.Answer{By: "me", Allow: true}); !errors.Is(err, approval.ErrSettled) {
		t.Errorf("answered after its end: %v", err)
	}
	pending, err := b.Pending(ctx())
	must(t, err)
	r, err := s.Request(ctx(), "late")
	must(t, err)
	if len(pending) != 1 || pending[0].ID != "open" || r.State != approval.Expired {
		t.Errorf("%d pending, the late one is %s", len(pending), r.State)
	}
}

// race64 lets 64 goroutines do the same at once and returns how many could; the
// others must have been too late.
func race64(t *testing.T, do func(i int) error) (won int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	begin := make(chan struct{})
	for i := range 64 {
		wg.Go(func() {
			<-begin
			err := do(i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, approval.ErrSettled) {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	return won
}

func testAnswerRace(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	won := race64(t, func(i int) error {
		return settle(s, "r", approval.Approved, nil, &approval.Grant{ID: fmt.Sprint("g", i), Scope: approval.Session, Created: start})
	})
	if gs, err := s.Grants(ctx(), start); err != nil || len(gs) != 1 || won != 1 {
		t.Errorf("%d won, %d grants, %v", won, len(gs), err)
	}
}

// testBrokerRace: the same through brokers, as 64 people at their own terminals:
// some say yes for good, some no, and one of them counts.
func testBrokerRace(t *testing.T, s Store) {
	r := request("r")
	r.Created, r.Expires = time.Now(), time.Now().Add(time.Hour)
	must(t, s.PutRequest(ctx(), r))
	won := race64(t, func(i int) error {
		_, err := approval.New(s, nil).Answer(ctx(), "r", approval.Answer{By: fmt.Sprint("p", i), Allow: i%2 == 0, Scope: approval.Session})
		return err
	})
	got, err := s.Request(ctx(), "r")
	must(t, err)
	gs, err := s.Grants(ctx(), time.Now())
	must(t, err)
	if wantGrants := map[approval.State]int{approval.Approved: 1}[got.State]; won != 1 || len(got.Answers) != 1 || len(gs) != wantGrants {
		t.Errorf("%d won, %d answers, %s, %d grants", won, len(got.Answers), got.State, len(gs))
	}
}

func testGrants(t *testing.T, s Store) {
	for i, expires := range []time.Time{{}, start.Add(time.Hour), start.Add(-time.Hour)} {
		id := fmt.Sprint("r", i)
		must(t, s.PutRequest(ctx(), request(id)))
		must(t, settle(s, id, approval.Approved, nil, &approval.Grant{ID: fmt.Sprint("g", i), Scope: approval.User, Key: "u", Tool: "Bash", Digest: "d", Created: start, Expires: expires}))
	}
	gs, err := s.Grants(ctx(), start)
	must(t, err)
	if len(gs) != 2 {
		t.Fatalf("%d grants in force, want 2", len(gs))
	}
	must(t, s.Revoke(ctx(), "g0", start))
	if err := s.Revoke(ctx(), "g0", start); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	if gs, _ := s.Grants(ctx(), start.Add(2*time.Hour)); len(gs) != 0 {
		t.Errorf("%d grants after all ended", len(gs))
	}
}

// testRequestOrder: requests are shown in the order in which they came, whatever
// their names and times are.
func testRequestOrder(t *testing.T, s Store) {
	want := []string{"b", "c", "a", "B"}
	for i, id := range want {
		r := request(id)
		r.Created = start.Add(-time.Duration(i) * time.Hour)
		must(t, s.PutRequest(ctx(), r))
	}
	if err := s.PutRequest(ctx(), request("c")); err == nil {
		t.Error("a second request with the same name")
	}
	must(t, settle(s, "c", approval.Refused, nil, nil))
	rs, err := s.Requests(ctx(), approval.Query{})
	must(t, err)
	var got []string
	for _, r := range rs {
		got = append(got, r.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// testLarge: a request may be as large as the most that a human is shown.
func testLarge(t *testing.T, s Store) {
	r := request("r")
	r.Call.Input, _ = json.Marshal(map[string]string{"content": strings.Repeat("x", 1<<20)})
	must(t, s.PutRequest(ctx(), r))
	got, err := s.Request(ctx(), "r")
	must(t, err)
	if string(got.Call.Input) != string(r.Call.Input) {
		t.Errorf("%d bytes came back of %d", len(got.Call.Input), len(r.Call.Input))
	}
	must(t, s.Append(ctx(), &ledger.Record{Kind: ledger.Decision, Input: r.Call.Input}))
	verify(t, s)
}

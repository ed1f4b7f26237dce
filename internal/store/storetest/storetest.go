// Package storetest is the contract that every store keeps, as tests: one suite,
// run against each engine.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// A Store is everything a guard keeps.
type Store interface {
	ledger.Store
	ledger.Trimmer
	approval.Store
}

// Run runs the suite. open returns a new, empty store; reopen, if not nil,
// returns the same one as another process would see it.
func Run(t *testing.T, open func(t *testing.T) Store, reopen func(t *testing.T, s Store) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"chain": testChain, "query": testQuery, "appends race": testAppendRace, "trim": testTrim, "trim after a jump": testTrimJump, "too large": testTooLarge,
		"requests": testRequests, "answers race": testAnswerRace, "grants": testGrants, "case matters": testCase, "order": testOrder,
		"spool": testSpool, "strange text": testStrange, "spent": testSpent, "uses race": testUseRace, "brokers race": testBrokerRace, "expiry": testExpiry,
		"large": testLarge, "requests in order": testRequestOrder,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	if reopen == nil {
		return
	}
	t.Run("restart", func(t *testing.T) {
		s := open(t)
		fill(t, s, 3)
		must(t, s.PutRequest(ctx(), request("r1")))
		s = reopen(t, s)
		if n := verify(t, s).Records; n != 3 {
			t.Errorf("%d records after a restart, want 3", n)
		}
		if rs, err := s.Requests(ctx(), approval.Pending); err != nil || len(rs) != 1 || rs[0].ID != "r1" {
			t.Errorf("requests after a restart: %v %v", rs, err)
		}
		fill(t, s, 2)
		if n := verify(t, s).Records; n != 5 {
			t.Errorf("%d records, want 5", n)
		}
		must(t, s.Settle(ctx(), "r1", approval.Approved, []approval.Answer{{By: "bob", Allow: true}}, &approval.Grant{ID: "g", Scope: approval.Session, Key: "s", Tool: "Bash", Digest: "d", Created: start}))
		s = reopen(t, s)
		r, err := s.Request(ctx(), "r1")
		must(t, err)
		gs, err := s.Grants(ctx(), start)
		must(t, err)
		if r.State != approval.Approved || len(r.Answers) != 1 || len(gs) != 1 || gs[0].Digest != "d" {
			t.Errorf("an answer after a restart: %+v %+v", r, gs)
		}
		must(t, s.Revoke(ctx(), "g", start))
		s = reopen(t, s)
		if gs, err := s.Grants(ctx(), start); err != nil || len(gs) != 0 {
			t.Errorf("a revocation after a restart: %+v %v", gs, err)
		}
	})
}

func ctx() context.Context { return context.Background() }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func record(i int) *ledger.Record {
	return &ledger.Record{Time: start.Add(time.Duration(i) * time.Second), Kind: ledger.Decision, Session: fmt.Sprint("s", i%3), Agent: "a",
		Tool: "Bash", Input: json.RawMessage(`{"command":"ls <&>"}`), Verdict: obstat.Verdict(i % 3).String(), Rule: "r", Policy: "p"}
}

func fill(t *testing.T, s ledger.Store, n int) {
	t.Helper()
	for i := range n {
		must(t, s.Append(ctx(), record(i)))
	}
}

func verify(t *testing.T, s ledger.Store) ledger.Verified {
	t.Helper()
	v, err := ledger.VerifyStore(ctx(), s, ledger.Hash{})
	must(t, err)
	head, err := s.Head(ctx())
	must(t, err)
	if head != v.Head {
		t.Fatalf("head is %v, the chain ends with %v", head, v.Head)
	}
	return v
}

func testChain(t *testing.T, s Store) {
	if h, err := s.Head(ctx()); err != nil || h != (ledger.Head{}) {
		t.Fatalf("empty store has head %v %v", h, err)
	}
	fill(t, s, 4)
	must(t, s.Append(ctx(), record(5), record(6)))
	if v := verify(t, s); v.Records != 6 || v.Head.Seq != 6 || v.First != 1 {
		t.Errorf("%+v", v)
	}
}

func testQuery(t *testing.T, s Store) {
	fill(t, s, 12)
	count := func(q ledger.Query) (n int) {
		t.Helper()
		last := uint64(0)
		for r, err := range s.Records(ctx(), q) {
			must(t, err)
			if r.Seq <= last || !q.Matches(r) {
				t.Fatalf("%+v yields %+v after %d", q, r, last)
			}
			last = r.Seq
			n++
		}
		return n
	}
	for _, tt := range []struct {
		q    ledger.Query
		want int
	}{
		{ledger.Query{}, 12}, {ledger.Query{Session: "s1"}, 4}, {ledger.Query{Session: "nobody"}, 0}, {ledger.Query{Verdict: "ask"}, 4},
		{ledger.Query{After: 10}, 2}, {ledger.Query{Limit: 5}, 5}, {ledger.Query{Since: start.Add(6 * time.Second)}, 6},
		{ledger.Query{Until: start.Add(6 * time.Second)}, 6}, {ledger.Query{Kind: ledger.Answer}, 0}, {ledger.Query{Tool: "Bash", Agent: "a", Rule: "r"}, 12},
		{ledger.Query{Session: "s1", Limit: 2}, 2},
	} {
		if n := count(tt.q); n != tt.want {
			t.Errorf("%+v: %d records, want %d", tt.q, n, tt.want)
		}
	}
}

func testAppendRace(t *testing.T, s Store) {
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 8 {
				if err := s.Append(ctx(), record(i*8+j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if v := verify(t, s); v.Records != 256 {
		t.Errorf("%d records, want 256", v.Records)
	}
}

func testTrim(t *testing.T, s Store) {
	fill(t, s, 10)
	n, err := s.Trim(ctx(), start.Add(4*time.Second))
	must(t, err)
	if v := verify(t, s); n != 4 || v.Records != 7 || v.First != 5 {
		t.Errorf("%d trimmed, %+v", n, v)
	}
	fill(t, s, 1)
	verify(t, s)
	if n, err := s.Trim(ctx(), start); err != nil || n != 0 {
		t.Errorf("trimmed %d %v", n, err)
	}
}

// testTrimJump: where a clock jumped back, retention takes the beginning of the
// chain and no holes into it.
func testTrimJump(t *testing.T, s Store) {
	for _, i := range []int{5, 1, 9, 0, 10} {
		must(t, s.Append(ctx(), record(i)))
	}
	n, err := s.Trim(ctx(), start.Add(6*time.Second))
	must(t, err)
	if v := verify(t, s); n != 2 || v.Records != 4 || v.First != 3 {
		t.Errorf("%d trimmed, %+v", n, v)
	}
}

func testTooLarge(t *testing.T, s Store) {
	fill(t, s, 1)
	r := record(1)
	r.Reason = string(make([]byte, 10<<20))
	if err := s.Append(ctx(), r); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("10 MB: %v", err)
	}
	if v := verify(t, s); v.Records != 1 {
		t.Errorf("%d records", v.Records)
	}
}

func request(id string) *approval.Request {
	return &approval.Request{ID: id, Call: obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Session: "s"}, Digest: "d", Reason: "because",
		Created: start, Expires: start.Add(time.Minute)}
}

func testRequests(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("a")))
	must(t, s.PutRequest(ctx(), request("b")))
	must(t, s.Settle(ctx(), "a", approval.Refused, []approval.Answer{{By: "me", Words: "no"}}, nil))
	if err := s.Settle(ctx(), "a", approval.Approved, nil, nil); !errors.Is(err, approval.ErrSettled) {
		t.Errorf("answered twice: %v", err)
	}
	if err := s.Settle(ctx(), "zz", approval.Approved, nil, nil); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	pending, err := s.Requests(ctx(), approval.Pending)
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

// testSpent: what a call said is kept as long as somebody needs it, and no
// longer.
func testSpent(t *testing.T, s Store) {
	for _, to := range []approval.State{approval.Refused, approval.Expired, approval.Canceled, approval.Approved} {
		id := string(to)
		r := request(id)
		r.Offers = []approval.Offer{{Text: "make"}}
		r.Effects, r.Part, r.About = []approval.Effect{{Kind: "run", Target: "make"}}, "make", "m"
		must(t, s.PutRequest(ctx(), r))
		must(t, s.Settle(ctx(), id, to, []approval.Answer{{By: "me", Allow: to == approval.Approved, Input: json.RawMessage(`{"command":"make"}`)}}, nil))
		got, err := s.Request(ctx(), id)
		must(t, err)
		if to == approval.Approved {
			if !says(t, got) {
				t.Errorf("approved, and what the call said is gone: %+v", got)
			}
			got, err = s.Use(ctx(), id)
			must(t, err)
			if !says(t, got) || got.State != approval.Approved || len(got.Answers) != 1 || got.Answers[0].Input == nil {
				t.Errorf("used: %+v", got)
			}
			got, err = s.Request(ctx(), id)
			must(t, err)
			to = approval.Used
		}
		if says(t, got) || got.State != to || got.About != "m" || got.Answers[0].By != "me" {
			t.Errorf("%s: %+v", to, got)
		}
		if _, err := s.Use(ctx(), id); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("%s can be used: %v", to, err)
		}
	}
	must(t, s.PutRequest(ctx(), request("open")))
	if _, err := s.Use(ctx(), "open"); !errors.Is(err, approval.ErrSettled) {
		t.Errorf("a pending request can be used: %v", err)
	}
	if _, err := s.Use(ctx(), "nobody's"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// says tells whether anything that the call said is in a request.
func says(t *testing.T, r *approval.Request) bool {
	text, err := json.Marshal(r)
	must(t, err)
	return strings.Contains(string(text), "make")
}

// testUseRace: an approval is for one run, whoever decides it.
func testUseRace(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	must(t, s.Settle(ctx(), "r", approval.Approved, []approval.Answer{{By: "me", Allow: true}}, nil))
	won := race64(t, func(int) error {
		_, err := s.Use(ctx(), "r")
		return err
	})
	if won != 1 {
		t.Errorf("%d used it", won)
	}
}

// testExpiry: what has an end ends at that time, and not before; a request that
// nobody answered in time cannot be answered later, whoever asks.
func testExpiry(t *testing.T, s Store) {
	must(t, s.PutRequest(ctx(), request("r")))
	must(t, s.Settle(ctx(), "r", approval.Approved, nil, &approval.Grant{ID: "g", Scope: approval.User, Key: "u", Tool: "Bash", Digest: "d", Created: start, Expires: start.Add(time.Hour)}))
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
	late := request("late") // it ended long ago: whoever asked is gone
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
		return s.Settle(ctx(), "r", approval.Approved, nil, &approval.Grant{ID: fmt.Sprint("g", i), Scope: approval.Session, Created: start})
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
		must(t, s.Settle(ctx(), id, approval.Approved, nil, &approval.Grant{ID: fmt.Sprint("g", i), Scope: approval.User, Key: "u", Tool: "Bash", Digest: "d", Created: start, Expires: expires}))
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
	must(t, s.Settle(ctx(), "c", approval.Refused, nil, nil))
	rs, err := s.Requests(ctx(), "")
	must(t, err)
	var got []string
	for _, r := range rs {
		got = append(got, r.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// testLarge: a request may be as large as what a human is shown at most.
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

// testCase: names that differ in case are different names.
func testCase(t *testing.T, s Store) {
	a, b := record(0), record(1)
	a.Session, b.Session = "Alice", "alice"
	must(t, s.Append(ctx(), a, b))
	n := 0
	for range s.Records(ctx(), ledger.Query{Session: "alice"}) {
		n++
	}
	must(t, s.PutRequest(ctx(), request("R")))
	if err := s.Settle(ctx(), "r", approval.Approved, nil, nil); n != 1 || !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("%d records, %v", n, err)
	}
}

// testOrder: a clock that jumps back does not change the order of the chain.
func testOrder(t *testing.T, s Store) {
	for _, i := range []int{5, 1, 9, 0} {
		must(t, s.Append(ctx(), record(i)))
	}
	var seqs []uint64
	for r, err := range s.Records(ctx(), ledger.Query{}) {
		must(t, err)
		seqs = append(seqs, r.Seq)
	}
	if fmt.Sprint(seqs) != "[1 2 3 4]" {
		t.Errorf("%v", seqs)
	}
	verify(t, s)
}

// testSpool: what is taken in from a spool keeps its place there, once.
func testSpool(t *testing.T, s Store) {
	spool := &ledger.Spool{Path: filepath.Join(t.TempDir(), "x.spool")}
	fill(t, s, 2)
	for round := range 3 {
		for i := range 4 {
			must(t, spool.Append(ctx(), record(i)))
		}
		if n, err := ledger.Absorb(ctx(), spool, s); n != 4 || err != nil {
			t.Fatalf("round %d: %d taken in, %v", round, n, err)
		}
		if n, err := ledger.Absorb(ctx(), spool, s); n != 0 || err != nil {
			t.Fatalf("again: %d taken in, %v", n, err)
		}
		fill(t, s, 1)
	}
	v := verify(t, s)
	if n, err := spool.Verify(ctx(), v); v.Records != 17 || v.Spool.Seq != 12 || n != 0 || err != nil {
		t.Errorf("%+v %d %v", v, n, err)
	}
}

// testStrange: no text is too strange to be found again.
func testStrange(t *testing.T, s Store) {
	for _, text := range []string{"\xff\xfe", "a\x00b", "\u2028<&>\"\\", "naïve 日本 🙂"} {
		r := record(0)
		r.Agent, r.Session, r.Tool, r.Rule = text, text, text, text
		r.Detail = json.RawMessage(`{"a":1,"spool":{"seq":5}}`)
		must(t, s.Append(ctx(), r))
	}
	if v := verify(t, s); v.Records != 4 {
		t.Errorf("%+v", v)
	}
}

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// A Store is everything a gate keeps.
type Store interface {
	ledger.Store
	ledger.Trimmer
	approval.Store
	docs.Store
	tally.Keeper
}

// Run runs the suite. open returns a new, empty store; reopen, if not nil,
// returns the same one as another process would see it.
func Run(t *testing.T, open func(t *testing.T) Store, reopen func(t *testing.T, s Store) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"chain": testChain, "query": testQuery, "appends race": testAppendRace, "trim": testTrim, "trim after a jump": testTrimJump, "too large": testTooLarge,
		"requests": testRequests, "answers race": testAnswerRace, "grants": testGrants, "case matters": testCase, "order": testOrder,
		"strange text": testStrange, "spent": testSpent, "uses race": testUseRace, "brokers race": testBrokerRace, "expiry": testExpiry,
		"large": testLarge, "requests in order": testRequestOrder, "changes": testChanges, "versions": testVersions, "claims": testClaims, "docs": testDocs,
		"counts": testCounts, "frequent calls": testFrequent, "times of others": testTaken, "one number": testSeq,
		"long names": testLongNames,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for disks, locks and each other
			test(t, open(t))
		})
	}
	if reopen == nil {
		return
	}
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		fill(t, s, 3)
		must(t, s.PutRequest(ctx(), request("r1")))
		s = reopen(t, s)
		if n := verify(t, s).Records; n != 3 {
			t.Errorf("%d records after a restart, want 3", n)
		}
		if rs, err := s.Requests(ctx(), approval.Query{State: approval.Pending}); err != nil || len(rs) != 1 || rs[0].ID != "r1" {
			t.Errorf("requests after a restart: %v %v", rs, err)
		}
		fill(t, s, 2)
		if n := verify(t, s).Records; n != 5 {
			t.Errorf("%d records, want 5", n)
		}
		must(t, settle(s, "r1", approval.Approved, []approval.Answer{{By: "bob", Allow: true}}, &approval.Grant{ID: "g", Scope: approval.Session, Key: "s", Tool: "Bash", Digest: "d", Created: start}))
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
	v, err := s.Verify(ctx(), ledger.Hash{})
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
	if err := settle(s, "r", approval.Approved, nil, nil); n != 1 || !errors.Is(err, approval.ErrNotFound) {
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

// testStrange: no text is too strange to be found again.
func testStrange(t *testing.T, s Store) {
	for _, text := range []string{"\xff\xfe", "a\x00b", "\u2028<&>\"\\", "naïve 日本 🙂", "a\x1fb", "\x1f"} {
		r := record(0)
		r.Agent, r.Session, r.Tool, r.Rule = text, text, text, text
		r.Detail = json.RawMessage(`{"a":1,"spool":{"seq":5}}`)
		must(t, s.Append(ctx(), r))
	}
	if v := verify(t, s); v.Records != 6 {
		t.Errorf("%+v", v)
	}
}

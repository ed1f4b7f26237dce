//go:build unix

package postgres

import (
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/ledger"
)

// TestTrimOfLostChain: a process whose chain was taken over while it trimmed has written the cut to
// its next chain. The first keeps its records, without which it would not verify.
func TestTrimOfLostChain(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), pgtest.Start(t).Database(), nil)
	check(err)
	defer s.Close()
	for range 3 {
		check(s.Append(t.Context(), &ledger.Record{Time: s.Now(), Kind: ledger.Decision, Tool: "bash"}))
	}
	first, _, err := s.own(t.Context())
	check(err)
	gone, err := s.Head(t.Context())
	check(err)
	_, err = s.pool.Exec(t.Context(), "UPDATE obstat_chains SET owner = 'another'")
	check(err)
	s.mu.Lock()
	s.chain = ""
	s.mu.Unlock()
	cut, err := ledger.NewCut(ledger.Head{Seq: gone.Seq - 1, Hash: gone.Hash}, time.Now())
	check(err)
	check(s.Append(t.Context(), cut))
	if n, err := s.drop(t.Context(), first, int64(gone.Seq), cut); err != nil || n != 0 {
		t.Errorf("%d records were deleted: %v", n, err)
	}
	if v, err := s.Verify(t.Context(), ledger.Hash{}); err != nil || v.Records != 4 {
		t.Errorf("%+v %v", v, err)
	}
}

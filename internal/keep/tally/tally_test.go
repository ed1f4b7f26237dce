package tally

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/ledger"
)

// TestNames: names of an hour are bounded in number and length, and two long ones stay two.
func TestNames(t *testing.T) {
	var c Counts
	now := time.Now()
	for i := range 3000 {
		c.Add(&ledger.Record{Kind: ledger.Decision, Verdict: "allow", Agent: fmt.Sprint("agent ", i)}, now, now)
	}
	names := 0
	for k := range c.Rows {
		if k.Dim == Agent {
			names++
		}
	}
	if names > maxNames+1 || c.Rows[Key{Hour: now.Unix() / 3600, Dim: Agent, Name: others, What: "decision allow"}] != 2000 {
		t.Errorf("%d names", names)
	}
	long := strings.Repeat("x", 1<<20)
	if a, b := Clip(long+"a", 256), Clip(long+"b", 256); a == b || len(a) != 256 {
		t.Errorf("%d %v", len(a), a == b)
	}
}

// TestFuture: a record from the future counts as of now.
func TestFuture(t *testing.T) {
	var c Counts
	now := time.Unix(1_800_000_000, 0)
	c.Add(&ledger.Record{Kind: ledger.Decision, Verdict: "deny"}, now.AddDate(73, 0, 0), now)
	for k := range c.Rows {
		if k.Hour != now.Unix()/3600 {
			t.Errorf("%+v", k)
		}
	}
}

// TestBuckets: a time is no longer than its bucket's end, and longer than the one before's.
func TestBuckets(t *testing.T) {
	for _, d := range []time.Duration{1, time.Microsecond, 70 * time.Microsecond, time.Millisecond, time.Second} {
		if b := Bucket(d); d > End(b) || b > 0 && d <= End(b-1) {
			t.Errorf("%s in bucket %d, which ends at %s", d, b, End(b))
		}
	}
}

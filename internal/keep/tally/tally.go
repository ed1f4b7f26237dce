// Package tally counts records while they are written, so that charts and the policy's page read some thousand
// numbers and not a million records.
//
// It owns which numbers are kept and how they add up. The engines beside it keep them, together with how far each
// chain is counted, and can count all of a ledger again.
package tally

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/obstat/obstat/ledger"
)

// A Keeper keeps counts. Every engine is one.
type Keeper interface {
	// Counts hands over the counts of the hours since a time; zero is all.
	Counts(ctx context.Context, since time.Time, each func(Row)) error
	// Frequent returns the most frequent distinct calls since the day of a time.
	Frequent(ctx context.Context, since time.Time, by Order, limit int) ([]Frequent, error)
	// Recount drops all counts and makes them anew from the ledger.
	Recount(ctx context.Context) error
}

// An Order says which of the numbers of a call counts.
type Order string

// The orders of calls.
const (
	ByUse    Order = "n"
	ByAsked  Order = "asked"
	ByDenied Order = "denied"
)

// A Frequent is a distinct call, how often it was made, and the record of the last time.
type Frequent struct {
	N, Asked, Denied int64
	Record           *ledger.Record
}

// The dimensions of counts.
const (
	All   = ""
	Rule  = "rule"
	Agent = "agent"
	Tool  = "tool"
	Took  = "took" // named by the number of a bucket, see Bucket
)

// A Key names one count: `17:00, rule, "Bash(rm *)", "decision deny"`.
type Key struct {
	Hour int64 // since 1970
	Dim  string
	Name string
	What string // kind and verdict; a decision that an ask came before is `settled`
}

// A Row is one count.
type Row struct {
	Key
	N int64
}

// A CallKey names a distinct call on a day.
type CallKey struct {
	Day    int64 // since 1970
	Digest string
}

// A Call is how often a call was made on a day, and where its last record is.
type Call struct {
	N, Asked, Denied int64
	Seq              uint64
}

// MaxCalls is how many distinct calls of a day are kept; those that were made least go first.
const MaxCalls = 4000

// maxNames bounds the names of one dimension in an hour, and maxName their length: both come from agents.
const (
	maxNames = 1000
	maxName  = 256
	others   = "(others)"
)

// Counts adds records up. Its zero value is ready for use; it is not safe for concurrent use.
type Counts struct {
	Rows  map[Key]int64
	Calls map[CallKey]*Call
	names map[Key]map[string]bool // of an hour and a dimension
}

// Clip bounds a text to n bytes: a longer one ends in a digest of all of it, so that two stay two.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:n-17] + "~" + hex.EncodeToString(sum[:8])
}

// Add counts a record that was taken at a time; one from the future counts as of now.
func (c *Counts) Add(r *ledger.Record, taken, now time.Time) {
	if taken.After(now) {
		taken = now
	}
	hour := taken.Unix() / 3600
	what := whatOf(r)
	c.count(Key{Hour: hour, What: what})
	switch r.Kind {
	case ledger.Decision, ledger.Ask:
	case ledger.Outcome:
		c.named(hour, Tool, r.Tool, what)
		return
	default:
		return
	}
	c.named(hour, Rule, r.Rule, what)
	c.named(hour, Agent, r.Agent, what)
	c.named(hour, Tool, r.Tool, what)
	if r.Kind == ledger.Decision && r.Nanos > 0 {
		c.count(Key{Hour: hour, Dim: Took, Name: strconv.Itoa(Bucket(time.Duration(r.Nanos))), What: "decision"})
	}
	c.call(r, taken)
}

// whatOf returns the kind and verdict that a record is counted under.
func whatOf(r *ledger.Record) string {
	kind := string(r.Kind)
	if r.Kind == ledger.Decision && r.Request != "" {
		kind = Settled
	}
	if r.Verdict == "" {
		return kind
	}
	return kind + " " + Clip(r.Verdict, 32)
}

// Settled is the kind of a decision that people were asked about before: the ask has counted the call.
const Settled = "settled"

func (c *Counts) count(k Key) {
	if c.Rows == nil {
		c.Rows = map[Key]int64{}
	}
	c.Rows[k]++
}

func (c *Counts) named(hour int64, dim, name, what string) {
	if name == "" {
		return
	}
	name = Clip(name, maxName)
	of := Key{Hour: hour, Dim: dim}
	if c.names == nil {
		c.names = map[Key]map[string]bool{}
	}
	known := c.names[of]
	if known == nil {
		for old := range c.names {
			if old.Hour < hour-1 {
				delete(c.names, old)
			}
		}
		known = map[string]bool{}
		c.names[of] = known
	}
	if !known[name] && len(known) >= maxNames {
		name = others
	}
	known[name] = true
	c.count(Key{Hour: hour, Dim: dim, Name: name, What: what})
}

// call counts a distinct call.
func (c *Counts) call(r *ledger.Record, taken time.Time) {
	if len(r.Call) < 32 {
		return
	}
	key := CallKey{Day: taken.Unix() / 86400, Digest: r.Call[:32]}
	one := c.Calls[key]
	if one == nil {
		if c.Calls == nil {
			c.Calls = map[CallKey]*Call{}
		}
		one = new(Call)
		c.Calls[key] = one
	}
	one.Seq = r.Seq
	if r.Kind == ledger.Decision && r.Request != "" {
		return // the ask has counted it
	}
	one.N++
	said := r.Detail[:min(len(r.Detail), 32)]
	switch {
	case r.Kind == ledger.Ask || bytes.Contains(said, []byte(`"said":"ask"`)):
		one.Asked++
	case bytes.Contains(said, []byte(`"said":"deny"`)):
		one.Denied++
	}
}

// Flush returns the counts so far and begins anew; which names an hour has is remembered.
func (c *Counts) Flush() (map[Key]int64, map[CallKey]*Call) {
	rows, calls := c.Rows, c.Calls
	c.Rows, c.Calls = nil, nil
	return rows, calls
}

// The buckets of times: each ends a seventh above the one before, from a microsecond on.
const (
	buckets = 140
	growth  = 1.15
)

// Bucket returns the number of the bucket that a time falls into.
func Bucket(d time.Duration) int {
	end := float64(time.Microsecond)
	for i := range buckets {
		if float64(d) <= end {
			return i
		}
		end *= growth
	}
	return buckets
}

// End returns the longest time of a bucket.
func End(bucket int) time.Duration {
	end := float64(time.Microsecond)
	for range bucket {
		end *= growth
	}
	return time.Duration(end)
}

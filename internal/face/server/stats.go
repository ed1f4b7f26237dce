package server

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// A counted is the counts of some hours, by dimension, hour and name.
type counted struct {
	rows        []tally.Row
	first, last int64 // hours
}

// counted reads the counts since a time.
func (v *Service) counted(ctx context.Context, since time.Time) (*counted, error) {
	c := &counted{}
	err := v.s.store.Counts(ctx, since, func(r tally.Row) {
		if c.rows = append(c.rows, r); c.first == 0 || r.Hour < c.first {
			c.first = r.Hour
		}
		c.last = max(c.last, r.Hour)
	})
	return c, err
}

// calls adds up how calls came out. A call that people were asked about is an ask and, once its approval was taken, a
// decision: it counts once. Asks that no decision came of are denied, but for those that still wait.
type calls struct{ verdicts, asks, settled map[string]int }

func newCalls() *calls {
	return &calls{verdicts: map[string]int{}, asks: map[string]int{}, settled: map[string]int{}}
}

// add counts a row under a name.
func (c *calls) add(name string, r *tally.Row) {
	kind, verdict, _ := strings.Cut(r.What, " ")
	switch kind {
	case string(ledger.Decision):
		c.verdicts[name+"\x00"+verdict] += int(r.N)
	case tally.Settled:
		c.verdicts[name+"\x00"+verdict] += int(r.N)
		c.settled[name] += int(r.N)
	case string(ledger.Ask):
		c.asks[name] += int(r.N)
	}
}

// of returns the verdicts of a name; waiting of its asks are open.
func (c *calls) of(name string, waiting int) map[string]int {
	out := map[string]int{}
	for _, verdict := range []string{"allow", "ask", "deny"} {
		if n := c.verdicts[name+"\x00"+verdict]; n > 0 {
			out[verdict] += n
		}
	}
	left := max(0, c.asks[name]-c.settled[name])
	if open := min(waiting, left); open > 0 {
		out["ask"] += open
		left -= open
	}
	if left > 0 {
		out["deny"] += left
	}
	return out
}

// names returns the names that were counted, each with how many calls it had.
func (c *calls) names() map[string]int {
	out := map[string]int{}
	for key, n := range c.verdicts {
		name, _, _ := strings.Cut(key, "\x00")
		out[name] += n
	}
	for name, n := range c.asks {
		out[name] += max(0, n-c.settled[name])
	}
	return out
}

// rules returns how often each rule decided.
func (c *counted) rules() map[string]int {
	sums := newCalls()
	for i := range c.rows {
		if r := &c.rows[i]; r.Dim == tally.Rule {
			sums.add(r.Name, r)
		}
	}
	return sums.names()
}

// maxTop is how many entries the lists of a chart have.
const maxTop = 10

// Stats adds up the counts since a time, in stretches of whole hours.
func (v *Service) Stats(ctx context.Context, since time.Time, buckets int) (*replay.Stats, error) {
	c, err := v.counted(ctx, since)
	if err != nil {
		return nil, err
	}
	s := &replay.Stats{V: 1, Verdicts: map[string]int{}, Answers: map[string]int{}, Buckets: []replay.Bucket{}}
	rules := c.rules()
	s.Rules = replay.Top(rules, maxTop)
	if f, _ := v.s.shelf.InForce(&obstat.Call{}); f != nil && f.Main() != nil {
		s.FindUnused(f.Main().Program, rules)
	}
	waiting := v.Waiting()
	c.fill(s, waiting)
	if len(c.rows) > 0 {
		s.From, s.To = time.Unix(c.first*3600, 0).UTC(), time.Unix((c.last+1)*3600, 0).UTC()
		c.stretches(s, cmp.Or(buckets, 60), waiting)
	}
	if s.Asked, err = v.most(ctx, since, tally.ByAsked); err != nil {
		return nil, err
	}
	s.Denied, err = v.most(ctx, since, tally.ByDenied)
	return s, err
}

// fill adds up verdicts, answers and kinds of tools.
func (c *counted) fill(s *replay.Stats, waiting int) {
	all, tools, kinds := newCalls(), newCalls(), replay.Kinds{}
	for i := range c.rows {
		r := &c.rows[i]
		kind, verdict, _ := strings.Cut(r.What, " ")
		switch {
		case r.Dim == tally.All:
			s.Records += int(r.N)
			all.add("", r)
			if kind == string(ledger.Answer) {
				s.Answers[verdict] += int(r.N)
			}
		case r.Dim == tally.Tool && kind == string(ledger.Outcome):
			kinds.AddTool(r.Name, verdict, int(r.N), true)
		case r.Dim == tally.Tool:
			tools.add(r.Name, r)
		}
	}
	s.Verdicts = all.of("", waiting)
	for tool := range tools.names() {
		for verdict, n := range tools.of(tool, 0) {
			kinds.AddTool(tool, verdict, n, false)
		}
	}
	s.Kinds = kinds.Top(maxTop)
}

// stretches deals the hours out to stretches of equal length, each of whole hours.
func (c *counted) stretches(s *replay.Stats, n, waiting int) {
	hours := c.last - c.first + 1
	length := (hours + int64(n) - 1) / int64(n)
	count := int((hours + length - 1) / length)
	sums, took := newCalls(), make([]map[int]int, count)
	for i := range c.rows {
		r := &c.rows[i]
		at := int((r.Hour - c.first) / length)
		switch r.Dim {
		case tally.All:
			sums.add(strconv.Itoa(at), r)
		case tally.Took:
			bucket, err := strconv.Atoi(r.Name)
			if err != nil {
				continue
			}
			if took[at] == nil {
				took[at] = map[int]int{}
			}
			took[at][bucket] += int(r.N)
		}
	}
	for at := range count {
		open := 0
		if at == count-1 {
			open = waiting // people answer within minutes, so those that wait are of the last stretch
		}
		b := replay.Bucket{From: time.Unix((c.first+int64(at)*length)*3600, 0).UTC(), Verdicts: sums.of(strconv.Itoa(at),
			open)}
		b.P50, b.P95 = percentile(took[at], 50), percentile(took[at], 95)
		s.Buckets = append(s.Buckets, b)
	}
}

// percentile returns the time that so many percent of the decisions took at most.
func percentile(buckets map[int]int, percent int) time.Duration {
	total := 0
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return 0
	}
	sum := 0
	for b := 0; ; b++ {
		if sum += buckets[b]; sum*100 >= total*percent {
			return tally.End(b)
		}
	}
}

// most returns the calls that were asked about or denied most.
func (v *Service) most(ctx context.Context, since time.Time, by tally.Order) ([]replay.Count, error) {
	list, err := v.s.store.Frequent(ctx, since, by, 10*maxTop)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{} // calls with one text may differ in what is not shown
	for _, f := range list {
		n := f.Asked
		if by == tally.ByDenied {
			n = f.Denied
		}
		counts[explain.TextOf(&obstat.Call{Tool: f.Record.Tool, Input: f.Record.Input})] += int(n)
	}
	return replay.Top(counts, maxTop), nil
}

// maxDistinct is how many distinct calls a diff decides again.
const maxDistinct = 2000

// frequent returns the most frequent calls since a time for a replay, and how many calls there were.
func (v *Service) frequent(ctx context.Context, since time.Time) (out []replay.Counted, of int, err error) {
	list, err := v.s.store.Frequent(ctx, since, tally.ByUse, maxDistinct)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range list {
		out = append(out, replay.Counted{Record: f.Record, N: int(f.N)})
	}
	c, err := v.counted(ctx, since)
	if err != nil {
		return nil, 0, err
	}
	sums := newCalls()
	for i := range c.rows {
		if r := &c.rows[i]; r.Dim == tally.All {
			sums.add("", r)
		}
	}
	return out, sums.names()[""], nil
}

// Waiting returns how many requests wait for people, without reading them.
func (v *Service) Waiting() int { return v.equals.len() }

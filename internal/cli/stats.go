package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/replay"
	"github.com/obstat/obstat/ledger"
)

// statsOptions are the options of obstat stats.
type statsOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
	Since  string
	Top    int
}

func newStats(f *Factory) *cobra.Command {
	o := &statsOptions{Factory: f}
	cmd := command("stats", some(0, 0), func(ctx context.Context, _ []string) error { return statsRun(ctx, o) })
	o.Policy.flags(cmd, true)
	o.Store.flags(cmd)
	cmd.Flags().StringVar(&o.Since, "since", "", "not before this `time`: 2026-01-31, 2026-01-31T15:04, or how long ago: 3d")
	cmd.Flags().IntVar(&o.Top, "top", 10, "length of the lists")
	return cmd
}

func statsRun(ctx context.Context, o *statsOptions) error {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	opts := &replay.StatsOptions{Top: max(o.Top, 1), Buckets: min(o.IO.width()-10, 70), Text: callWords}
	p, err := o.load(&o.Policy)
	switch {
	case err == nil && len(p.names()) > 0:
		opts.Program = p.Program
	case err == nil: // the built-in policy has no rules that could be idle
	case len(o.Policy.Files) > 0:
		return err // it was asked for; without one there is simply no list of idle rules
	}
	store, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer store.Close()
	st, err := replay.CountRecords(store.Records(ctx, ledger.Query{Since: since}), opts)
	if err != nil {
		return err
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, st)
	}
	o.print(st)
	return nil
}

// bars are the heights of a column, from nothing to all.
const bars = " ▁▂▃▄▅▆▇█"

func (o *statsOptions) print(st *replay.Stats) {
	io := o.IO
	total := 0
	for _, n := range st.Verdicts {
		total += n
	}
	if total == 0 {
		fmt.Fprintln(io.Out, "the ledger has no decisions")
		return
	}
	fmt.Fprintf(io.Out, "%s from %s to %s\n\n", io.paint(bold, counted(total, "decision")), st.From.Local().Format(time.DateTime), st.To.Local().Format(time.DateTime))
	room := io.width() - 24
	for v := obstat.Allow; ; v-- {
		n := st.Verdicts[v.String()]
		bar := strings.Repeat("█", max(n*room/total, min(n, 1)))
		fmt.Fprintf(io.Out, "%-6s %6d %3d%%  %s\n", v, n, (200*n+total)/(2*total), io.paint(verdictInk(v), bar))
		if v == obstat.Deny {
			break
		}
	}
	o.ends(st)
	o.overTime(st)
	o.counts("asked about most", st.Asked)
	o.counts("denied most", st.Denied)
	o.counts("rules that decided", st.Rules)
	o.idle(st.Unused)
}

// ends writes how asks ended.
func (o *statsOptions) ends(st *replay.Stats) {
	words := map[approval.State]string{approval.Expired: "that nobody answered", approval.Canceled: "withdrawn"}
	var out []string
	for _, state := range []approval.State{approval.Approved, approval.Refused, approval.Expired, approval.Canceled} {
		if n := st.Answers[string(state)]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, first(words[state], string(state))))
		}
	}
	if len(out) > 0 {
		fmt.Fprintf(o.IO.Out, "asks: %s\n", strings.Join(out, ", "))
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// overTime draws a row of columns a verdict, each as high as its share of the
// busiest moment.
func (o *statsOptions) overTime(st *replay.Stats) {
	io := o.IO
	if len(st.Buckets) < 2 {
		return
	}
	most := 1
	for _, b := range st.Buckets {
		for _, n := range b.Verdicts {
			most = max(most, n)
		}
	}
	heights := []rune(bars)
	each := st.Buckets[1].From.Sub(st.Buckets[0].From)
	fmt.Fprintf(io.Out, "\nover time, a column for each %s, at most %d\n", roughly(each), most)
	for v := obstat.Allow; ; v-- {
		var row strings.Builder
		for _, b := range st.Buckets {
			n := b.Verdicts[v.String()]
			h := n * (len(heights) - 1) / most
			if n > 0 && h == 0 {
				h = 1
			}
			row.WriteRune(heights[h])
		}
		fmt.Fprintf(io.Out, "%s\n", strings.TrimRight(fmt.Sprintf("%-6s %s", v, io.paint(verdictInk(v), strings.TrimRight(row.String(), " "))), " "))
		if v == obstat.Deny {
			return
		}
	}
}

// roughly rounds a duration to its largest unit: `3h`, `12m`.
func roughly(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if d >= unit {
			return d.Round(unit)
		}
	}
	return d
}

func (o *statsOptions) counts(title string, list []replay.Count) {
	io := o.IO
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(io.Out, "\n%s\n", title)
	for _, c := range list {
		fmt.Fprintf(io.Out, "%6d  %s\n", c.N, clip(visible(c.Text), io.width()-8))
	}
}

func (o *statsOptions) idle(rules []replay.Unused) {
	io := o.IO
	if len(rules) == 0 {
		return
	}
	fmt.Fprintf(io.Out, "\nrules that decided nothing\n")
	for i, r := range rules {
		if i == o.Top {
			fmt.Fprintf(io.Out, "  … and %d more\n", len(rules)-i)
			return
		}
		fmt.Fprintf(io.Out, "  %s  %s\n", clip(visible(r.Text), io.width()/2), io.paint(cyan, visible(r.Pos.String())))
	}
}

// markOf returns where a part stands in a text, zero for the whole.
func markOf(text, part string) explain.Span {
	if i := strings.Index(text, part); part != "" && part != text && i >= 0 {
		return explain.Span{Start: i, End: i + len(part)}
	}
	return explain.Span{}
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// replayOptions are the options of obstat replay.
type replayOptions struct {
	*Factory
	Policy  policyOptions
	Store   storeOptions
	Since   string `flag:"since"`
	Tool    string `flag:"tool"`
	Agent   string `flag:"agent"`
	Session string `flag:"session"`
	Most    int    `flag:"most"`
}

func newReplay(f *Factory) *cobra.Command {
	o := &replayOptions{Factory: f, Most: 10}
	return command("replay", some(0, 0), o, o.run)
}

func (o *replayOptions) run(ctx context.Context, _ []string) error {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	store, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer store.Close()
	o.announce(p)
	q := ledger.Query{Kind: ledger.Decision, Since: since, Tool: o.Tool, Agent: o.Agent, Session: o.Session}
	q, wanted := byKind(q)
	rep, err := replay.Run(only(store.Records(ctx, q), wanted), p.Loaded.Policy, nil)
	if err != nil {
		return err
	}
	slices.SortStableFunc(rep.Flips, func(a, b replay.Flip) int { return b.Count - a.Count })
	return o.show(rep, func(s *screen) { s.replay(rep, o.title(p.Input.Names()), o.Most) })
}

func (s *screen) replay(rep *replay.Report, title string, most int) {
	n := rep.Calls - rep.Same
	switch {
	case rep.Calls == 0:
		s.printf("the ledger has no such calls\n")
		return
	case n == 0:
		s.printf("%d calls, and %s decides every one as it was decided\n", rep.Calls, visible(title))
	default:
		s.printf("%s of %d calls are decided otherwise by %s\n", s.io.paint(bold, fmt.Sprint(n)), rep.Calls, visible(title))
	}
	for _, way := range slices.Sorted(maps.Keys(rep.Flipped)) {
		s.printf("  %-14s %d\n", way, rep.Flipped[way])
	}
	if rep.Inexact > 0 {
		s.printf("%d of the calls are not known in full (secrets were masked, or more); they are decided by what is\n",
			rep.Inexact)
	}
	if rep.Drifted > 0 {
		s.printf("%d of them this very policy decided otherwise before: obstat itself has changed\n", rep.Drifted)
	}
	s.first(len(rep.Flips), most, "shows", func(i int) { s.flip(&rep.Flips[i]) })
}

// first shows at most this many of n things, and says with which flag the command shows all.
func (s *screen) first(n, most int, shows string, show func(i int)) {
	for i := range n {
		if most > 0 && i == most {
			s.printf("\n… and %d more; --most 0 %s all\n", n-i, shows)
			return
		}
		show(i)
	}
}

// flip shows one call that flips: its verdict then and now, and the rules.
func (s *screen) flip(f *replay.Flip) {
	times := ""
	if f.Count > 1 {
		times = fmt.Sprintf("  %d times", f.Count)
	}
	came := ""
	if f.Came != f.Was.String() {
		came = ", came out as " + f.Came
	}
	s.printf("\n%s → %s%s%s\n", s.io.paint(verdictInk(f.Was), f.Was.String()),
		s.io.paint(verdictInk(f.Now), f.Now.String()), came, times)
	s.head(callView(f.Call, f.Now, f.Part, explain.By{}))
	if f.WasRule != "" {
		s.text("was by", f.WasRule+" "+f.WasPos.String())
	}
	s.text("why", f.Reason)
	if f.Partial != "" {
		s.text("but", f.Partial)
	}
}

// statsOptions are the options of obstat stats.
type statsOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
	Since  string `flag:"since"`
	Top    int    `flag:"top"`
}

func newStats(f *Factory) *cobra.Command {
	o := &statsOptions{Factory: f, Top: 10}
	return command("stats", some(0, 0), o, o.run)
}

func (o *statsOptions) run(ctx context.Context, _ []string) error {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	opts := &replay.StatsOptions{Top: max(o.Top, 1), Buckets: min(o.IO.width()-10, 70), Text: callWords}
	p, err := o.load(&o.Policy)
	switch {
	case err == nil && len(p.Input.Names()) > 0:
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
	return o.show(st, func(s *screen) { s.stats(st, o.Top) })
}

// bars are the heights of a column, from nothing to all.
const bars = " ▁▂▃▄▅▆▇█"

func (s *screen) stats(st *replay.Stats, top int) {
	total := 0
	for _, n := range st.Verdicts {
		total += n
	}
	if total == 0 {
		s.printf("the ledger has no decisions\n")
		return
	}
	title := fmt.Sprintf("%s from %s to %s", plural(total, "decision"), st.From.Local().Format(time.DateTime),
		st.To.Local().Format(time.DateTime))
	lines := wrap(title, s.width)
	lines[0] = s.io.paint(bold, plural(total, "decision")) + strings.TrimPrefix(lines[0], plural(total, "decision"))
	s.printf("%s\n\n", strings.Join(lines, "\n"))
	room := s.width - 24
	for v := obstat.Allow; ; v-- {
		n := st.Verdicts[v.String()]
		bar := strings.Repeat("█", max(n*room/total, min(n, 1)))
		s.printf("%-6s %6d %3d%%  %s\n", v, n, (200*n+total)/(2*total), s.io.paint(verdictInk(v), bar))
		if v == obstat.Deny {
			break
		}
	}
	s.ends(st)
	s.overTime(st)
	s.kinds(st.Kinds)
	s.counts("asked about most", st.Asked)
	s.counts("denied most", st.Denied)
	s.counts("rules that decided", st.Rules)
	s.counts("paths that programs changed unpredicted (obstat effects --learn)", st.Unpredicted)
	s.idle(st.Unused, top)
}

// kinds writes how calls of each kind of tools came out.
func (s *screen) kinds(kinds []replay.Kind) {
	if len(kinds) == 0 {
		return
	}
	s.printf("\nby kind of tool\n")
	name := 0
	for _, k := range kinds {
		name = max(name, columns(visible(k.Kind)))
	}
	for _, k := range kinds {
		var out []string
		for _, word := range []string{"allow", "ask", "deny"} {
			if n := k.Verdicts[word]; n > 0 {
				out = append(out, fmt.Sprintf("%s %d", word, n))
			}
		}
		for _, word := range []string{"ran", "failed", "not run"} {
			if n := k.Outcomes[word]; n > 0 {
				out = append(out, fmt.Sprintf("%s %d", word, n))
			}
		}
		head := fmt.Sprintf("%6d  %s  ", k.N, pad(visible(k.Kind), name))
		for _, l := range items(out, s.width-columns(head)) {
			s.printf("%s%s\n", head, l)
			head = strings.Repeat(" ", columns(head))
		}
	}
}

// ends writes how asks ended.
func (s *screen) ends(st *replay.Stats) {
	words := map[approval.State]string{approval.Expired: "that nobody answered", approval.Canceled: "withdrawn"}
	var out []string
	for _, state := range []approval.State{approval.Approved, approval.Refused, approval.Expired, approval.Canceled} {
		if n := st.Answers[string(state)]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, cmp.Or(words[state], string(state))))
		}
	}
	if len(out) > 0 {
		s.printf("asks: %s\n", strings.Join(out, ", "))
	}
}

// overTime draws a row of columns a verdict, each as high as its share of the
// busiest moment.
func (s *screen) overTime(st *replay.Stats) {
	if len(st.Buckets) < 2 || st.Buckets[1].From.Sub(st.Buckets[0].From) < time.Second {
		return // too short to draw
	}
	most := 1
	for _, b := range st.Buckets {
		for _, n := range b.Verdicts {
			most = max(most, n)
		}
	}
	heights := []rune(bars)
	each := st.Buckets[1].From.Sub(st.Buckets[0].From)
	s.printf("\nover time, a column for each %s, at most %d\n", roughly(each), most)
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
		s.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-6s %s", v,
			s.io.paint(verdictInk(v), strings.TrimRight(row.String(), " "))), " "))
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

func (s *screen) counts(title string, list []replay.Count) {
	if len(list) == 0 {
		return
	}
	s.printf("\n%s\n", title)
	for _, c := range list {
		s.printf("%6d  %s\n", c.N, clip(visible(c.Text), s.width-8))
	}
}

func (s *screen) idle(rules []replay.Unused, top int) {
	if len(rules) == 0 {
		return
	}
	s.printf("\nrules that decided nothing\n")
	rules = slices.CompactFunc(slices.Clone(rules), func(a, b replay.Unused) bool { // a line may be several rules
		return a.Text == b.Text && a.Pos == b.Pos
	})
	for i, r := range rules {
		if i == top {
			s.printf("  … and %d more\n", len(rules)-i)
			return
		}
		text, pos, gap := clip(visible(r.Text), s.width/2), visible(r.Pos.String()), "  "
		if s.io.OutTTY && columns(text)+columns(pos)+4 > s.width {
			gap = "\n    " // whole, so that it can be copied
		}
		s.printf("  %s%s%s\n", text, gap, s.io.paint(cyan, pos))
	}
}

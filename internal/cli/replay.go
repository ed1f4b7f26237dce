package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/replay"
	"github.com/obstat/obstat/ledger"
)

// replayOptions are the options of obstat replay.
type replayOptions struct {
	*Factory
	Policy  policyOptions
	Store   storeOptions
	Since   string
	Tool    string
	Agent   string
	Session string
	Most    int
}

func newReplay(f *Factory) *cobra.Command {
	o := &replayOptions{Factory: f}
	cmd := command("replay", some(0, 0), func(ctx context.Context, _ []string) error { return replayRun(ctx, o) })
	o.Policy.flags(cmd, true)
	o.Store.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Since, "since", "", "not before this `time`: 2026-01-31, 2026-01-31T15:04, or how long ago: 3d")
	fl.StringVar(&o.Tool, "tool", "", "calls to this `tool`")
	fl.StringVar(&o.Agent, "agent", "", "calls of this `agent`")
	fl.StringVar(&o.Session, "session", "", "calls of this `session`")
	fl.IntVar(&o.Most, "most", 10, "show at most this `many` of the calls that flip; 0 shows all")
	return cmd
}

func replayRun(ctx context.Context, o *replayOptions) error {
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
	rep, err := replay.Run(store.Records(ctx, q), p.Loaded.Policy)
	if err != nil {
		return err
	}
	slices.SortStableFunc(rep.Flips, func(a, b replay.Flip) int { return b.Count - a.Count })
	if o.jsonFlag {
		return writeJSON(o.IO.Out, rep)
	}
	o.print(p, rep)
	return nil
}

func (o *replayOptions) print(p *loaded, rep *replay.Report) {
	io := o.IO
	n := rep.Calls - rep.Same
	switch {
	case rep.Calls == 0:
		fmt.Fprintln(io.Out, "the ledger has no such calls")
		return
	case n == 0:
		fmt.Fprintf(io.Out, "%d calls, and %s decides every one as it was decided\n", rep.Calls, visible(o.title(p.names())))
	default:
		fmt.Fprintf(io.Out, "%s of %d calls are decided otherwise by %s\n", io.paint(bold, fmt.Sprint(n)), rep.Calls, visible(o.title(p.names())))
	}
	ways := make([]string, 0, len(rep.Flipped))
	for way := range rep.Flipped {
		ways = append(ways, way)
	}
	slices.Sort(ways)
	for _, way := range ways {
		fmt.Fprintf(io.Out, "  %-14s %d\n", way, rep.Flipped[way])
	}
	if rep.Inexact > 0 {
		fmt.Fprintf(io.Out, "%d of the calls are not known in full (secrets were masked, or more); they are decided by what is\n", rep.Inexact)
	}
	if rep.Drifted > 0 {
		fmt.Fprintf(io.Out, "%d of them this very policy decided otherwise before: obstat itself has changed\n", rep.Drifted)
	}
	for i := range rep.Flips {
		if o.Most > 0 && i == o.Most {
			fmt.Fprintf(io.Out, "\n… and %d more; --most 0 shows all\n", len(rep.Flips)-i)
			return
		}
		o.flip(&rep.Flips[i])
	}
}

// flip shows one call that flips: its verdict then and now, and the rules.
func (o *replayOptions) flip(f *replay.Flip) {
	io := o.IO
	sc := newScreen(io)
	times := ""
	if f.Count > 1 {
		times = fmt.Sprintf("  %d times", f.Count)
	}
	came := ""
	if f.Came != f.Was.String() {
		came = ", came out as " + f.Came
	}
	fmt.Fprintf(io.Out, "\n%s → %s%s%s\n", io.paint(verdictInk(f.Was), f.Was.String()), io.paint(verdictInk(f.Now), f.Now.String()), came, times)
	v := &explain.View{Text: shortPath(explain.TextOf(f.Call), f.Call.Dir)}
	v.Verdict = f.Now
	v.Mark = markOf(v.Text, f.Part)
	sc.head(v)
	if f.WasRule != "" {
		sc.text("was by", f.WasRule+" "+f.WasPos.String())
	}
	sc.text("why", f.Reason)
	if f.Partial != "" {
		sc.text("but", f.Partial)
	}
	fmt.Fprint(io.Out, sc.b.String())
}

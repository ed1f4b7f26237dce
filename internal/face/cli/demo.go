package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/demo"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/ledger"
)

// demoOptions are the options of obstat demo.
type demoOptions struct {
	*Factory
	Dir   string `flag:"dir"`
	Watch bool   `flag:"watch"`
}

func newDemo(f *Factory) *cobra.Command {
	o := &demoOptions{Factory: f}
	return command("demo", some(0, 0), o, untilInterrupt(o.play))
}

// A show is a demo on the screen.
type show struct {
	*demoOptions
	*screen
	run   *demo.Run
	asked chan *approval.Request
	lines <-chan string // typed lines; nil where a script answers
}

func (o *demoOptions) play(ctx context.Context, _ []string) (err error) {
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "obstat-demo-"); err != nil {
			return err
		}
	} else if _, err := os.Stat(filepath.Join(dir, "shop")); err == nil {
		return usagef("%s has a demo already; name another directory", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	steps, err := demo.Steps()
	if err != nil {
		return err
	}
	s := &show{demoOptions: o, screen: newScreen(o.IO), asked: make(chan *approval.Request, 1)}
	if s.run, err = demo.Start(ctx, dir, func(r *approval.Request) { s.asked <- r }); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.run.Close()) }()
	if o.IO.InTTY && o.IO.OutTTY && !o.Watch {
		s.lines = readLines(o.IO.In)
	}
	s.intro()
	for i := range steps {
		if err = s.step(ctx, i+1, &steps[i]); err != nil {
			break
		}
	}
	if err = endOf(err); err == nil {
		err = s.finish(context.WithoutCancel(ctx), dir)
	}
	return cmp.Or(err, s.flush(o.IO.Out))
}

func (s *show) intro() {
	s.printf("%s\n\n", s.io.paint(bold, "An agent fixes a bug in a small shop. Every call it makes goes through a gate."))
	answers := "You answer what it asks."
	if s.lines == nil {
		answers = "A script answers what it asks, for there is no terminal."
		if s.Watch {
			answers = "A script answers what it asks."
		}
	}
	margin := s.margin
	s.margin = 10
	s.text("project", s.run.Dir)
	s.text("policy", "obstat.yaml, in that directory, as obstat init drafts one")
	s.text("real", "the gate, its policy, the asks, the store and the ledger")
	s.text("not real", "the model; and its commands are not run. "+answers)
	s.margin = margin
}

// step shows one step: the agent's words, its call and the answer.
func (s *show) step(ctx context.Context, n int, st *demo.Step) error {
	call, err := s.run.Call(st)
	if err != nil {
		return err
	}
	s.printf("\n%s %s\n", s.io.paint(bold, fmt.Sprintf("%2d", n)), s.io.paint(dim, st.Says))
	policy := filepath.Join(s.run.Dir, "obstat.yaml")
	before := display.FileNow("", policy)
	d, err := s.authorize(ctx, st, call)
	if err != nil {
		return err
	}
	s.verdict(call, &d)
	if now := display.FileNow("", policy); now != before {
		s.line("wrote", "obstat.yaml, every other byte as it was:")
		s.diff(display.Diff(before, now))
	}
	if st.Shows != "" {
		s.line("", s.io.paint(cyan, "→ "+st.Shows))
	}
	if err := s.flush(s.io.Out); err != nil || d.Verdict != obstat.Allow {
		return err
	}
	input := call.Input
	if d.Input != nil {
		input = d.Input
	}
	return s.run.Do(st, input)
}

// authorize puts a call to the gate and, where it asks, to the person or the script that answers.
func (s *show) authorize(ctx context.Context, st *demo.Step, call *obstat.Call) (obstat.Decision, error) {
	type end struct {
		d   obstat.Decision
		err error
	}
	ended := make(chan end, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		d, err := s.run.Guard.Authorize(ctx, call, nil)
		ended <- end{d.Decision, err}
	}()
	select {
	case e := <-ended:
		return e.d, e.err
	case r := <-s.asked:
		if err := s.settle(ctx, st, r); err != nil {
			cancel()
			<-ended // it is denied, and written down
			return obstat.Decision{}, err
		}
	}
	e := <-ended
	return e.d, e.err
}

// settle has a request answered at the terminal, or by the script.
func (s *show) settle(ctx context.Context, st *demo.Step, r *approval.Request) error {
	if err := s.flush(s.io.Out); err != nil {
		return err
	}
	d := &seat{o: &askOptions{Factory: s.Factory, As: "you"}, broker: s.run.Guard.Broker(), lines: s.lines,
		left: map[string]bool{}, below: true}
	one := &shown{pending: []*approval.Request{r}}
	for s.lines != nil {
		if err := d.settle(ctx, one); err != nil || !d.left[r.ID] {
			return err
		}
		delete(d.left, r.ID)
		fmt.Fprintln(s.io.Out, "there is nobody else here")
	}
	keys := newScreen(s.io)
	keys.keys(r, false, s.World)
	fmt.Fprintf(s.io.Out, "%s%s> %s   %s\n", newScreen(s.io).request(r, s.World, time.Now()), keys.b.String(), st.Answer,
		s.io.paint(dim, "(typed by the script)"))
	done, err := d.answer(ctx, r, st.Answer)
	if err == nil && !done {
		return errors.New("the script's answer did not count")
	}
	return err
}

// verdict shows the answer to a call as explain does, without the walk.
func (s *show) verdict(call *obstat.Call, d *obstat.Decision) {
	ran := *call
	if d.Input != nil {
		ran = obstat.Call{Tool: call.Tool, Input: d.Input, Dir: call.Dir}
	}
	by := explain.By{Kind: "default", Text: cmp.Or(d.Note, "no rule")}
	if d.Rule != nil {
		by = explain.By{Kind: "rule", Text: d.Rule.String(), Pos: d.Rule.Pos}
	}
	v := callView(&ran, d.Verdict, d.Part, by)
	v.Safety = d.Safety
	s.head(v)
	if d.Input != nil {
		s.text("for", shortPath(explain.TextOf(call), call.Dir))
	}
	if d.Stage == obstat.StageApproval {
		s.text("why", d.Note)
	} else {
		s.by(v)
	}
}

// finish shows the ledger, whether it holds, and where to go from here.
func (s *show) finish(ctx context.Context, dir string) error {
	s.printf("\n%s\n", s.io.paint(bold, "The ledger. Each record is sealed with the hash of the one before it."))
	var all []*ledger.Record
	for r, err := range s.run.Store.Records(ctx, ledger.Query{}) {
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		s.printf("%s\n", clip(s.recordLine(r), s.io.width()))
	}
	v, err := s.run.Store.Verify(ctx, ledger.Hash{})
	if err != nil {
		return err
	}
	s.printf("\n%s  %d records verified; the last has the hash %s…\n", s.io.paint(green, "holds"), v.Records,
		v.Head.Hash.String()[:16])
	s.tamper(all)
	s.next(dir)
	return nil
}

// recordLine is a record on one line. It is shown as it is cut, so it has no
// colour.
func (s *show) recordLine(r *ledger.Record) string {
	what := r.Reason
	if r.Tool != "" && len(r.Input) > 0 {
		what = r.Tool + " " + strings.TrimPrefix(r.About(), r.Dir+"/")
	}
	return fmt.Sprintf("%3d  %s  %-8s  %-8s  %s", r.Seq, r.Hash.String()[:6], r.Kind, r.Verdict, visible(what))
}

// tamper shows that verifying finds a changed record.
func (s *show) tamper(all []*ledger.Record) {
	changed := false
	_, err := ledger.Verify(func(yield func([]byte, error) bool) {
		for _, r := range all {
			c := *r
			if !changed && c.Kind == ledger.Decision && c.Verdict == obstat.Deny.String() {
				c.Verdict, changed = obstat.Allow.String(), true
			}
			if !yield(c.Encode()) {
				return
			}
		}
	}, ledger.Hash{})
	var b *ledger.Break
	if errors.As(err, &b) {
		s.printf("%s had somebody turned a deny into an allow:\n       %s\n", s.io.paint(red, "breaks"), b.Error())
	}
}

// next lists the commands to try next.
func (s *show) next(dir string) {
	s.printf("\n%s\n", s.io.paint(bold, "What now"))
	for _, l := range [][2]string{
		{"to have the command", "go install ./cmd/obstat"},
		{"why a call was denied, step by step", "cd " + s.run.Dir + "\n  obstat explain bash --command 'cat .env'"},
		{"what another policy would have said", "obstat replay --store " + statedir.Store(dir) + " -p NEW"},
		{"what your own project's files mean", "cd YOUR-PROJECT && obstat policy show"},
		{"answer your agents in a terminal of your own", "obstat ask"},
	} {
		s.printf("%s\n  %s\n", s.io.paint(dim, "# "+l[0]), l[1])
	}
	s.printf("\n%s\n", s.io.paint(dim, "All of it is in "+dir+"; delete it at will."))
}

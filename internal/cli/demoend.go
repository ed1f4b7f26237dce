package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/demo"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/ledger"
)

func spaces(n int) string { return strings.Repeat(" ", n) }

// decisionView is the part of an explanation that a decision has by itself.
func decisionView(call *obstat.Call, d *obstat.Decision) *explain.View {
	v := &explain.View{Decision: explain.NewDecision(d), Text: explain.TextOf(call)}
	v.Text = shortPath(v.Text, call.Dir)
	v.Mark = markOf(v.Text, d.Part)
	v.By = explain.By{Kind: "default", Text: "no rule"}
	if d.Rule != nil {
		pos := d.Rule.Pos
		pos.File = shortPath(pos.File, call.Dir)
		v.By = explain.By{Kind: "rule", Text: d.Rule.String(), Pos: pos}
	} else if d.Note != "" {
		v.By.Text = d.Note
	}
	return v
}

// finish shows the ledger, whether it holds, and where to go from here.
func (s *show) finish(ctx context.Context, dir string) error {
	io := s.f.IO
	s.printf("\n%s\n", io.paint(bold, "The ledger. Each record is sealed with the hash of the one before it."))
	var all []*ledger.Record
	for r, err := range s.run.Store.Records(ctx, ledger.Query{}) {
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		s.printf("%s\n", clip(s.recordLine(r), io.width()))
	}
	v, err := ledger.VerifyStore(ctx, s.run.Store, ledger.Hash{})
	if err != nil {
		return err
	}
	s.printf("\n%s  %d records verified; the last has the hash %s…\n", io.paint(green, "holds"), v.Records, v.Head.Hash.String()[:16])
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

// tamper shows what becomes of a ledger that somebody changes.
func (s *show) tamper(all []*ledger.Record) {
	changed := false
	_, err := ledger.Verify(func(yield func(*ledger.Record, error) bool) {
		for _, r := range all {
			c := *r
			if !changed && c.Kind == ledger.Decision && c.Verdict == obstat.Deny.String() {
				c.Verdict, changed = obstat.Allow.String(), true
			}
			if !yield(&c, nil) {
				return
			}
		}
	}, ledger.Hash{})
	var b *ledger.Break
	if errors.As(err, &b) {
		s.printf("%s had somebody turned a deny into an allow:\n       %s\n", s.f.IO.paint(red, "breaks"), b.Error())
	}
}

// next says what to do now.
func (s *show) next(dir string) {
	io := s.f.IO
	s.printf("\n%s\n", io.paint(bold, "What now"))
	for _, l := range [][2]string{
		{"to have the command", "go install ./cmd/obstat"},
		{"why a call was denied, step by step", "cd " + s.run.Dir + "\n  obstat explain bash --command 'cat .env'"},
		{"what another policy would have said", "obstat replay --store " + demo.StorePath(dir) + " -p NEW"},
		{"what your own project's files mean", "cd YOUR-PROJECT && obstat policy show"},
		{"answer your agents in a terminal of your own", "obstat ask"},
	} {
		s.printf("%s\n  %s\n", io.paint(dim, "# "+l[0]), l[1])
	}
	s.printf("\n%s\n", io.paint(dim, "All of it is in "+dir+"; delete it at will."))
}

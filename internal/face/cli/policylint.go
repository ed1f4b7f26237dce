package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/face/report"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/lint"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// lintOptions are the options of obstat policy lint and obstat policy gc.
type lintOptions struct {
	*Factory
	formOptions
	Policy policyOptions
	Store  storeOptions
	Unused string `flag:"unused"` // how long a rule may be idle
	Yes    bool   `flag:"yes y"`  // gc: without a question
	Loose  bool   `flag:"loose"`  // gc: also rules without which others would be looser
	Fix    bool   `flag:"fix"`    // lint: take out rules that do nothing
	made   diff.Made
	// origins are the places of rules as they were before others were taken out.
	origins origins
}

// maxTried is how many calls are tried without a rule that is taken out: for each of a pile of them.
const maxTried = 6_000

func newLint(f *Factory) *cobra.Command {
	o := &lintOptions{Factory: f, Unused: "30d"}
	return command("policy lint", some(0, -1), o, o.run)
}

func (o *lintOptions) run(ctx context.Context, files []string) error {
	if err := o.readForm(o.Factory); err != nil {
		return err
	}
	if o.Fix && o.Format != "" {
		return usagef("--fix shows and asks: it has no --format")
	}
	if o.Fix { // as gc, without the ledger
		o.Unused = "0"
		return o.gc(ctx, files)
	}
	o.Policy.Files = files
	uses, err := o.uses(ctx)
	if err != nil {
		return err
	}
	po := o.Policy
	res := o.examine(&po)
	res.Problems = lint.Masked(append(res.Problems, o.idle(uses)...))
	res.Problems.Sort()
	if o.Format != "" {
		err = o.writeForm(o.Factory, res.Files, report.Of(res.Problems))
	} else {
		err = o.show(res, func(s *screen) {
			o.problems(&s.b, lint.Fold(res.Problems), s.io.OutTTY)
			s.printf("%s: %s\n", visible(o.title(res.Files)), findings(len(res.Problems)))
		})
	}
	if err != nil || len(res.Problems) == 0 {
		return err
	}
	return done(ExitError)
}

func findings(n int) string {
	if n == 0 {
		return "nothing to say against it"
	}
	return plural(n, "finding")
}

// uses counts the recent decisions of rules; nil where there is no ledger, or where it does not go
// back that far: a rule may have been written yesterday.
func (o *lintOptions) uses(ctx context.Context) (*lint.Uses, error) {
	if o.Unused == "0" {
		return nil, nil
	}
	since, err := readTime("--unused", o.Unused, time.Now())
	if err != nil {
		return nil, err
	}
	store, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		if o.Store.Path != "" {
			return nil, err
		}
		return nil, nil
	}
	defer store.Close()
	older := false
	for _, err := range store.Records(ctx, ledger.Query{Until: since, Limit: 1}) {
		older = err == nil
	}
	if !older {
		return nil, nil
	}
	return lint.CountUses(store.Records(ctx, ledger.Query{Kind: ledger.Decision, Since: since}), explain.TextOf)
}

// idle returns the rules that the ledger shows to be idle.
func (o *lintOptions) idle(uses *lint.Uses) (out obstat.Errors) {
	if uses == nil || uses.Calls == 0 {
		return nil
	}
	po := o.Policy
	p, err := o.find(&po)
	if err != nil {
		return nil // examine has told
	}
	for _, pol := range p.inForce.Policies {
		out = append(out, lint.Used(pol.Program, uses, &lint.Options{Files: pol.Input.Names()})...)
	}
	return out
}

func newGC(f *Factory) *cobra.Command {
	o := &lintOptions{Factory: f, Unused: "30d"}
	return command("policy gc", some(0, -1), o, o.gc)
}

// gcJSON is the output of `obstat policy gc --json`.
type gcJSON struct {
	V       int           `json:"v"`
	Removed obstat.Errors `json:"removed"` // the finding about each rule
	Kept    obstat.Errors `json:"kept"`
}

// gc takes rules out one by one, since every removal moves the rules behind it.
func (o *lintOptions) gc(ctx context.Context, files []string) error {
	o.Policy.Files = files
	if o.jsonFlag && !o.Yes {
		return usagef("--json asks nothing: give --yes as well, or use obstat policy lint --json")
	}
	dir, err := o.dir(o.Policy.Dir)
	if err == nil {
		_, err = o.person(dir)
	}
	if err != nil {
		return err
	}
	uses, err := o.uses(ctx)
	if err != nil {
		return err
	}
	out := gcJSON{1, obstat.Errors{}, obstat.Errors{}}
	kept := map[string]bool{} // by the finding, without the place
	o.origins = origins{}
	for {
		e, p, err := o.next(uses, kept)
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		before := o.origins.note(e.Pos)
		told := o.origins.told(e)
		taken, err := o.takeOut(p, e, told)
		if err != nil {
			return err
		}
		if taken {
			o.origins.changed(e.Pos, before)
			out.Removed = append(out.Removed, told)
		} else {
			kept[e.Msg] = true
			out.Kept = append(out.Kept, told)
		}
	}
	return o.show(out, func(s *screen) {
		if len(out.Removed)+len(out.Kept) == 0 {
			s.printf("no rule is idle\n")
			return
		}
		s.printf("%s taken out, %d kept\n", plural(len(out.Removed), "rule"), len(out.Kept))
	})
}

// next returns the first rule that is idle and was not kept, with the policy it is of.
func (o *lintOptions) next(uses *lint.Uses, kept map[string]bool) (*obstat.Error, *policy.Policy, error) {
	po := o.Policy
	po.Parse = true
	p, err := o.find(&po)
	if err == nil {
		err = p.inForce.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, pol := range p.inForce.Policies {
		opts := &lint.Options{Files: pol.Input.Names(), Sees: pol.Dialect.Info().Sees, Whole: true, Now: time.Now()}
		all := slices.Concat(dialect.Lint(pol.Loaded), lint.Program(pol.Program, opts))
		if uses != nil && uses.Calls > 0 {
			all = append(all, lint.Used(pol.Program, uses, opts)...)
		}
		for _, e := range all {
			if slices.Contains([]obstat.Code{obstat.CodeNoEffect, obstat.CodeUnused}, e.Code) && e.Pos.IsValid() &&
				!kept[e.Msg] {
				return e, pol, nil
			}
		}
	}
	return nil, nil, nil
}

// takeOut shows a finding about a rule, told with the places of the file as it was, and the calls that flip without it,
// asks, and takes the rule out of its file.
func (o *lintOptions) takeOut(p *policy.Policy, e, told *obstat.Error) (bool, error) {
	w := o.IO.Out
	if o.jsonFlag {
		w = o.IO.Err
	}
	o.problems(w, obstat.Errors{told}, o.IO.OutTTY)
	without, _, err := p.Without(e.Pos)
	if err != nil {
		fmt.Fprintf(w, "    it stays: %s\n", visible(err.Error()))
		return false, nil
	}
	rep := &diff.Report{}
	if !ended(p.Program, e.Pos) {
		rep = diff.Compare(p.Loaded.Policy, without.Policy, &diff.Options{Limit: maxTried, Made: &o.made})
	}
	if rep.Tried > 0 && len(rep.Regions) == 0 {
		fmt.Fprintf(w, "    without it no call is decided otherwise (%s tried)\n", plural(rep.Tried, "call"))
	}
	for _, r := range rep.Regions[:min(3, len(rep.Regions))] {
		fmt.Fprintf(w, "    without it %s goes from %s to %s\n", visible(explain.AsChecked(r.Call)), r.Was, r.Now)
	}
	if e.Code == obstat.CodeNoEffect && rep.Looser+rep.Tighter > 0 {
		fmt.Fprintf(w, "    it stays: it is not as idle as it looks\n")
		return false, nil
	}
	if looser := o.loosened(p, without.Policy, e.Pos); len(looser) > 0 {
		r := &looser[0]
		fmt.Fprintf(w, "    it denies or asks: without it %s goes from %s to %s\n", visible(explain.AsChecked(r.Call)),
			r.Was, r.Now)
		if o.Yes && !o.Loose {
			fmt.Fprintf(w, "    it stays: --loose takes it out all the same\n")
			return false, nil
		}
	}
	if _, err := o.accept(e.Pos.File, "take it out?", o.Yes); errors.Is(err, errDeclined) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, p.Remove(e.Pos)
}

// loosened returns the regions of calls that a policy decides more freely without the rule at a place: none where the
// rule only allows, or counts no more.
func (o *lintOptions) loosened(p *policy.Policy, without *obstat.Policy, at obstat.Pos) []diff.Region {
	strict := false
	for _, rules := range p.Program.Rules {
		for i := range rules {
			strict = strict || rules[i].Pos == at && rules[i].Verdict != obstat.Allow
		}
	}
	if !strict || ended(p.Program, at) {
		return nil
	}
	return diff.Loosened(&diff.Draft{Was: []*obstat.Policy{p.Loaded.Policy}, Now: without, Made: &o.made})
}

// ended tells whether all that is written at a place counts no more.
func ended(p *obstat.Program, at obstat.Pos) bool {
	now := time.Now()
	for _, rules := range p.Rules {
		for i := range rules {
			if rules[i].Pos == at && !lint.Ended(&rules[i], now) {
				return false
			}
		}
	}
	return true
}

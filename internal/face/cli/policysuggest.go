package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/study/suggest"
	"github.com/obstat/obstat/ledger"
)

// suggestOptions are the options of obstat policy suggest.
type suggestOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
	Since  string `flag:"since"`
	Min    int    `flag:"min"`
	Accept bool   `flag:"accept"`
	Getenv func(string) string
}

func newSuggest(f *Factory) *cobra.Command {
	o := &suggestOptions{Factory: f, Min: 2, Getenv: os.Getenv}
	return command("policy suggest", some(0, 0), o, o.run)
}

// suggestJSON is the output of `obstat policy suggest --json`.
type suggestJSON struct {
	*suggest.Report
	Accepted []string `json:"accepted"`
	File     string   `json:"file,omitempty"`
}

func (o *suggestOptions) run(ctx context.Context, _ []string) error {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	if dir, err := o.dir(o.Policy.Dir); err != nil {
		return err
	} else if _, no := o.person(dir); no != nil && o.Accept {
		return no
	}
	o.Policy.Parse = true
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
	rep, err := suggest.Suggest(p.Loaded, store.Records(ctx, ledger.Query{Since: since}),
		&suggest.Options{Min: max(o.Min, 1)})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rep.List, func(a, b suggest.Suggestion) int { return strings.Compare(a.Kind(), b.Kind()) })
	out := suggestJSON{rep, []string{}, p.Into()}
	place := cmp.Or(out.File, p.Dir)
	_, no := o.person(place)
	asks := o.IO.InTTY && o.IO.OutTTY && !o.jsonFlag && no == nil
	accepted, err := o.choose(&out, o.title(p.Input.Names()), asks)
	if err == nil && len(accepted) > 0 {
		var who *person.Who
		if who, err = o.accept(place, "Write them?", true); err == nil {
			err = o.write(ctx, p, accepted, who)
		}
	}
	if err != nil {
		return err
	}
	return o.show(out, func(s *screen) {
		if len(accepted) > 0 {
			s.printf("\n%s written into %s\n", plural(len(accepted), "rule"), visible(o.short(out.File)))
		} else if len(rep.List) > 0 && !asks {
			s.printf("\nto accept them, run this in a terminal, or with --accept\n")
		}
	})
}

// choose shows the suggestions, by kind, and returns the rules that are accepted: all with
// --accept, else those that the person at the terminal says yes to.
func (o *suggestOptions) choose(out *suggestJSON, title string, asks bool) (accepted []obstat.Offer, err error) {
	s := newScreen(o.IO)
	s.suggestions(out.Report, title)
	for i := range out.List {
		g := &out.List[i]
		if i == 0 || g.Kind() != out.List[i-1].Kind() {
			s.printf("\n%s\n", s.io.paint(bold, g.Kind()))
		}
		s.suggestion(g)
		if asks {
			if err := s.flush(o.IO.Out); err != nil {
				return nil, err
			}
		}
		if o.Accept || asks && o.IO.yes("write it into "+visible(o.short(out.File))+"?") {
			accepted, out.Accepted = append(accepted, g.Offers...), append(out.Accepted, g.Rules...)
		}
	}
	if o.jsonFlag {
		return accepted, nil
	}
	return accepted, s.flush(o.IO.Out)
}

// write adds the rules to the policy's file, and keeps them as accepted.
func (o *suggestOptions) write(ctx context.Context, p *loaded, offers []obstat.Offer, who *person.Who) error {
	files := &gate.Files{Names: o.Policy.Files, Dialect: o.Policy.Dialect, Dir: p.Dir, Home: p.where.Home,
		Getenv: o.Getenv, Mine: true, Who: who}
	return files.Accept(ctx, &gate.Accepted{Policy: p.Loaded, Call: &obstat.Call{Dir: p.Dir, Roots: []string{p.Dir}},
		Rules: offers, By: userName()})
}

func (s *screen) suggestions(rep *suggest.Report, title string) {
	switch {
	case rep.Asks == 0:
		s.printf("of %s in the ledger %s asks about none\n", plural(rep.Calls, "call"), visible(title))
	case len(rep.List) == 0:
		s.printf("%s asks about %d of %s, and no rule would settle several of them and nothing else\n", visible(title),
			rep.Asks, plural(rep.Calls, "call"))
	default:
		s.printf("%s asks about %d of %s; with these rules it would ask about %d\n", visible(title), rep.Asks,
			plural(rep.Calls, "call"), rep.Left)
	}
}

func (s *screen) suggestion(g *suggest.Suggestion) {
	s.printf("%s  %s\n", fmt.Sprintf("%4d asks", g.Asks), visible(strings.Join(g.Rules, "  and  ")))
	for _, c := range g.Calls {
		s.printf("           %s\n", s.io.paint(dim, clip(visible(c), s.width-12)))
	}
}

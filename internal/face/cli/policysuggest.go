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
	pile   bool // of the rules of files, in place of the ledger
}

func newSuggest(f *Factory) *cobra.Command {
	o := &suggestOptions{Factory: f, Min: 2, Getenv: os.Getenv}
	return command("policy suggest", some(0, -1), o, o.run)
}

// suggestJSON is the output of `obstat policy suggest --json`.
type suggestJSON struct {
	*suggest.Report
	Accepted []string `json:"accepted"`
	File     string   `json:"file,omitempty"`
}

func (o *suggestOptions) run(ctx context.Context, files []string) error {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	if o.pile = len(files) > 0; o.pile {
		o.Policy.Files = files
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
	var rep *suggest.Report
	if opts := (&suggest.Options{Min: max(o.Min, 1)}); o.pile {
		rep, err = suggest.Pile(p.Loaded, opts)
	} else {
		rep, err = o.ledger(ctx, p, since, opts)
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(rep.List, func(a, b suggest.Suggestion) int { return strings.Compare(a.Kind(), b.Kind()) })
	out := suggestJSON{rep, []string{}, p.Into()}
	place := cmp.Or(out.File, p.Dir)
	_, no := o.person(place)
	asks := o.IO.InTTY && o.IO.OutTTY && !o.jsonFlag && no == nil
	accepted, gone, err := o.choose(&out, o.title(p.Input.Names()), asks)
	if err == nil && len(accepted)+len(gone) > 0 {
		var who *person.Who
		who, err = o.accept(place, "Write them?", true)
		switch {
		case err != nil:
		case o.pile:
			err = p.Swap(p.Into(), gone, accepted...)
		default:
			err = o.write(ctx, p, accepted, who)
		}
	}
	if err != nil {
		return err
	}
	return o.show(out, func(s *screen) {
		if len(accepted)+len(gone) > 0 {
			s.printf("\n%s written into %s", plural(len(accepted), "rule"), visible(o.short(out.File)))
			if o.pile {
				s.printf(", and %s taken out that they cover", plural(len(gone), "rule"))
			}
			s.printf("\n")
		} else if len(rep.List) > 0 && !asks {
			s.printf("\nto accept them, run this in a terminal, or with --accept\n")
		}
	})
}

// ledger looks through the ledger for asks that rules would settle.
func (o *suggestOptions) ledger(ctx context.Context, p *loaded, since time.Time, opts *suggest.Options) (
	*suggest.Report, error) {
	store, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	o.announce(p)
	return suggest.Suggest(p.Loaded, store.Records(ctx, ledger.Query{Since: since}), opts)
}

// choose shows the suggestions, by kind, and returns the rules that are accepted, with the places of those that they
// cover: all with --accept, else those that the person at the terminal says yes to.
func (o *suggestOptions) choose(out *suggestJSON, title string, asks bool) (accepted []obstat.Offer, gone []obstat.Pos,
	err error) {
	s := newScreen(o.IO)
	unit := "asks"
	if o.pile {
		unit = "rules"
		s.pile(out.Report, title)
	} else {
		s.suggestions(out.Report, title)
	}
	for i := range out.List {
		g := &out.List[i]
		if i == 0 || g.Kind() != out.List[i-1].Kind() {
			s.printf("\n%s\n", s.io.paint(bold, g.Kind()))
		}
		s.suggestion(g, unit)
		if asks {
			if err := s.flush(o.IO.Out); err != nil {
				return nil, nil, err
			}
		}
		question := "write it into "
		if len(g.Rules) == 0 {
			question = "take their rules out of "
		}
		if o.Accept || asks && o.IO.yes(question+visible(o.short(out.File))+"?") {
			accepted, out.Accepted = append(accepted, g.Offers...), append(out.Accepted, g.Rules...)
			gone = append(gone, g.Gone...)
		}
	}
	if o.jsonFlag {
		return accepted, gone, nil
	}
	return accepted, gone, s.flush(o.IO.Out)
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

// pile says how many rules of a file are for one command each, and how many of them there would be.
func (s *screen) pile(rep *suggest.Report, title string) {
	switch {
	case rep.Calls == 0:
		s.printf("%s has no rule that allows one command\n", visible(title))
	case len(rep.List) == 0:
		s.printf("%s has %s for one command each, and no rule would say several of them and nothing that does harm\n",
			visible(title), plural(rep.Calls, "rule"))
	default:
		left := rep.Calls
		for i := range rep.List {
			left += len(rep.List[i].Rules) - len(rep.List[i].Gone)
		}
		s.printf("%s has %s for one command each; %d would do\n", visible(title), plural(rep.Calls, "rule"), left)
	}
}

func (s *screen) suggestion(g *suggest.Suggestion, unit string) {
	rules := visible(strings.Join(g.Rules, "  and  "))
	if len(g.Rules) == 0 {
		rules = "not needed: the commands are allowed all the same"
	}
	s.printf("%s  %s\n", fmt.Sprintf("%4d %s", g.Asks, unit), rules)
	for _, c := range g.Calls {
		s.printf("           %s\n", s.io.paint(dim, clip(visible(c), s.width-12)))
	}
}

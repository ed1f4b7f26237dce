package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/policy"
)

// trustOptions are the options of obstat trust.
type trustOptions struct {
	*Factory
	Dir     string
	Yes     bool
	Off, On bool
	Getenv  func(string) string
}

func newTrust(f *Factory) *cobra.Command {
	o := &trustOptions{Factory: f, Getenv: os.Getenv}
	cmd := command("trust", some(0, 1), func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			o.Dir = args[0]
		}
		if o.Off && o.On {
			return usagef("--off and --on exclude each other")
		}
		return trustRun(ctx, o)
	})
	fl := cmd.Flags()
	fl.BoolVarP(&o.Yes, "yes", "y", false, "accept without asking")
	fl.BoolVar(&o.Off, "off", false, "let what is on disk count as it is, everywhere")
	fl.BoolVar(&o.On, "on", false, "undo --off")
	return cmd
}

// trustJSON is the output of `obstat trust --json`.
type trustJSON struct {
	V        int          `json:"v"`
	New      []policy.New `json:"new"`
	Accepted bool         `json:"accepted"`
}

func trustRun(ctx context.Context, o *trustOptions) error {
	if policy.ByAgent(o.Getenv) {
		return errors.New("an agent runs this; what its policy is worth is for a person to say, in a terminal of their own")
	}
	dir, err := o.dir(o.Dir)
	if err != nil {
		return err
	}
	home, _ := o.World.Home("")
	w := &policy.Where{Dir: dir, Home: home, Getenv: o.Getenv, Mine: true, Every: true}
	if o.Off || o.On {
		return new(policy.Finder).Off(ctx, w, o.Off, userName())
	}
	return o.accept(ctx, w)
}

// maxRounds bounds how often changes are shown again.
const maxRounds = 5

// accept shows the new rules, asks, and accepts them; again where they have changed
// meanwhile.
func (o *trustOptions) accept(ctx context.Context, w *policy.Where) error {
	f, s := new(policy.Finder), o.IO
	in := bufio.NewReader(s.In)
	for range maxRounds {
		found, err := f.Find(w)
		if err == nil {
			err = found.Err()
		}
		if err != nil {
			return err
		}
		if len(found.New) == 0 {
			if o.jsonFlag {
				return writeJSON(s.Out, trustJSON{1, []policy.New{}, true})
			}
			_, err := fmt.Fprintf(s.Out, "nothing is new here%s\n", map[bool]string{false: ": pins are " + found.Pins}[found.Pins == "on"])
			return err
		}
		yes, err := o.ask(in, found)
		if err != nil {
			return err
		}
		if !yes {
			return done(ExitAsk)
		}
		if err = f.Pin(ctx, found, w, userName()); err == nil {
			if o.jsonFlag {
				return writeJSON(s.Out, trustJSON{1, found.New, true})
			}
			_, err = fmt.Fprintln(s.Out, "accepted")
			return err
		}
		if !errors.Is(err, policy.ErrChanged) {
			return err
		}
		fmt.Fprintln(s.Err, "it has changed meanwhile; this is how it stands now:")
	}
	return policy.ErrChanged
}

// ask shows the new rules and asks whether they are accepted.
func (o *trustOptions) ask(in *bufio.Reader, found *policy.InForce) (bool, error) {
	s := o.IO
	if !o.jsonFlag {
		sc := newScreen(s)
		sc.news(found.New)
		if _, err := fmt.Fprint(s.Out, sc.b.String()); err != nil {
			return false, err
		}
	}
	if o.Yes {
		return true, nil
	}
	if o.jsonFlag {
		return false, writeJSON(s.Out, trustJSON{1, found.New, false})
	}
	if !s.InTTY {
		return false, usagef("nobody can be asked here; --yes accepts what is shown")
	}
	fmt.Fprint(s.Out, "accept all of it? [y/N] ")
	line, err := in.ReadString('\n')
	if err != nil {
		return false, nil
	}
	return strings.EqualFold(strings.TrimSpace(line), "y") || strings.EqualFold(strings.TrimSpace(line), "yes"), nil
}

// maxNews bounds how many changes of a place are shown one by one.
const maxNews = 200

// news writes the rules that wait to be accepted, one a line.
func (s *screen) news(news []policy.New) {
	for _, nw := range news {
		what := "has changed since it was accepted"
		if nw.First {
			what = "was never accepted"
		}
		s.text("new", fmt.Sprintf("the policy of %s %s (obstat trust %s)", nw.Place, what, nw.Place))
		for i, c := range nw.Changes {
			if i == maxNews {
				s.text("", fmt.Sprintf("… %d more", len(nw.Changes)-i))
				break
			}
			sign := map[string]string{policy.Added: "+", policy.Removed: "-"}[c.Kind]
			if sign == "" {
				sign = "~"
			}
			verdict := ""
			if c.Pos.IsValid() {
				verdict = s.io.paint(verdictInk(c.Verdict), c.Verdict.String()) + " "
			}
			s.line("", fmt.Sprintf("%s %s%s  %s", sign, verdict, visible(c.Text), s.io.paint(dim, visible(c.Pos.String()))))
		}
	}
}

// offerTrust shows the new rules of a project after an install there, and asks
// whether they are accepted, if a person can be asked.
func (f *Factory) offerTrust(ctx context.Context, dir string) error {
	o := &trustOptions{Factory: f, Dir: dir, Getenv: os.Getenv}
	home, _ := f.World.Home("")
	w := &policy.Where{Dir: dir, Home: home, Getenv: os.Getenv, Mine: true, Every: true}
	found, err := new(policy.Finder).Find(w)
	if err != nil || len(found.New) == 0 || f.jsonFlag || policy.ByAgent(os.Getenv) {
		return err
	}
	if !f.IO.InTTY {
		for _, nw := range found.New {
			fmt.Fprintf(f.IO.Err, "the policy of %s waits to be accepted: obstat trust %s\n", visible(nw.Place), visible(nw.Place))
		}
		return nil
	}
	if err := o.accept(ctx, w); !errors.As(err, new(exit)) {
		return err
	}
	return nil // not now
}

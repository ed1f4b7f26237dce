package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
)

// convertOptions are the options of obstat policy convert.
type convertOptions struct {
	*Factory
	Policy policyOptions
	To     string `flag:"to" words:"native"`
	Loose  bool   `flag:"loose"`
	Most   int    `flag:"most"`
}

func newConvert(f *Factory) *cobra.Command {
	o := &convertOptions{Factory: f, To: native.Name, Most: 10}
	return command("policy convert", some(0, -1), o, o.run)
}

func (o *convertOptions) run(_ context.Context, files []string) error {
	if o.To != native.Name {
		return usagef("--to takes %s, not %q", native.Name, o.To)
	}
	o.Policy.Files, o.Policy.Parse = files, true
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if p.Dialect.Name() == native.Name {
		return usagef("%s is an obstat.yaml already", o.title(p.Input.Names()))
	}
	o.announce(p)
	res, err := convert.ToNative(p.Loaded, &convert.Options{Loose: o.Loose})
	if err != nil {
		return err
	}
	refused := res.Differences.Looser > 0 && !o.Loose
	switch {
	case o.jsonFlag:
		err = writeJSON(o.IO.Out, res)
	case !refused:
		_, err = io.WriteString(o.IO.Out, res.Text)
	}
	if err == nil && !o.jsonFlag {
		s := newScreen(o.IO)
		s.converted(res, o.Most, refused)
		err = s.flush(o.IO.Err)
	}
	if err != nil || res.Differences.Looser == 0 {
		return err
	}
	return done(ExitAsk)
}

// converted lists the rules without a sentence and the regions in which the two policies differ.
func (s *screen) converted(res *convert.Result, most int, refused bool) {
	if refused {
		s.printf("nothing is written: some calls would be freer than before; --loose writes it all the same\n\n")
	}
	s.printf("%s; %s without one\n", plural(res.Said, "sentence"), plural(len(res.Unsaid), "rule"))
	for i := range res.Unsaid {
		u := &res.Unsaid[i]
		place := ""
		if u.Pos.IsValid() {
			place = " " + u.Pos.String()
		}
		s.printf("\n%s rule %s%s\n", u.Verdict, visible(u.Rule), visible(place))
		s.text("not", u.Why)
	}
	d := res.Differences
	if len(d.Regions) == 0 {
		s.printf("\nthe two decide alike: %s tried, none flips\n", plural(d.Tried, "call"))
		return
	}
	s.printf("\nwhere the two differ: %s looser, %s stricter\n", plural(d.Looser, "region"), plural(d.Tighter, "region"))
	s.first(len(d.Regions), most, "lists", func(i int) { s.region(&d.Regions[i]) })
}

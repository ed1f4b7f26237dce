package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/jsonl"
)

func newExplain(f *Factory, runF func(*checkOptions) error) *cobra.Command {
	o := &checkOptions{Factory: f}
	return o.command(&cobra.Command{
		Use:   "explain [flags] [TOOL [INPUT-JSON]]",
		Short: "Decide a call and show how that came about and what would change it",
		Long: `Decide a call as obstat check does and show the whole way to the answer: the part
that decided, the rule and where it is written, why, what the call would do,
what each stage looked at, what the floor did, and the smallest changes that
would turn the verdict. Each change was tried; none that would free a shell,
an interpreter or a wrapper is shown.`,
		Example: `  obstat explain -p .claude/settings.json Bash --command 'env CI=1 rm -rf build && npm test'
  obstat explain --json -p obstat.json Write --path ~/.bashrc`,
	}, explainRun, runF)
}

func explainRun(o *checkOptions) error {
	p, err := o.load()
	if err != nil {
		return err
	}
	if o.Stream {
		return explainStream(o, p)
	}
	call, err := o.Call.call(p, o.Factory.World)
	if err != nil {
		return err
	}
	v := explainCall(o.Factory, p, call)
	if err := o.show(o.Factory.IO.Out, p, v); err != nil {
		return err
	}
	return done(exitOf(v.Verdict))
}

func explainCall(f *Factory, p *policy, call *obstat.Call) *explain.View {
	return explain.Explain(&explain.Request{Program: p.Program, Policy: p.Policy, Library: dialect.LibraryFor(p.Dialect, p.Program), Call: call, World: f.World, Files: p.names(),
		Offers: func(d *obstat.Decision) []obstat.Offer { return p.Offers(call, f.World, d) }})
}

// explainJSON is what --json prints for one call.
type explainJSON struct {
	*explain.View
	Dialect string   `json:"dialect"`
	Policy  string   `json:"policy"` // digest
	Files   []string `json:"files"`
}

func (o *checkOptions) show(w io.Writer, p *policy, v *explain.View) error {
	if !o.Factory.jsonFlag {
		_, err := io.WriteString(w, newScreen(o.Factory.IO).render(v))
		return err
	}
	return writeJSON(w, explainJSON{View: v, Dialect: p.Dialect.Name(), Policy: p.Policy.Digest(), Files: p.names()})
}

// explainStream explains the calls on standard input, one after the other.
func explainStream(o *checkOptions, p *policy) error {
	s := o.Factory.IO
	lines := jsonl.NewReader(s.In)
	out := bufio.NewWriter(s.Out)
	worst := ExitOK
	for n := 0; ; n++ {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if n > 0 && !o.Factory.jsonFlag {
			fmt.Fprintln(out)
		}
		var call *obstat.Call
		if err == nil {
			call, err = parseCall("standard input", lines.Line(), line)
		}
		var es obstat.Errors
		switch {
		case err == nil:
			o.Call.defaults(call, p.Dir)
			v := explainCall(o.Factory, p, call)
			err = o.show(out, p, v)
			worst = worse(worst, exitOf(v.Verdict))
		case errors.As(err, &es), errors.Is(err, jsonl.ErrTooLong):
			_, err = o.line(out, p, lines.Line(), line, tooLong(err))
			worst = ExitError
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
	}
	return done(worst)
}

func tooLong(err error) error {
	if errors.Is(err, jsonl.ErrTooLong) {
		return err
	}
	return nil
}

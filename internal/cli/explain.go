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

func newExplain(f *Factory) *cobra.Command {
	return (&checkOptions{Factory: f}).command("explain", explainRun)
}

func explainRun(o *checkOptions) error {
	p, err := o.policy()
	if err != nil {
		return err
	}
	if o.Stream {
		return explainStream(o, p)
	}
	call, err := o.Call.call(p, o.World)
	if err != nil {
		return err
	}
	v, err := explainCall(o.Factory, p, call)
	if err != nil {
		return err
	}
	if err := o.show(o.IO.Out, v); err != nil {
		return err
	}
	return done(exitOf(v.Verdict))
}

// explainCall explains the answer of the policy that decides, and says where files
// that wait to be accepted would be looser.
func explainCall(f *Factory, p *loaded, call *obstat.Call) (*explainJSON, error) {
	a, err := p.decide(call, f.World)
	if err != nil {
		return nil, err
	}
	by := a.By
	v := explain.Explain(&explain.Request{Program: by.Program, Policy: by.Loaded.Policy, Library: dialect.LibraryFor(by.Dialect, by.Program), Call: &a.Call, World: f.World, Files: namesOf(by),
		Offers: func(*obstat.Decision) []obstat.Offer { return a.Offers }})
	if a.Waits != "" || v.Verdict != a.Verdict {
		v.Decision, v.By, v.Why, v.Changes = explain.NewDecision(&a.Decision), explain.By{Kind: "check", Text: a.Stage}, a.Reason(), nil
	}
	return &explainJSON{View: v, Dialect: by.Dialect.Name(), Policy: by.Loaded.Policy.Digest(), Files: namesOf(by), Waits: a.Waits}, nil
}

// explainJSON is what --json prints for one call.
type explainJSON struct {
	*explain.View
	Dialect string   `json:"dialect"`
	Policy  string   `json:"policy"` // digest
	Files   []string `json:"files"`
	// Waits is the directory whose files would be looser and wait to be accepted.
	Waits string `json:"waits,omitempty"`
}

func (o *checkOptions) show(w io.Writer, v *explainJSON) error {
	if !o.jsonFlag {
		_, err := io.WriteString(w, newScreen(o.IO).render(v.View))
		return err
	}
	return writeJSON(w, v)
}

// explainStream explains the calls on standard input, one after the other.
func explainStream(o *checkOptions, p *loaded) error {
	s := o.IO
	lines := jsonl.NewReader(s.In)
	out := bufio.NewWriter(s.Out)
	worst := ExitOK
	for n := 0; ; n++ {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if n > 0 && !o.jsonFlag {
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
			var v *explainJSON
			if v, err = explainCall(o.Factory, p, call); err == nil {
				err = o.show(out, v)
				worst = worse(worst, exitOf(v.Verdict))
			}
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

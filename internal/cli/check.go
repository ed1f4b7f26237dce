package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/jsonl"
	"github.com/obstat/obstat/policy"
)

// checkOptions are the options of obstat check and, but for how the answer is
// shown, of obstat explain.
type checkOptions struct {
	*Factory
	Policy policyOptions
	Call   callOptions
	// Stream: the calls come as JSON lines on standard input.
	Stream bool
}

func (o *checkOptions) flags(cmd *cobra.Command) {
	o.Policy.flags(cmd, true)
	o.Call.flags(cmd)
}

func (o *checkOptions) args(args []string) error {
	if err := o.Call.args(args); err != nil {
		return err
	}
	o.Stream = len(args) == 0
	if o.Stream && o.IO.InTTY {
		return usagef("name a TOOL, or give calls as JSON lines on standard input")
	}
	return nil
}

// command makes the command of a name that reads these options and does run.
func (o *checkOptions) command(name string, run func(*checkOptions) error) *cobra.Command {
	cmd := command(name, some(0, 2), func(_ context.Context, args []string) error {
		if err := o.args(args); err != nil {
			return err
		}
		return run(o)
	})
	o.flags(cmd)
	return cmd
}

func newCheck(f *Factory) *cobra.Command {
	return (&checkOptions{Factory: f}).command("check", checkRun)
}

func checkRun(o *checkOptions) error {
	p, err := o.policy()
	if err != nil {
		return err
	}
	if o.Stream {
		return checkStream(o, p)
	}
	call, err := o.Call.call(p, o.World)
	if err != nil {
		return err
	}
	d, err := p.decide(call, o.World)
	if err != nil {
		return err
	}
	if o.jsonFlag {
		err = writeJSON(o.IO.Out, newCheckJSON(&d, 0))
	} else {
		s := o.IO
		_, err = fmt.Fprintf(s.Out, "%s  %s\n", s.paint(verdictInk(d.Verdict), pad(d.Verdict.String(), 5)), visible(d.Reason()))
	}
	if err != nil {
		return err
	}
	return done(exitOf(d.Verdict))
}

// policy loads the policy and says what has to be said of it.
func (o *checkOptions) policy() (*loaded, error) {
	p, err := o.load(&o.Policy)
	if err != nil {
		return nil, err
	}
	if err := o.Call.checkMode(p); err != nil {
		return nil, err
	}
	o.announce(p)
	o.warn(p)
	return p, nil
}

// checkJSON is what --json prints for one call.
type checkJSON struct {
	V    int `json:"v"`
	Line int `json:"line,omitempty"`
	explain.Decision
	Dialect string   `json:"dialect"`
	Policy  string   `json:"policy"` // digest
	Files   []string `json:"files"`
	// Waits is the directory whose files would be looser and wait to be accepted.
	Waits string `json:"waits,omitempty"`
}

// lineErrorJSON is what --json prints for a line that is no call.
type lineErrorJSON struct {
	V      int           `json:"v"`
	Line   int           `json:"line"`
	Errors obstat.Errors `json:"errors"`
}

func newCheckJSON(d *policy.Answer, line int) checkJSON {
	return checkJSON{V: explain.Version, Line: line, Decision: explain.NewDecision(&d.Decision), Dialect: d.By.Dialect.Name(), Policy: d.By.Loaded.Policy.Digest(), Files: namesOf(d.By), Waits: d.Waits}
}

// checkStream answers the calls on standard input, one line each, as they come.
func checkStream(o *checkOptions, p *loaded) error {
	s := o.IO
	lines := jsonl.NewReader(s.In)
	out := bufio.NewWriter(s.Out)
	worst := ExitOK
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, jsonl.ErrTooLong) {
			out.Flush()
			return obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: "standard input", Line: lines.Line() + 1}, Msg: err.Error()}}
		}
		code, err := o.line(out, p, lines.Line(), line, err)
		if err == nil {
			err = out.Flush() // whoever sends one call waits for its answer
		}
		if err != nil {
			return err
		}
		worst = worse(worst, code)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return done(worst)
}

// line answers one line; tooLong is why it could not be read.
func (o *checkOptions) line(w io.Writer, p *loaded, n int, src []byte, tooLong error) (ExitCode, error) {
	f := o.Factory
	call, err := (*obstat.Call)(nil), error(obstat.Errors{{Code: obstat.CodeTooLarge, Pos: obstat.Pos{Line: n, Col: 1}, Msg: fmt.Sprint(tooLong)}})
	if tooLong == nil {
		call, err = parseCall("", n, src)
	}
	var es obstat.Errors
	if errors.As(err, &es) {
		if f.jsonFlag {
			return ExitError, writeJSON(w, lineErrorJSON{explain.Version, n, es})
		}
		for _, e := range es {
			hint := ""
			if e.Hint != "" {
				hint = "; " + e.Hint
			}
			if _, err := fmt.Fprintf(w, "%d:%d: %s: %s [%s]%s\n", n, e.Pos.Col, f.IO.paint(red, "error"), visible(e.Msg), e.Code, visible(hint)); err != nil {
				return ExitError, err
			}
		}
		return ExitError, nil
	}
	o.Call.defaults(call, p.Dir)
	d, err := p.decide(call, f.World)
	if err != nil {
		return ExitError, err
	}
	if f.jsonFlag {
		err = writeJSON(w, newCheckJSON(&d, n))
	} else {
		_, err = fmt.Fprintf(w, "%d: %s %s: %s\n", n, f.IO.paint(verdictInk(d.Verdict), d.Verdict.String()),
			clip(visible(callWords(call)), f.IO.width()), visible(d.Reason()))
	}
	return exitOf(d.Verdict), err
}

// modesOf returns the modes of a Program, sorted.
func modesOf(p *obstat.Program) []string {
	out := make([]string, 0, len(p.Pipelines))
	for m := range p.Pipelines {
		out = append(out, string(m))
	}
	slices.Sort(out)
	return out
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/cases"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/jsonl"
	"github.com/obstat/obstat/policy"
)

// checkOptions are the options of obstat check and obstat explain.
type checkOptions struct {
	*Factory
	Policy policyOptions
	Call   callOptions
	// Answer decides a call and writes the answer. line is that of standard input, zero
	// where the call is in the arguments.
	Answer func(w io.Writer, p *loaded, call *obstat.Call, line int) (obstat.Verdict, error)
	Gap    string // between two answers in text
}

func newCheck(f *Factory) *cobra.Command {
	return (&checkOptions{Factory: f, Answer: f.check}).command("check")
}

func newExplain(f *Factory) *cobra.Command {
	return (&checkOptions{Factory: f, Answer: f.explain, Gap: "\n"}).command("explain")
}

func (o *checkOptions) command(name string) *cobra.Command {
	cmd := command(name, some(0, 2), func(_ context.Context, args []string) error {
		if err := o.Call.args(args); err != nil {
			return err
		}
		if len(args) == 0 && o.IO.InTTY {
			return usagef("name a TOOL, or give calls as JSON lines on standard input")
		}
		return o.run(len(args) == 0)
	})
	o.Policy.flags(cmd, true)
	o.Call.flags(cmd)
	return cmd
}

// run answers the call of the arguments, or each call of a stream.
func (o *checkOptions) run(stream bool) error {
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if err := checkMode(p, o.Call.Mode); err != nil {
		return err
	}
	o.announce(p)
	o.warn(p)
	if stream {
		return o.stream(p)
	}
	call, err := o.Call.call(p, o.World)
	if err != nil {
		return err
	}
	v, err := o.Answer(o.IO.Out, p, call, 0)
	return cmp.Or(err, done(exitOf(v)))
}

// stream answers the calls on standard input, one line each, as they come: a program that
// sends one call waits for its answer before it sends the next.
func (o *checkOptions) stream(p *loaded) error {
	lines := jsonl.NewReader(o.IO.In)
	out := bufio.NewWriter(o.IO.Out)
	worst := ExitOK
	for first := true; ; first = false {
		src, err := lines.Next()
		if err == io.EOF {
			return cmp.Or(out.Flush(), done(worst))
		}
		n := lines.Line()
		if err != nil && !errors.Is(err, jsonl.ErrTooLong) {
			out.Flush()
			return obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: "standard input", Line: n + 1}, Msg: err.Error()}}
		}
		if !first && !o.jsonFlag {
			fmt.Fprint(out, o.Gap)
		}
		code := ExitError
		var call *obstat.Call
		if err != nil {
			err = obstat.Errors{{Code: obstat.CodeTooLarge, Pos: obstat.Pos{Line: n, Col: 1}, Msg: err.Error()}}
		} else {
			call, err = cases.ParseCall("", n, src)
		}
		var es obstat.Errors
		if errors.As(err, &es) {
			err = o.refuse(out, n, es)
		} else {
			var v obstat.Verdict
			o.Call.defaults(call, p.Dir)
			v, err = o.Answer(out, p, call, n)
			code = exitOf(v)
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
		worst = worse(worst, code)
	}
}

// lineErrorJSON is what --json prints for a line that is no call.
type lineErrorJSON struct {
	V      int           `json:"v"`
	Line   int           `json:"line"`
	Errors obstat.Errors `json:"errors"`
}

// refuse writes why a line is no call.
func (f *Factory) refuse(w io.Writer, n int, es obstat.Errors) error {
	if f.jsonFlag {
		return writeJSON(w, lineErrorJSON{explain.Version, n, es})
	}
	for _, e := range es {
		hint := ""
		if e.Hint != "" {
			hint = "; " + e.Hint
		}
		if _, err := fmt.Fprintf(w, "%d:%d: %s: %s [%s]%s\n", n, e.Pos.Col, f.IO.paint(red, "error"), visible(e.Msg), e.Code, visible(hint)); err != nil {
			return err
		}
	}
	return nil
}

// byJSON names the policy that decided.
type byJSON struct {
	Dialect string   `json:"dialect"`
	Policy  string   `json:"policy"` // digest
	Files   []string `json:"files"`
	// Waits is the directory whose files would be looser and wait to be accepted.
	Waits string `json:"waits,omitempty"`
}

func newByJSON(a *policy.Answer) byJSON {
	return byJSON{a.By.Dialect.Name(), a.By.Loaded.Policy.Digest(), namesOf(a.By), a.Waits}
}

// checkJSON is what obstat check --json prints for one call.
type checkJSON struct {
	V    int `json:"v"`
	Line int `json:"line,omitempty"`
	explain.Decision
	byJSON
}

// check decides a call and writes the answer on one line.
func (f *Factory) check(w io.Writer, p *loaded, call *obstat.Call, line int) (obstat.Verdict, error) {
	a, err := p.decide(call, f.World)
	if err != nil {
		return obstat.Deny, err
	}
	verdict := a.Verdict.String()
	switch look := verdictInk(a.Verdict); {
	case f.jsonFlag:
		err = writeJSON(w, checkJSON{explain.Version, line, explain.NewDecision(&a.Decision), newByJSON(&a)})
	case line == 0:
		_, err = fmt.Fprintf(w, "%s  %s\n", f.IO.paint(look, pad(verdict, 5)), visible(a.Reason()))
	default:
		_, err = fmt.Fprintf(w, "%d: %s %s: %s\n", line, f.IO.paint(look, verdict), clip(visible(callWords(call)), f.IO.width()), visible(a.Reason()))
	}
	return a.Verdict, err
}

// explainJSON is what obstat explain --json prints for one call.
type explainJSON struct {
	*explain.View
	byJSON
}

// explain explains the answer of the policy that decides, and says where files
// that wait to be accepted would be looser.
func (f *Factory) explain(w io.Writer, p *loaded, call *obstat.Call, _ int) (obstat.Verdict, error) {
	a, err := p.decide(call, f.World)
	if err != nil {
		return obstat.Deny, err
	}
	by := a.By
	v := explain.Explain(&explain.Request{Program: by.Program, Policy: by.Loaded.Policy, Library: dialect.LibraryFor(by.Dialect, by.Program), Call: &a.Call, World: f.World, Files: namesOf(by),
		Offers: func(*obstat.Decision) []obstat.Offer { return a.Offers }})
	if a.Waits != "" || v.Verdict != a.Verdict {
		v.Decision, v.By, v.Why, v.Changes = explain.NewDecision(&a.Decision), explain.By{Kind: "check", Text: a.Stage}, a.Reason(), nil
	}
	if f.jsonFlag {
		return v.Verdict, writeJSON(w, explainJSON{v, newByJSON(&a)})
	}
	s := newScreen(f.IO)
	s.explanation(v)
	return v.Verdict, s.flush(w)
}

// modesOf returns the modes of a Program, sorted.
func modesOf(p *obstat.Program) (out []string) {
	for _, m := range slices.Sorted(maps.Keys(p.Pipelines)) {
		out = append(out, string(m))
	}
	return out
}

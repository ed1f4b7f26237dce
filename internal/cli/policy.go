package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/lint"
)

func newPolicy(f *Factory) *cobra.Command {
	var cmd *cobra.Command
	cmd = command("policy", some(0, 0), func(context.Context, []string) error { return cmd.Help() })
	cmd.AddCommand(newShow(f), newValidate(f))
	return cmd
}

// allModes stands for every mode of a Program.
const allModes = "all"

// showOptions are the options of obstat policy show.
type showOptions struct {
	*Factory
	Policy policyOptions
	Format string
	Mode   string // "" is the one in force
}

func newShow(f *Factory) *cobra.Command {
	o := &showOptions{Factory: f}
	cmd := command("policy show", some(0, -1), func(_ context.Context, args []string) error {
		o.Policy.Files = append(o.Policy.Files, args...)
		if o.Format != "text" && o.Format != "json" && o.Format != "mermaid" {
			return usagef("--format takes text, json or mermaid, not %q", o.Format)
		}
		return showRun(o)
	})
	o.Policy.flags(cmd, true)
	cmd.Flags().StringVar(&o.Format, "format", "text", "`form` to print: text, json or mermaid")
	cmd.Flags().StringVarP(&o.Mode, "mode", "m", "", "the `mode` to print, or all (default: the one in force)")
	complete(cmd, "format", "text", "json", "mermaid")
	return cmd
}

// showJSON is the output of `obstat policy show --json`.
type showJSON struct {
	V        int             `json:"v"`
	Dialect  string          `json:"dialect"`
	Policy   string          `json:"policy"` // digest
	Files    []string        `json:"files"`
	Program  *obstat.Program `json:"program"`
	Warnings obstat.Errors   `json:"warnings,omitempty"`
}

func showRun(o *showOptions) error {
	o.Policy.Parse = true
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if o.Mode != allModes {
		if err := checkMode(p, o.Mode); err != nil {
			return err
		}
	}
	o.announce(p)
	o.warn(p)
	w := o.IO.Out
	switch {
	case o.jsonFlag:
		return writeJSON(w, showJSON{explain.Version, p.Dialect.Name(), p.Loaded.Policy.Digest(), p.names(), p.Program, p.Warnings})
	case o.Format == "json":
		return writePretty(w, p.Program)
	case o.Format == "mermaid":
		_, err = io.WriteString(w, mermaid(p.Program, o.modes(p)))
		return err
	}
	s := newScreen(o.IO)
	s.program(p, o.title(p.names()), o.modes(p))
	return s.flush(w)
}

// modes returns the modes to print: the one in force unless another is named.
func (o *showOptions) modes(p *loaded) []string {
	switch o.Mode {
	case allModes:
		return modesOf(p.Program)
	case "":
		return []string{string(p.Program.Mode)}
	}
	return []string{o.Mode}
}

// validateOptions are the options of obstat policy validate.
type validateOptions struct {
	*Factory
	Policy policyOptions
	Layers bool // the files are layers of one policy
	Strict bool // warnings count as errors
}

func newValidate(f *Factory) *cobra.Command {
	o := &validateOptions{Factory: f}
	cmd := command("policy validate", some(0, -1), func(_ context.Context, args []string) error {
		o.Policy.Files = args
		return validateRun(o)
	})
	o.Policy.flags(cmd, false)
	cmd.Flags().BoolVar(&o.Layers, "layers", false, "read the files as layers of one policy, lowest precedence first")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "end with an error if there are warnings")
	return cmd
}

// validateJSON is the output of `obstat policy validate --json` for each policy.
type validateJSON struct {
	V        int           `json:"v"`
	Files    []string      `json:"files"`
	Dialect  string        `json:"dialect,omitempty"`
	Valid    bool          `json:"valid"`
	Rules    int           `json:"rules"`
	Problems obstat.Errors `json:"problems"`
}

func validateRun(o *validateOptions) error {
	sets := [][]string{o.Policy.Files}
	if !o.Layers && len(o.Policy.Files) > 0 {
		sets = nil
		for _, name := range o.Policy.Files {
			sets = append(sets, []string{name})
		}
	}
	code := ExitOK
	for _, files := range sets {
		po := o.Policy
		po.Files = files
		c, err := o.validate(&po)
		if err != nil {
			return err
		}
		code = worse(code, c)
	}
	return done(code)
}

// validate reports on one policy.
func (o *validateOptions) validate(po *policyOptions) (ExitCode, error) {
	res := o.examine(po)
	code := ExitOK
	if !res.Valid || o.Strict && len(res.Problems) > 0 {
		code = ExitError
	}
	return code, o.show(res, func(s *screen) {
		o.problems(&s.b, res.Problems, s.io.OutTTY)
		verdict := s.io.paint(green, "valid")
		if !res.Valid {
			verdict = s.io.paint(red, "not valid")
		}
		note := ""
		if res.Dialect != "" {
			note = fmt.Sprintf("%s, %s, ", res.Dialect, plural(res.Rules, "rule"))
		}
		errs, warnings := count(res.Problems)
		s.printf("%s: %s: %s%s, %s\n", visible(o.title(res.Files)), verdict, note, plural(errs, "error"), plural(warnings, "warning"))
	})
}

// examine loads a policy and collects everything that can be said against it.
func (f *Factory) examine(po *policyOptions) (res validateJSON) {
	res = validateJSON{V: explain.Version, Files: po.Files, Problems: obstat.Errors{}}
	po.Parse = true
	p, err := f.find(po)
	if p != nil && p.inForce != nil {
		if p.Found {
			res.Files = p.inForce.Files()
		}
		if len(p.inForce.Looked) > 0 {
			res.Dialect = p.inForce.Looked[0].Dialect
		}
	}
	if err == nil {
		err = p.inForce.Err()
	}
	if err != nil {
		res.Problems = append(res.Problems, problemsOf(err)...)
		return res
	}
	res.Valid, res.Dialect = true, p.inForce.Main().Dialect.Name()
	for _, pol := range p.inForce.Policies {
		for _, rules := range pol.Program.Rules {
			res.Rules += len(rules)
		}
		res.Problems = append(res.Problems, pol.Warnings...)
		if lt, ok := pol.Dialect.(dialect.Linter); ok {
			res.Problems = append(res.Problems, lt.Lint(pol.Input, pol.Program)...)
		}
		res.Problems = append(res.Problems, lint.Program(pol.Program, &lint.Options{Files: namesOf(pol)})...)
	}
	res.Problems.Sort()
	return res
}

// problemsOf returns err as problems.
func problemsOf(err error) obstat.Errors {
	var es obstat.Errors
	if errors.As(err, &es) {
		return es
	}
	return obstat.Errors{{Code: obstat.CodeBadValue, Msg: err.Error()}}
}

func count(es obstat.Errors) (errs, warnings int) {
	for _, e := range es {
		if e.Warning {
			warnings++
		} else {
			errs++
		}
	}
	return errs, warnings
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

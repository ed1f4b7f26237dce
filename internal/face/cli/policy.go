package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/face/report"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/lint"
)

func newPolicy(f *Factory) *cobra.Command {
	var cmd *cobra.Command
	cmd = command("policy", some(0, 0), nil, func(context.Context, []string) error { return cmd.Help() })
	cmd.AddCommand(newShow(f), newValidate(f), newSchema(f), newDiff(f), newLint(f), newGC(f), newSuggest(f),
		newConvert(f), newExport(f))
	return cmd
}

// allModes stands for every mode of a Program.
const allModes = "all"

// showOptions are the options of obstat policy show.
type showOptions struct {
	*Factory
	Policy policyOptions
	Format string `flag:"format" words:"text json mermaid"`
	All    bool   `flag:"all"`    // built-in rules, too
	Mode   string `flag:"mode m"` // "" is the one in force
}

func newShow(f *Factory) *cobra.Command {
	o := &showOptions{Factory: f, Format: "text"}
	return command("policy show", some(0, -1), o, o.run)
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

func (o *showOptions) run(_ context.Context, args []string) error {
	o.Policy.Files = append(o.Policy.Files, args...)
	if o.Format != "text" && o.Format != "json" && o.Format != "mermaid" {
		return usagef("--format takes text, json or mermaid, not %q", o.Format)
	}
	o.Policy.Parse = true
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if o.Mode != allModes {
		if err := (&callOptions{said: map[string]*said{"mode": {text: o.Mode}}}).check(p); err != nil {
			return err
		}
	}
	o.announce(p)
	o.warn(p)
	w := o.IO.Out
	switch {
	case o.jsonFlag:
		return writeJSON(w, showJSON{explain.Version, p.Dialect.Name(), p.Loaded.Policy.Digest(), p.Input.Names(),
			p.Program, p.Warnings})
	case o.Format == "json":
		return writePretty(w, p.Program)
	case o.Format == "mermaid":
		_, err = io.WriteString(w, mermaid(p.Program, o.modes(p)))
		return err
	}
	s := newScreen(o.IO)
	s.program(p, o.title(p.Input.Names()), o.modes(p), o.All)
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
	formOptions
	Policy policyOptions
	Layers bool             `flag:"layers"` // the files are layers of one policy
	Strict bool             `flag:"strict"` // warnings count as errors
	Watch  bool             `flag:"watch w"`
	Tick   <-chan time.Time // looks again when watching; nil: twice a second
	found  []report.Finding // for --format
}

func newValidate(f *Factory) *cobra.Command {
	o := &validateOptions{Factory: f}
	return command("policy validate", some(0, -1), o, untilInterrupt(o.run))
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

func (o *validateOptions) run(ctx context.Context, files []string) error {
	sets := [][]string{files}
	if !o.Layers && len(files) > 0 {
		sets = nil
		for _, name := range files {
			sets = append(sets, []string{name})
		}
	}
	switch err := o.readForm(o.Factory); {
	case err != nil:
		return err
	case o.Watch && o.Format != "":
		return usagef("--watch reports again and again: it has no --format")
	case o.Watch:
		return o.watch(ctx, sets)
	}
	code, err := o.validateAll(sets)
	if err == nil && o.Format != "" {
		err = o.writeForm(o.Factory, files, o.found)
	}
	if err != nil {
		return err
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
	if o.Format != "" {
		o.found = append(o.found, report.Of(res.Problems)...)
		return code, nil
	}
	return code, o.show(res, func(s *screen) {
		o.problems(&s.b, lint.Fold(res.Problems), s.io.OutTTY)
		verdict := s.io.paint(green, "valid")
		if !res.Valid {
			verdict = s.io.paint(red, "not valid")
		}
		note := ""
		if res.Dialect != "" {
			note = fmt.Sprintf("%s, %s, ", res.Dialect, plural(res.Rules, "rule"))
		}
		errs, warnings := count(res.Problems)
		s.printf("%s: %s: %s%s, %s\n", visible(o.title(res.Files)), verdict, note, plural(errs, "error"),
			plural(warnings, "warning"))
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
		res.Problems = append(res.Problems, obstat.ErrorsOf(err)...)
		return res
	}
	res.Valid, res.Dialect = true, p.inForce.Main().Dialect.Name()
	places := map[obstat.Pos]bool{} // one line of a file may stand in several lists
	for _, pol := range p.inForce.Policies {
		for _, rules := range pol.Program.Rules {
			for i := range rules {
				if writtenIn(&rules[i], pol.Input.Names()) {
					places[rules[i].Pos] = true
				}
			}
		}
		res.Rules = len(places)
		res.Problems = slices.Concat(res.Problems, pol.Warnings, dialect.Lint(pol.Loaded))
		res.Problems = append(res.Problems, lint.Program(pol.Program,
			&lint.Options{Files: pol.Input.Names(), Sees: pol.Dialect.Info().Sees, Now: time.Now()})...)
	}
	res.Problems.Sort()
	return res
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

// maxShown bounds how many rules of a list are printed.
const maxShown = 200

// program prints the stages of some modes, and the rules of their lists.
func (s *screen) program(p *loaded, title string, modes []string, all bool) {
	prog := p.Program
	s.printf("%s  %s\n", s.io.paint(bold, visible(title)), s.io.paint(dim,
		p.Dialect.Name()+"  "+p.Loaded.Policy.Digest()[:19]))
	used := map[string]bool{}
	for _, m := range modes {
		s.mode(prog, obstat.Mode(m))
		for _, st := range prog.Pipelines[obstat.Mode(m)].Stages {
			if match, ok := st.(obstat.Match); ok {
				used[match.Rules] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(prog.Rules)) {
		if used[name] || len(modes) == len(prog.Pipelines) {
			s.list(name, prog.Rules[name], func(r *obstat.Rule) bool {
				return !all && len(p.Input.Names()) > 0 &&
					!writtenIn(r, p.Input.Names())
			})
		}
	}
	if rest := slices.DeleteFunc(modesOf(prog), func(m string) bool { return slices.Contains(modes, m) }); len(rest) > 0 {
		s.printf("\n%s\n", s.io.paint(dim, "other modes, with --mode: "+visible(strings.Join(append(rest, allModes), ", "))))
	}
}

func (s *screen) mode(p *obstat.Program, m obstat.Mode) {
	pl := p.Pipelines[m]
	note := ""
	if m == p.Mode {
		note = " (in force)"
	}
	s.printf("\nmode %s%s\n", s.io.paint(bold, visible(string(m))), note)
	for i, st := range pl.Stages {
		s.printf("  %d. %s\n", i+1, visible(stageWords(st)))
	}
	s.printf("  %d. otherwise %s\n", len(pl.Stages)+1, s.io.paint(verdictInk(pl.Default), pl.Default.String()))
	for _, st := range pl.Amend {
		s.printf("  then, only to tighten: %s\n", visible(stageWords(st)))
	}
}

// stageWords describes a stage in words.
func stageWords(s obstat.Stage) string {
	switch s := s.(type) {
	case obstat.Match:
		text := s.Name
		if text == "" || text == s.Rules {
			text = "rules " + s.Rules
		} else if s.Rules != text {
			text += " (list " + s.Rules + ")"
		}
		text += ", the " + s.Pick.String() + " that matches"
		if s.Except != "" {
			text += ", but for those that are " + s.Except
		}
		if s.Settle != 0 {
			text += "; settles " + verdictList(s.Settle)
		}
		return text + askDenies(s.AskDenies)
	case obstat.Check:
		text := "check " + s.Name
		if s.Pass != 0 {
			text += "; passes on " + outcomeList(s.Pass)
		}
		if len(s.Unless) > 0 {
			text += "; not after " + strings.Join(s.Unless, ", ")
		}
		return text + askDenies(s.AskDenies)
	case obstat.When:
		text := "if " + cmp.Or(s.Is, "the tool is one of "+strings.Join(s.Tools, ", ")) + ": " + s.Then.String()
		if s.Else != nil {
			text += ", else " + s.Else.String()
		}
		return text
	}
	return "the floor, which puts each command, path and host to the rules"
}

func askDenies(on bool) string {
	if on {
		return "; ask means deny"
	}
	return ""
}

func verdictList(vs obstat.Verdicts) string {
	var names []string
	for _, v := range vs.List() {
		names = append(names, v.String())
	}
	return strings.Join(names, " and ")
}

func outcomeList(o obstat.Outcomes) string {
	var names []string
	for _, n := range []struct {
		o obstat.Outcomes
		s string
	}{{obstat.PlainAsk, "a plain ask"}, {obstat.SafetyAsk, "a safety ask"}, {obstat.CheckDeny,
		"deny"}, {obstat.CheckAllow, "allow"}} {
		if o&n.o != 0 {
			names = append(names, n.s)
		}
	}
	return strings.Join(names, " and ")
}

// list prints the rules of a list, without those that are to be left out.
func (s *screen) list(name string, rules []obstat.Rule, leaveOut func(*obstat.Rule) bool) {
	s.printf("\nlist %s: %s\n", s.io.paint(bold, visible(name)), plural(len(rules), "rule"))
	n := len(rules)
	rules = slices.DeleteFunc(slices.Clone(rules), func(r obstat.Rule) bool { return leaveOut(&r) })
	if n -= len(rules); n > 0 {
		s.printf("  %s\n", s.io.paint(dim, plural(n, "built-in rule")+", printed with --all"))
	}
	width := 0
	for i := range rules[:min(len(rules), maxShown)] {
		width = max(width, min(columns(visible(ruleWords(&rules[i]))), s.width/2))
	}
	for i := range rules {
		if i == maxShown {
			s.printf("  … %s more\n", plural(len(rules)-i, "rule"))
			return
		}
		r := &rules[i]
		pos := ""
		if r.Pos.IsValid() {
			pos = s.io.paint(dim, visible(r.Pos.String()))
		}
		text := s.io.paint(verdictInk(r.Verdict), pad(r.Verdict.String(), 5)) + "  " +
			pad(clip(visible(ruleWords(r)), s.width-10), width) + "  " + pos
		s.printf("  %s\n", strings.TrimRight(text, " "))
	}
}

// writtenIn tells whether a rule stands in one of the files.
func writtenIn(r *obstat.Rule, files []string) bool { return slices.Contains(files, r.Pos.File) }

// ruleWords is the rule as written, with the field it looks at where the rule's
// own text does not say.
func ruleWords(r *obstat.Rule) string {
	text := r.String()
	if r.Source == "" && r.Field != "" && !r.Whole() {
		text = r.Tool.String() + "(" + r.Field + ": " + r.Pattern.String() + ")"
	}
	return text
}

// mermaid draws a Program's pipelines as a Mermaid flowchart, one subgraph a
// mode.
func mermaid(p *obstat.Program, modes []string) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, m := range modes {
		g := flow{b: &b, p: p, id: fmt.Sprintf("m%d", i)}
		fmt.Fprintf(&b, "  subgraph %s[\"%s\"]\n", g.id, label("mode "+m))
		g.pipeline(p.Pipelines[obstat.Mode(m)])
		b.WriteString("  end\n")
	}
	return b.String()
}

type flow struct {
	b  *strings.Builder
	p  *obstat.Program
	id string
}

func (g *flow) printf(format string, args ...any) { fmt.Fprintf(g.b, "    "+format+"\n", args...) }

func (g *flow) pipeline(pl obstat.Pipeline) {
	g.printf(`%s_call(["call"])`, g.id)
	prev, edge := g.id+"_call", "-->"
	for i, s := range pl.Stages {
		if m, ok := s.(obstat.Match); ok && len(g.p.Rules[m.Rules]) == 0 {
			continue
		}
		node := fmt.Sprintf("%s_s%d", g.id, i)
		g.printf(`%s{"%s"}`, node, label(shortStage(s)))
		g.printf("%s %s %s", prev, edge, node)
		g.printf(`%s -->|"%s"| %s_out`, node, label(g.settles(s)), g.id)
		prev, edge = node, `-->|"else"|`
	}
	g.printf(`%s %s %s_default["%s"]`, prev, edge, g.id, pl.Default)
	g.printf("%s_default --> %s_out", g.id, g.id)
	g.printf(`%s_out(("verdict"))`, g.id)
	last := g.id + "_out"
	for i, s := range pl.Amend {
		node := fmt.Sprintf("%s_a%d", g.id, i)
		g.printf(`%s[/"%s"/]`, node, label("only to tighten: "+shortStage(s)))
		g.printf("%s --> %s", last, node)
		last = node
	}
}

func shortStage(s obstat.Stage) string {
	switch s := s.(type) {
	case obstat.Match:
		return cmp.Or(s.Name, s.Rules) + ", " + s.Pick.String()
	case obstat.When:
		return cmp.Or(s.Is, "tool is one of "+strings.Join(s.Tools, ", "))
	}
	return s.StageName()
}

// settles names the verdicts that a stage can settle.
func (g *flow) settles(s obstat.Stage) string {
	switch s := s.(type) {
	case obstat.Match:
		return g.matchSettles(&s)
	case obstat.Check:
		if s.Pass != 0 {
			return "settles, but for " + outcomeList(s.Pass)
		}
	case obstat.When:
		if s.Else != nil {
			return "yes: " + s.Then.String() + ", no: " + s.Else.String()
		}
		return "yes: " + s.Then.String()
	}
	return "settles"
}

// matchSettles lists the verdicts that the rules of a list have and that settle.
func (g *flow) matchSettles(m *obstat.Match) string {
	var names []string
	for _, v := range m.Settle.List() {
		if !slices.ContainsFunc(g.p.Rules[m.Rules], func(r obstat.Rule) bool { return r.Verdict == v }) {
			continue
		}
		name := v.String()
		if v == obstat.Ask && m.AskDenies {
			name = "ask as deny"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "no rules")
}

// label makes a text safe inside a quoted Mermaid label.
func label(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(visible(s))
}

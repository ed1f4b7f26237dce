package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// programText prints a Program for people.
type programText struct {
	f  *Factory
	io *IO
	p  *loaded
	b  strings.Builder
}

func newProgramText(f *Factory, p *loaded) *programText { return &programText{f: f, io: f.IO, p: p} }

func (t *programText) printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

func joinNames(names []string) string { return strings.Join(names, ", ") }

// maxShown bounds how many rules of a list are printed.
const maxShown = 200

func (t *programText) render(modes []string) string {
	prog := t.p.Program
	t.printf("%s  %s\n", t.io.paint(bold, visible(t.f.title(t.p.names()))), t.io.paint(dim, t.p.Dialect.Name()+"  "+t.p.Loaded.Policy.Digest()[:19]))
	used := map[string]bool{}
	for _, m := range modes {
		t.mode(obstat.Mode(m))
		for _, s := range prog.Pipelines[obstat.Mode(m)].Stages {
			if match, ok := s.(obstat.Match); ok {
				used[match.Rules] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(prog.Rules)) {
		if used[name] || len(modes) == len(prog.Pipelines) {
			t.list(name, prog.Rules[name])
		}
	}
	if rest := slices.DeleteFunc(modesOf(prog), func(m string) bool { return slices.Contains(modes, m) }); len(rest) > 0 {
		t.printf("\n%s\n", t.io.paint(dim, "other modes, with --mode: "+visible(joinNames(append(rest, allModes)))))
	}
	return t.b.String()
}

func (t *programText) mode(m obstat.Mode) {
	pl := t.p.Program.Pipelines[m]
	note := ""
	if m == t.p.Program.Mode {
		note = " (in force)"
	}
	t.printf("\nmode %s%s\n", t.io.paint(bold, visible(string(m))), note)
	for i, s := range pl.Stages {
		t.printf("  %d. %s\n", i+1, visible(stageWords(s)))
	}
	t.printf("  %d. otherwise %s\n", len(pl.Stages)+1, t.io.paint(verdictInk(pl.Default), pl.Default.String()))
	for _, s := range pl.Amend {
		t.printf("  then, only to tighten: %s\n", visible(stageWords(s)))
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
		return whenWords(&s)
	}
	return "the floor, which puts each command, path and host to the rules"
}

func askDenies(on bool) string {
	if on {
		return "; ask means deny"
	}
	return ""
}

func whenWords(s *obstat.When) string {
	cond := s.Is
	if cond == "" {
		cond = "the tool is one of " + strings.Join(s.Tools, ", ")
	}
	text := "if " + cond + ": " + s.Then.String()
	if s.Else != nil {
		text += ", else " + s.Else.String()
	}
	return text
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
	}{{obstat.PlainAsk, "a plain ask"}, {obstat.SafetyAsk, "a safety ask"}, {obstat.CheckDeny, "deny"}, {obstat.CheckAllow, "allow"}} {
		if o&n.o != 0 {
			names = append(names, n.s)
		}
	}
	return strings.Join(names, " and ")
}

func (t *programText) list(name string, rules []obstat.Rule) {
	t.printf("\nlist %s: %s\n", t.io.paint(bold, visible(name)), plural(len(rules), "rule"))
	width := 0
	for i := range rules[:min(len(rules), maxShown)] {
		width = max(width, min(columns(visible(ruleWords(&rules[i]))), t.io.width()/2))
	}
	for i := range rules {
		if i == maxShown {
			t.printf("  … %s more\n", plural(len(rules)-i, "rule"))
			return
		}
		r := &rules[i]
		pos := ""
		if r.Pos.IsValid() {
			pos = t.io.paint(dim, visible(r.Pos.String()))
		}
		text := t.io.paint(verdictInk(r.Verdict), pad(r.Verdict.String(), 5)) + "  " + pad(clip(visible(ruleWords(r)), t.io.width()-10), width) + "  " + pos
		t.printf("  %s\n", strings.TrimRight(text, " "))
	}
}

// ruleWords is the rule as written, with the field it looks at where the rule's
// own text does not say.
func ruleWords(r *obstat.Rule) string {
	text := r.String()
	if r.Source == "" && r.Field != "" && !r.Whole() {
		text = r.Tool.String() + "(" + r.Field + ": " + r.Pattern.String() + ")"
	}
	return text
}

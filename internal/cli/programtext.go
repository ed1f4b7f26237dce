package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// maxShown bounds how many rules of a list are printed.
const maxShown = 200

// program prints what a configuration means: the stages of some modes, and their rules.
func (s *screen) program(p *loaded, title string, modes []string) {
	prog := p.Program
	s.printf("%s  %s\n", s.io.paint(bold, visible(title)), s.io.paint(dim, p.Dialect.Name()+"  "+p.Loaded.Policy.Digest()[:19]))
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
			s.list(name, prog.Rules[name])
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
	}{{obstat.PlainAsk, "a plain ask"}, {obstat.SafetyAsk, "a safety ask"}, {obstat.CheckDeny, "deny"}, {obstat.CheckAllow, "allow"}} {
		if o&n.o != 0 {
			names = append(names, n.s)
		}
	}
	return strings.Join(names, " and ")
}

func (s *screen) list(name string, rules []obstat.Rule) {
	s.printf("\nlist %s: %s\n", s.io.paint(bold, visible(name)), plural(len(rules), "rule"))
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
		text := s.io.paint(verdictInk(r.Verdict), pad(r.Verdict.String(), 5)) + "  " + pad(clip(visible(ruleWords(r)), s.width-10), width) + "  " + pos
		s.printf("  %s\n", strings.TrimRight(text, " "))
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

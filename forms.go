package obstat

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// A form is the text that a deny or ask rule about commands begins with, where flags or operators in it make the
// order of words matter: `git push --force`, `env | base64`. Such a rule is meant for `git push origin main --force`,
// `git push -uf` and `true; env|base64`, too.
type form struct {
	rule    *Rule
	pattern *pattern.Pattern
	words   []string // that are no flags
	flags   []string
	chain   bool // there is an operator in it
}

// forms returns the forms of the rules in all stages.
func (pl *pipeline) formsOf(compiled func(Text) *pattern.Pattern) []form {
	pl.scanForms.Do(func() {
		for i := range pl.stages {
			l := pl.stages[i].list
			if l == nil || pl.stages[i].mark {
				continue
			}
			l.ready()
			for _, r := range l.ranked {
				if f, ok := formOf(r.Rule, compiled); ok && r.verdict != Allow {
					pl.forms = append(pl.forms, f)
				}
			}
		}
	})
	return pl.forms
}

// joinsLater tells whether there is an operator behind a wildcard: `curl* | *sh`, and as an expression
// `curl.*\ \|\ .*sh`, where `|` alone means something else.
func joinsLater(t Text) bool {
	switch t.Flavour {
	case pattern.Wildcard, pattern.Bash, pattern.Fnmatch:
		return joins(t.Text)
	case pattern.Full:
		return strings.Contains(t.Text, `\|`) || strings.Contains(t.Text, "&&")
	}
	return false
}

func joins(text string) bool { return strings.ContainsAny(text, "|;") || strings.Contains(text, "&&") }

func formOf(r *Rule, compiled func(Text) *pattern.Pattern) (f form, ok bool) {
	if r.Pattern.IsZero() {
		return form{}, false
	}
	f = form{rule: r, pattern: compiled(r.Pattern)}
	prefix := strings.TrimSpace(f.pattern.Shape().Prefix)
	f.chain = joins(prefix) || joinsLater(r.Pattern)
	if !f.chain && !strings.Contains(prefix, " -") || strings.HasPrefix(prefix, "/") {
		return form{}, false
	}
	for word := range strings.FieldsSeq(prefix) {
		if strings.HasPrefix(word, "-") && word != "--" {
			f.flags = append(f.flags, word)
		} else {
			f.words = append(f.words, word)
		}
	}
	return f, f.chain || len(f.words) > 0 && len(f.flags) > 0 && !slices.Contains(f.words, "--")
}

// flagged tries a command in the order of words that each form has: `git push --force origin main` for
// `git push origin main -f`.
func (fl *floorWalk) flagged(i int, c *effect.Command) {
	var names []string
	for k, forms := 0, fl.pl.formsOf(fl.pol.compiled); k < len(forms); k++ {
		f := &forms[k]
		if f.chain || f.words[0] != c.Program || fl.o.verdict == Deny {
			continue
		}
		if names == nil {
			names = c.FlagNames()
		}
		absent := func(flag string) bool { return !slices.Contains(names, flag) }
		if slices.ContainsFunc(f.flags, absent) {
			continue
		}
		rest, ok := f.restOf(c)
		if !ok {
			continue
		}
		alt := strings.Join(slices.Concat(f.words, f.flags, rest), " ")
		why := "it is another way to write " + alt
		if o := fl.judgeCommand(i, alt, why); alt != c.Text && fl.speaks(&o, fl.f.Call.Tool) {
			fl.tighten(o, c.Text, why)
		}
	}
}

// restOf returns the words of a command behind those of the form, which may have flags and their values between them.
func (f *form) restOf(c *effect.Command) (rest []string, ok bool) {
	next := 1
	for i := range c.Args() {
		switch w := &c.Args()[i]; {
		case next < len(f.words) && w.Known && w.Text == f.words[next]:
			next++
		case !w.Known || slices.Contains(f.flags, w.Text):
		default:
			rest = append(rest, w.Text)
		}
	}
	return rest, next == len(f.words)
}

// maxChains bounds how many parts of a line are tried where a rule has an operator in it.
const maxChains = 128

// chains tries the rules that have an operator in them on each part of the line: `env | base64*` on
// `echo ok && env|base64`.
func (fl *floorWalk) chains() {
	forms := slices.DeleteFunc(slices.Clone(fl.pl.formsOf(fl.pol.compiled)), func(f form) bool { return !f.chain })
	if len(forms) == 0 || fl.exact() {
		return
	}
	runs, cut := fl.a.Chains(maxChains)
	for i := range runs {
		fl.chain(forms, runs[i].Text, runs[i].Op)
	}
	parts, operators := fl.lineParts()
	tried := 0
	for from := range parts {
		line := parts[from]
		for to := from; to < len(operators) && !cut; to++ {
			op := operators[to]
			line += " " + op + " " + parts[to+1]
			fl.chain(forms, line, op)
			tried++
			cut = tried > maxChains
		}
	}
	if cut {
		fl.cap(fl.a.Source, "a rule with an operator in it might apply to a part of a very long line")
	}
}

// chain tightens by the rules with an operator in them that match a part of the line, with blanks or without.
func (fl *floorWalk) chain(forms []form, line, op string) {
	tight := strings.ReplaceAll(line, " "+op+" ", op)
	for i := range forms {
		text := line
		ok, err := forms[i].pattern.Match(text)
		if err == nil && !ok {
			text = tight
			ok, err = forms[i].pattern.Match(text)
		}
		if err == nil && !ok {
			continue
		}
		o := outcome{verdict: forms[i].rule.Verdict, stage: stageFloor, rule: forms[i].rule}
		if len(forms[i].rule.If) > 0 {
			o.verdict = Ask
		}
		fl.tighten(o, text, "it is a part of the line that the rule is about")
	}
}

// lineParts cuts the line at its operators, with single blanks in each part.
func (fl *floorWalk) lineParts() (parts, operators []string) {
	at, src := 0, fl.a.Source
	for _, c := range fl.a.Constructs {
		switch c.Kind {
		case shell.PipeOp, shell.AndOp, shell.OrOp, shell.Semicolon, shell.Newline, shell.BackgroundOp:
		default:
			continue
		}
		if c.Span.Start < at || c.Span.End > len(src) {
			continue
		}
		parts = append(parts, strings.Join(strings.Fields(src[at:c.Span.Start]), " "))
		operators = append(operators, strings.ReplaceAll(src[c.Span.Start:c.Span.End], "\n", ";"))
		at = c.Span.End
	}
	return append(parts, strings.Join(strings.Fields(src[at:]), " ")), operators
}

// deceives asks about texts that no honest call has, under every policy: characters that hide or reorder it, letters
// that look like others in the name of a program or a host, a secret written out, a fork bomb.
func (fl *floorWalk) deceives() {
	if fl.o.verdict < Allow {
		return
	}
	if part, why := fl.a.Deceit(); why != "" {
		fl.tighten(outcome{verdict: Ask, stage: stageFloor}, part, why) // also of a confined call
	}
}

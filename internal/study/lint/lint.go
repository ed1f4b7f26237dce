// Package lint warns of rules in a Program that can never decide anything, and
// of rules that work as written but rarely as meant. All its findings are warnings.
//
// It owns the checks that need nothing but the Program; a dialect's own Linter
// knows its files. A check that cannot tell stays silent.
package lint

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/pattern"
)

// maxCompared bounds how many pairs of rules are compared, maxProofs how many times automata are
// walked for that.
const (
	maxCompared = 4_000_000
	maxProofs   = 4_000
)

// Options choose the checks. A nil *Options runs them all.
type Options struct {
	// Files are the files that the user wrote; rules from elsewhere are not
	// warned of. nil: every rule counts.
	Files []string
	// Sees are fields that show every text that other fields show, as Claude Code's `seen` shows
	// each `command`: a rule on the first covers rules on the others.
	Sees map[string][]string
	// Whole leaves out unused parts of a rule of which other parts decide, `git log` of `run git status,
	// git log`, for callers that can only take out a whole rule.
	Whole bool
	// Now finds rules whose time is over; zero looks for none.
	Now time.Time
}

// Program returns the warnings about p, in the order of their places. A line of a file may
// stand in several lists: it is without effect only if it is so in all of them, and told once.
func Program(p *obstat.Program, opts *Options) obstat.Errors {
	l := newLinter(p, opts)
	l.unusedLists()
	l.secrets()
	l.duplicates()
	l.empty()
	l.over()
	l.shadowed()
	l.wideAllows()
	l.silentModes()
	l.errs.Sort()
	return l.errs
}

func newLinter(p *obstat.Program, opts *Options) *linter {
	l := &linter{p: p, patterns: map[obstat.Text]*pattern.Pattern{}, ready: map[string][]item{}, budget: maxCompared,
		proofs: maxProofs, told: map[place]bool{}}
	if opts != nil {
		l.opts = *opts
	}
	return l
}

type linter struct {
	p        *obstat.Program
	errs     obstat.Errors
	patterns map[obstat.Text]*pattern.Pattern
	ready    map[string][]item
	budget   int // pairs of rules that may still be compared
	proofs   int // automata that may still be walked
	opts     Options
	// told are rules that something was said of already: one warning is enough.
	told map[place]bool
}

// A place tells rules apart: where they were written, or which they are.
type place struct {
	pos  obstat.Pos
	rule *obstat.Rule
}

func placeOf(r *obstat.Rule) place {
	if r.Pos.IsValid() {
		return place{pos: r.Pos}
	}
	return place{rule: r}
}

// silent tells whether nothing is to be said of r: the user did not write it, or
// something was said already.
func (l *linter) silent(r *obstat.Rule) bool { return l.told[placeOf(r)] || !l.users(r) }

// users tells whether the user wrote r.
func (l *linter) users(r *obstat.Rule) bool {
	return l.opts.Files == nil || slices.Contains(l.opts.Files, r.Pos.File)
}

func (l *linter) warn(r *obstat.Rule, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	e := &obstat.Error{Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint, Warning: true}
	if r != nil {
		e.Pos = r.Pos
		l.told[placeOf(r)] = true
	}
	l.errs = append(l.errs, e)
	return e
}

// rules yields the rules that something may be said of: of the user, and not told yet.
func (l *linter) rules() iter.Seq[*obstat.Rule] {
	return func(yield func(*obstat.Rule) bool) {
		for _, name := range l.lists() {
			for i := range l.p.Rules[name] {
				if r := &l.p.Rules[name][i]; !l.silent(r) && !yield(r) {
					return
				}
			}
		}
	}
}

// lists returns the names of the lists that decide calls one by one.
func (l *linter) lists() []string {
	names := slices.Sorted(maps.Keys(l.p.Rules))
	return slices.DeleteFunc(names, func(name string) bool { return name == obstat.ListLimit })
}

func (l *linter) modes() []obstat.Mode { return slices.Sorted(maps.Keys(l.p.Pipelines)) }

// compiled returns the compiled form of t, nil where it has none.
func (l *linter) compiled(t obstat.Text) *pattern.Pattern {
	if p, ok := l.patterns[t]; ok {
		return p
	}
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		p = nil
	}
	l.patterns[t] = p
	return p
}

// matchesOf returns the Match stages of a pipeline, amendments last.
func matchesOf(pl obstat.Pipeline) (out []obstat.Match) {
	for _, s := range slices.Concat(pl.Stages, pl.Amend) {
		if m, ok := s.(obstat.Match); ok {
			out = append(out, m)
		}
	}
	return out
}

// unusedLists finds rules that no mode ever looks at.
func (l *linter) unusedLists() {
	used := map[string]bool{}
	for _, pl := range l.p.Pipelines {
		for _, s := range slices.Concat(pl.Stages, pl.Amend) {
			switch s := s.(type) {
			case obstat.Match:
				used[s.Rules] = true
			case obstat.Mark:
				used[s.Rules] = true
			}
		}
	}
	elsewhere := map[place]bool{}
	for name := range used {
		for i := range l.p.Rules[name] {
			elsewhere[placeOf(&l.p.Rules[name][i])] = true
		}
	}
	for _, name := range l.lists() {
		rules := l.p.Rules[name]
		if used[name] || len(rules) == 0 || elsewhere[placeOf(&rules[0])] || l.silent(&rules[0]) {
			continue
		}
		l.warn(&rules[0], obstat.CodeNoEffect, "take it out, or name it in a stage",
			"no stage of any mode looks at the list %s (rules in it: %d)", name, len(rules))
	}
}

// secrets finds rules that hold a password or a token: files of rules are shared. Which it is, is told by its
// beginning, so that the place can be found and the rest is not printed again.
func (l *linter) secrets() {
	m := ledger.NewMasker(nil)
	for r := range l.rules() {
		text := cmp.Or(r.Source, r.Pattern.Text)
		if secret := hidden(text, m.Text(text)); looksSecret(secret) {
			l.warn(r, obstat.CodeRisky, "take it out of the file and change it where it is used; a * in its place will do",
				"%s rule %.24s… "+holdsSecret+": %s… (%d characters)", r.Verdict, m.Text(r.String()),
				secret[:min(3, len(secret)/3)], len(secret))
		}
	}
}

const holdsSecret = "holds a secret"

// hidden returns the part of a text that a masker has taken out of it.
func hidden(text, masked string) string {
	from := 0
	for from < len(text) && from < len(masked) && text[from] == masked[from] {
		from++
	}
	end := 0
	for end < len(text)-from && end < len(masked)-from && text[len(text)-1-end] == masked[len(masked)-1-end] {
		end++
	}
	return text[from : len(text)-end]
}

// minSecret is the shortest text that is taken for a secret.
const minSecret = 6

// looksSecret tells whether a text that stands where secrets do is one: no pattern, variable, option or path, as in
// `pwd:*`, `--token $TOKEN`, `gh secret list`, but something a person or machine made up.
func looksSecret(s string) bool {
	s = strings.Trim(s, `"'() `)
	if len(s) < minSecret || strings.ContainsAny(s, " *$<>{}[]`|&;(") || strings.HasPrefix(s, "-") {
		return false
	}
	return strings.ContainsAny(s, "0123456789") && !strings.Contains(s, "/") || len(s) >= 20
}

// empty finds rules whose pattern matches no text at all.
func (l *linter) empty() {
	for r := range l.rules() {
		if r.Whole() || r.Pattern.Flavour == pattern.Exact || r.Pattern.Flavour == pattern.JSON {
			continue
		}
		if p := l.compiled(r.Pattern); p != nil && p.Shape().Prefix == "" && l.proves(nil, p) {
			l.warn(r, obstat.CodeNoEffect, "take it out", "%s rule %s can never decide: no text matches it", r.Verdict, r)
		}
	}
}

// over finds rules that counted until a time that has passed.
func (l *linter) over() {
	for r := range l.rules() {
		if !l.opts.Now.IsZero() && Ended(r, l.opts.Now) {
			l.warn(r, obstat.CodeNoEffect, "take it out, or give it another end",
				"%s rule %s counts no more: its time is over", r.Verdict, r)
		}
	}
}

// Ended tells whether a rule counted until a time that has passed.
func Ended(r *obstat.Rule, now time.Time) bool {
	for _, c := range r.If {
		if c.Field == "call.time" && !c.Not && len(c.Any) == 1 {
			end, err := time.Parse(time.RFC3339, strings.TrimPrefix(c.Any[0].Text, "<"))
			return err == nil && !now.Before(end)
		}
	}
	return false
}

// proves tells whether the patterns of wide together match all that narrow does, as long as there
// is time to find out.
func (l *linter) proves(wide []*pattern.Pattern, narrow *pattern.Pattern) bool {
	if l.proofs--; l.proofs < 0 {
		return false
	}
	return pattern.Cover(wide, narrow)
}

// duplicates finds rules that say the same thing twice.
func (l *linter) duplicates() {
	type key struct {
		tool, match obstat.Text
		field       string
		verdict     obstat.Verdict
		when        string
	}
	for _, name := range l.lists() {
		if l.lastCounts(name) {
			continue // the second makes good for rules between them; the first may be dead, which shadowed tells
		}
		seen := map[key]*obstat.Rule{}
		for i := range l.p.Rules[name] {
			r := &l.p.Rules[name][i]
			k := key{r.Tool, r.Pattern, r.Field, r.Verdict, conditions(r)}
			if before, twice := seen[k]; twice {
				if l.silent(r) || placeOf(before) == placeOf(r) || !l.users(before) {
					continue
				}
				if before.String() == r.String() {
					l.warn(r, obstat.CodeNoEffect, "take one of them out", "%s rule %s is there twice", r.Verdict,
						r).Also = positions(before)
				} else if sameTool(r, before) && !deeper(r, before) {
					l.warn(r, obstat.CodeNoEffect, "take one of them out", "%s rule %s says the same as %s", r.Verdict, r,
						before).Also = positions(before)
				}
				continue
			}
			seen[k] = r
		}
	}
}

// deeper tells whether two rules that stop something are written as `Read(.env)` and `Read(**/.env)`: whether the first
// is about every depth is a question of the reader, and people write both to be sure.
func deeper(a, b *obstat.Rule) bool {
	plain := strings.NewReplacer("**/", "", "./", "")
	return a.Verdict != obstat.Allow && plain.Replace(a.Source) == plain.Replace(b.Source)
}

// lastCounts tells whether a mode looks for the last rule of a list that matches.
func (l *linter) lastCounts(list string) bool {
	for _, pl := range l.p.Pipelines {
		if slices.ContainsFunc(matchesOf(pl), func(m obstat.Match) bool { return m.Rules == list && m.Pick == obstat.Last }) {
			return true
		}
	}
	return false
}

// sameTool tells whether two rules are written for the same tool: of `Read(**)` and `Edit(**)`, which may be read as
// well, a person wants both.
func sameTool(a, b *obstat.Rule) bool {
	one, _, _ := strings.Cut(a.String(), "(")
	other, _, _ := strings.Cut(b.String(), "(")
	named := func(s string) bool { return strings.Trim(s, toolLetters) == "" }
	return one == other || !named(one) || !named(other)
}

const toolLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// conditions tells apart rules that count under other conditions, or leave other things out.
func conditions(r *obstat.Rule) string {
	if len(r.If)+len(r.Except) == 0 {
		return ""
	}
	return fmt.Sprint(r.If, r.Except)
}

func positions(r *obstat.Rule) []obstat.Pos {
	if r.Pos.IsValid() {
		return []obstat.Pos{r.Pos}
	}
	return nil
}

// shells are tools that run commands, for rules whose tool is a pattern.
var shells = [...]string{"Bash", "bash", "shell", "run_command", "exec_command"}

// wideAllows finds allow rules that let every command through.
func (l *linter) wideAllows() {
	for r := range l.rules() {
		if r.Verdict != obstat.Allow || !l.everything(r) {
			continue
		}
		if tool := l.shellOf(r); tool != "" {
			l.warn(r, obstat.CodeRisky, "allow the commands that are meant, one prefix at a time",
				"allow rule %s lets %s run every command", r, tool)
		}
	}
}

// everything tells whether a rule is about every call to its tool.
func (l *linter) everything(r *obstat.Rule) bool {
	return r.Whole() || l.compiled(r.Pattern).MustMatch("")
}

// shellOf returns a tool of the rule that runs commands, "" if it has none.
func (l *linter) shellOf(r *obstat.Rule) string {
	if r.Tool.Flavour == pattern.Exact {
		if t, ok := effect.Lookup(r.Tool.Text); ok && len(t.Command) > 0 && t.Canonical != "patch" {
			return r.Tool.Text
		}
		return ""
	}
	for _, s := range shells {
		if r.Tool.IsZero() {
			return "a shell tool"
		}
		if ok, err := l.compiled(r.Tool).Match(s); ok && err == nil {
			return s
		}
	}
	return ""
}

// silentModes warns if the mode in force never asks a human and allows by default, or
// turns ask rules into denials.
func (l *linter) silentModes() {
	mode := l.p.Mode
	pl, ok := l.p.Pipelines[mode]
	hasAsk := func(m obstat.Match) bool { return l.has(m.Rules, obstat.Ask) }
	switch {
	case !ok || l.asks(pl):
	case pl.Default == obstat.Allow:
		l.warn(nil, obstat.CodeRisky, "choose a mode that asks", "mode %s never asks, and what no rule stops is allowed",
			mode)
	case slices.ContainsFunc(matchesOf(pl), hasAsk):
		l.warn(nil, obstat.CodeNoEffect, "choose a mode that asks", "mode %s never asks: ask rules deny in it", mode)
	}
}

// asks tells whether a pipeline can answer ask at all.
func (l *linter) asks(pl obstat.Pipeline) bool {
	if pl.Default == obstat.Ask {
		return true
	}
	for _, s := range slices.Concat(pl.Stages, pl.Amend) {
		switch s := s.(type) {
		case obstat.Match:
			if !s.AskDenies && s.Settle.Has(obstat.Ask) && l.has(s.Rules, obstat.Ask) {
				return true
			}
		case obstat.Check:
			if !s.AskDenies && s.Pass&(obstat.PlainAsk|obstat.SafetyAsk) != obstat.PlainAsk|obstat.SafetyAsk {
				return true
			}
		case obstat.When:
			if s.Then == obstat.Ask || s.Else != nil && *s.Else == obstat.Ask {
				return true
			}
		}
	}
	return false
}

func (l *linter) has(list string, v obstat.Verdict) bool {
	return slices.ContainsFunc(l.p.Rules[list], func(r obstat.Rule) bool { return r.Verdict == v })
}

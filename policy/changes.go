package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
)

// Unaccepted lists the rules of a place that are on disk and wait for a person to accept
// them.
type Unaccepted struct {
	Place string `json:"place"`
	First bool   `json:"first,omitempty"` // nothing was ever accepted there
	// Twin is another place for which the same files were accepted: this is another clone of its
	// repository, or a copy, and not the same one.
	Twin    string   `json:"twin,omitempty"`
	Changes []Change `json:"changes"`
}

// A Change is one difference between the accepted Programs and those on disk, such
// as an added `Bash(npm *)`.
type Change struct {
	Kind    string         `json:"kind"` // "added", "removed" or "changed"
	Dialect string         `json:"dialect"`
	Verdict obstat.Verdict `json:"verdict"`      // of the rule
	Text    string         `json:"text"`         // the rule as it is written, or the name of the changed setting
	Pos     obstat.Pos     `json:"pos,omitzero"` // where it is, or was

	broad bool // an allow rule for more than one call: `Bash`, `Bash(sh *)`, `Edit`
}

// MarshalJSON writes the verdict of every rule, deny included, and none for a setting.
func (c Change) MarshalJSON() ([]byte, error) {
	type fields Change
	out := struct {
		fields
		Verdict *obstat.Verdict `json:"verdict,omitempty"`
	}{fields: fields(c)}
	if c.Pos.IsValid() {
		out.Verdict = &c.Verdict
	}
	return json.Marshal(out)
}

// The kinds of changes.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// changes compares two sets of Programs. At first sight, rules of the user's own
// files are nothing new.
func changes(old, new []*dialect.Loaded, st *site) (out []Change) {
	find := func(list []*dialect.Loaded, name string) *obstat.Program {
		for _, l := range list {
			if l.Dialect.Name() == name {
				return l.Program
			}
		}
		return nil
	}
	var names []string
	for _, l := range slices.Concat(new, old) {
		if name := l.Dialect.Name(); !slices.Contains(names, name) {
			names = append(names, name)
			out = append(out, diff(name, find(old, name), find(new, name))...)
		}
	}
	own := func(c Change) bool {
		return st.pin == nil && c.Pos.File != "" && slices.ContainsFunc(st.configs, func(of *config) bool {
			return slices.ContainsFunc(of.files, func(f file) bool { return f.users && f.Name == c.Pos.File })
		})
	}
	return slices.DeleteFunc(out, own)
}

// diff compares two Programs of a dialect; nil is none.
func diff(name string, old, new *obstat.Program) (out []Change) {
	before, after := rules(old), rules(new)
	add := func(kind string, r *obstat.Rule) { // once, also where it is in several lists
		text := r.String()
		if r.Over != 0 {
			text += ", over: " + r.Over.String()
		}
		if c := (Change{kind, name, r.Verdict, text, r.Pos, broad(r)}); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, r := range after {
		if !take(&before, r) {
			add(Added, r.rule)
		}
	}
	for _, r := range before {
		add(Removed, r.rule)
	}
	for _, text := range []func(*obstat.Program) string{confineText, undoText} {
		if c, differs := wordChange(name, text, old, new); differs {
			out = append(out, c)
		}
	}
	if old == nil || new == nil {
		if new != nil && new.Mode != "" && len(out) == 0 {
			out = append(out, Change{Kind: Added, Dialect: name, Text: "what holds where no rule does"})
		}
		return out
	}
	for what, same := range map[string]bool{
		"the mode in force: " + string(old.Mode) + ", now " + string(new.Mode): old.Mode == new.Mode,
		"the stages":                        equal(old.Pipelines, new.Pipelines) && equal(old.Faces, new.Faces) && old.View == new.View,
		"settings that its rules depend on": string(old.Params) == string(new.Params),
	} {
		if !same {
			out = append(out, Change{Kind: Changed, Dialect: name, Text: what})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Kind, b.Kind) })
	return out
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// A listed is a rule and the list that it is in.
type listed struct {
	list string
	rule *obstat.Rule
}

// listsOf returns the lists of a Program that decide, those of its mode's stages first: a sentence
// that is several rules is shown as the first of them.
func listsOf(p *obstat.Program) (out []string) {
	var marks []string
	for _, s := range p.Pipelines[p.Mode].Stages {
		switch s := s.(type) {
		case obstat.Match:
			out = append(out, s.Rules)
		case obstat.Mark:
			marks = append(marks, s.Rules)
		}
	}
	for _, list := range slices.Sorted(maps.Keys(p.Rules)) {
		if !slices.Contains(out, list) && !slices.Contains(marks, list) {
			out = append(out, list)
		}
	}
	return out
}

// rules returns the rules that files have; those that a dialect brings along have
// no place.
func rules(p *obstat.Program) (out []listed) {
	if p == nil {
		return nil
	}
	type written struct {
		pos  obstat.Pos
		text string
	}
	seen := map[written]bool{}
	for _, list := range listsOf(p) {
		rs := p.Rules[list]
		for i := range rs {
			if at := (written{rs[i].Pos, rs[i].Source}); at.pos.IsValid() && !seen[at] {
				seen[at] = at.text != "" && at.pos.Line > 0
				out = append(out, listed{list, &rs[i]})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b listed) int {
		if c := strings.Compare(a.rule.Pos.File, b.rule.Pos.File); c != 0 {
			return c
		}
		if a.rule.Pos.Line != b.rule.Pos.Line {
			return a.rule.Pos.Line - b.rule.Pos.Line
		}
		return a.rule.Pos.Col - b.rule.Pos.Col
	})
	return out
}

// take removes a rule of the same meaning, and tells whether there was one.
func take(from *[]listed, r listed) bool {
	at := slices.IndexFunc(*from, func(o listed) bool {
		return o.list == r.list && o.rule.Same(r.rule)
	})
	if at >= 0 {
		*from = slices.Delete(*from, at, at+1)
	}
	return at >= 0
}

// broad tells whether an allow rule hands out a shell, or a tool that changes files, as a
// whole. No prompt offers that.
func broad(r *obstat.Rule) bool {
	return dialect.Broad(r) || r.Verdict == obstat.Allow && slices.Contains([]string{"write", "edit", "notebook"}, effect.ToolKind(r.String()))
}

// Accepts tells whether all that is new are allow rules that a person has just
// chosen, by their texts: those of the suggestions that an agent's own prompt has
// shown, or of obstat's offers. A broad rule is none of them: a script that the agent runs
// can put a request of its own to the hook, and write the rule.
func Accepts(news []Unaccepted, texts []string) bool {
	n := 0
	for _, nw := range news {
		for _, c := range nw.Changes {
			if n++; c.Kind != Added || c.Verdict != obstat.Allow || c.broad || !slices.Contains(texts, c.Text) {
				return false
			}
		}
	}
	return n > 0
}

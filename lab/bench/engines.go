package main

import (
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// An engine answers calls: deny, ask, allow, or "" for the default.
type engine interface {
	name() string
	decide(c *call) string
}

// obstatEngine is the product: one list, the strictest rule wins.
type obstatEngine struct {
	pol   *obstat.Policy
	bytes bool // start from the input's bytes, not from the text that the others get
	call  obstat.Call
	text  [1]string
}

func newObstat(w *workload, bytes bool) (engine, error) {
	rules := make([]obstat.Rule, len(w.rules))
	for i, u := range w.rules {
		v, err := obstat.ParseVerdict(u.verdict)
		if err != nil {
			return nil, err
		}
		rules[i] = obstat.Rule{Tool: obstat.Is(u.tool), Field: u.field, Verdict: v, Pattern: obstatPattern(&u)}
	}
	pol, err := obstat.Compile(&obstat.Program{Mode: "default", Rules: map[string][]obstat.Rule{"rules": rules},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"default": {
			Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules", Pick: obstat.Strictest}}, Default: obstat.Ask}}}, nil)
	return &obstatEngine{pol: pol, bytes: bytes}, err
}

func obstatPattern(u *rule) obstat.Text {
	switch u.kind {
	case prefix:
		return obstat.Text{Flavour: pattern.Fnmatch, Text: u.text + "*"}
	case glob:
		return obstat.Text{Flavour: pattern.Minimatch, Text: u.text}
	case regex:
		return obstat.Text{Flavour: pattern.Search, Text: u.text}
	}
	return obstat.Text{}
}

func (e *obstatEngine) name() string {
	if e.bytes {
		return "obstat from bytes"
	}
	return "obstat"
}

func (e *obstatEngine) decide(c *call) string {
	e.call.Tool = c.tool
	if e.bytes {
		e.call.Input = c.input
	} else {
		e.text[0] = c.text
		e.call.Subjects = e.text[:]
	}
	d := e.pol.Decide(&e.call, nil)
	if d.Rule == nil {
		if len(d.Faults) > 0 {
			return "fault"
		}
		return ""
	}
	return d.Verdict.String()
}

// linearEngine is the loop that people write first, with everything compiled.
type linearEngine struct {
	rules  []linearRule
	byTool map[string][]linearRule
}

type linearRule struct {
	*rule
	re *regexp.Regexp
}

func newLinear(w *workload, sliced bool) (engine, error) {
	e := &linearEngine{}
	for i := range w.rules {
		r := linearRule{rule: &w.rules[i]}
		if r.kind == regex {
			re, err := regexp.Compile(r.text)
			if err != nil {
				return nil, err
			}
			r.re = re
		}
		e.rules = append(e.rules, r)
	}
	if sliced {
		e.byTool = map[string][]linearRule{}
		for _, r := range e.rules {
			e.byTool[r.tool] = append(e.byTool[r.tool], r)
		}
	}
	return e, nil
}

func (e *linearEngine) name() string {
	if e.byTool != nil {
		return "Go loop by tool"
	}
	return "Go loop"
}

func (e *linearEngine) decide(c *call) string {
	rules := e.rules
	if e.byTool != nil {
		rules = e.byTool[c.tool]
	}
	best := ""
	for i := range rules {
		r := &rules[i]
		if r.tool == c.tool && stricter(r.verdict, best) && r.matches(c) {
			best = r.verdict
		}
	}
	return best
}

var strictness = map[string]int{"deny": 0, "ask": 1, "allow": 2, "": 3}

func stricter(a, b string) bool { return strictness[a] < strictness[b] }

func (r *linearRule) matches(c *call) bool {
	switch r.kind {
	case wholeTool:
		return true
	case prefix:
		return r.field == c.field && strings.HasPrefix(c.text, r.text)
	case glob:
		return r.field == c.field && doublestar.MatchUnvalidated(r.text, c.text)
	}
	return r.field == c.field && r.re.MatchString(c.text)
}

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

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

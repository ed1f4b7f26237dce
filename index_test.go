package obstat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestWiderRuleFirst: among rules that all allow, the one that speaks for most of a call is named, so that what it
// outranks counts, wherever it stands; not where the last one is to count, or a stricter one stands behind.
func TestWiderRuleFirst(t *testing.T) {
	named := func(name string, v obstat.Verdict, f pattern.Flavour, text string) obstat.Rule {
		return obstat.Rule{Source: name, Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: f, Text: text}, Verdict: v}
	}
	whole := obstat.Rule{Source: "whole", Tool: obstat.Is("Bash"), Verdict: obstat.Allow}
	npx := named("npx", obstat.Allow, pattern.Wildcard, "npx *")
	tsc := named("tsc", obstat.Allow, pattern.Wildcard, "npx tsc *")
	line := named("line", obstat.Allow, pattern.Exact, "npx tsc -p .")
	regexp := named("regexp", obstat.Allow, pattern.Search, `^npx tsc -p \.$`)
	star := named("star", obstat.Allow, pattern.Wildcard, "*")
	deny := named("deny", obstat.Deny, pattern.Wildcard, "rm *")
	when := npx
	when.Source, when.If = "when", []obstat.Cond{{Field: "call.branch", Any: []obstat.Text{obstat.Is("main")}}}
	for _, tt := range []struct {
		rules []obstat.Rule
		pick  obstat.Pick
		want  string
	}{
		{[]obstat.Rule{npx, tsc}, obstat.First, "tsc"},
		{[]obstat.Rule{tsc, npx}, obstat.First, "tsc"},
		{[]obstat.Rule{npx, tsc, line}, obstat.First, "line"},
		{[]obstat.Rule{npx, tsc, regexp}, obstat.First, "regexp"},
		{[]obstat.Rule{npx, line, whole}, obstat.First, "whole"},
		{[]obstat.Rule{npx, line, star}, obstat.First, "star"},
		{[]obstat.Rule{when, npx}, obstat.First, "npx"},
		{[]obstat.Rule{when, npx}, obstat.Strictest, "npx"},
		{[]obstat.Rule{deny, npx, tsc}, obstat.First, "tsc"},
		{[]obstat.Rule{npx, tsc, deny}, obstat.First, "npx"},
		{[]obstat.Rule{npx, tsc, deny}, obstat.Strictest, "tsc"},
		{[]obstat.Rule{npx, tsc}, obstat.Strictest, "tsc"},
		{[]obstat.Rule{tsc, npx}, obstat.Last, "npx"},
		{[]obstat.Rule{npx, tsc}, obstat.Last, "tsc"},
	} {
		p := sample(tt.rules...)
		p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules", Pick: tt.pick}}}
		c := bashCall("npx tsc -p .")
		c.Branch = "main"
		if d := mustCompile(t, p.WithFloor(false)).Decide(c, nil); fmt.Sprint(d.Rule) != tt.want {
			t.Errorf("%v: %s, want %s", tt.rules, d.Rule, tt.want)
		}
	}
}

// TestIndexesTogether: the first rule that matches decides, whichever tools and fields the rules around it are about.
func TestIndexesTogether(t *testing.T) {
	on := func(v obstat.Verdict, name, tool, field, text string) obstat.Rule {
		r := obstat.Rule{Source: name, Tool: obstat.Is(tool), Field: field, Pattern: obstat.Is(text), Verdict: v}
		if strings.HasSuffix(tool, "*") {
			r.Tool.Flavour = pattern.Wildcard
		}
		return r
	}
	// Rules behind the one that decides are about the very tool, and come first where the rules are looked up.
	rules := []obstat.Rule{on(obstat.Deny, "first", "t*", "c", "x"), on(obstat.Allow, "second", "tool", "a", "y"), on(obstat.Allow, "third", "tool", "a", "x"),
		on(obstat.Allow, "fourth", "tool", "b", "x"), on(obstat.Ask, "fifth", "to*", "d", "x")}
	p := sample(rules...)
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules"}}}
	pol := mustCompile(t, p.WithFloor(false))
	for input, want := range map[string]string{
		`{"a":"x","b":"x","c":"x","d":"x"}`: "first", `{"a":"y","b":"x","c":"x"}`: "first", `{"a":"y","b":"x","c":"z"}`: "second",
		`{"a":"x","b":"x","d":"x"}`: "third", `{"b":"x","d":"x"}`: "fourth", `{"d":"x"}`: "fifth", `{"c":"x"}`: "first",
	} {
		c := &obstat.Call{Tool: "tool", Input: []byte(input)}
		d := pol.Decide(c, nil)
		if x, _ := pol.Explain(c, nil); d.Rule == nil || d.Rule.Source != want || x.Rule != d.Rule {
			t.Errorf("%s: %s, want %s; explained %s", input, d.Rule, want, x.Rule)
		}
	}
}

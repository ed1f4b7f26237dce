package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/lint"
	"github.com/obstat/obstat/pattern"
)

func rule(v obstat.Verdict, tool string, wildcard ...string) obstat.Rule {
	r := obstat.Rule{Tool: obstat.Is(tool), Verdict: v}
	if len(wildcard) > 0 {
		r.Field, r.Pattern = "command", obstat.Text{Flavour: pattern.Wildcard, Text: wildcard[0]}
	}
	return r
}

// full is a rule with a regular expression.
func full(v obstat.Verdict, expr string) obstat.Rule {
	return obstat.Rule{Tool: obstat.Is("a"), Field: "action", Pattern: obstat.Text{Flavour: pattern.Full, Text: expr}, Verdict: v}
}

// glob is a rule of the tool t with a minimatch pattern.
func glob(v obstat.Verdict, text string) obstat.Rule {
	r := rule(v, "t", text)
	r.Pattern.Flavour = pattern.Minimatch
	return r
}

// one is a Program with one list.
func one(pick obstat.Pick, rules ...obstat.Rule) *obstat.Program {
	return &obstat.Program{Mode: "m", Rules: map[string][]obstat.Rule{"r": rules},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "r", Rules: "r", Pick: pick}}, Default: obstat.Ask}}}
}

// layers is a Program with a deny list before an allow list.
func layers(deny, allow []obstat.Rule) *obstat.Program {
	return &obstat.Program{Mode: "m", Rules: map[string][]obstat.Rule{"deny": deny, "allow": allow},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "d", Rules: "deny"}, obstat.Match{Name: "a", Rules: "allow"}}, Default: obstat.Ask}}}
}

func TestProgram(t *testing.T) {
	const deny, ask, allow = obstat.Deny, obstat.Ask, obstat.Allow
	passing := layers([]obstat.Rule{rule(ask, "t", "git *"), rule(deny, "t", "git push *")}, []obstat.Rule{rule(allow, "t", "git push *")})
	passing.Pipelines["m"].Stages[0] = obstat.Match{Name: "d", Rules: "deny", Settle: obstat.SetOf(deny)}
	unused := one(obstat.First, rule(deny, "t"))
	unused.Rules["left"] = []obstat.Rule{rule(deny, "t")}
	unused.Rules["empty"] = nil
	marked := one(obstat.First, rule(deny, "t"))
	marked.Rules["marks"] = []obstat.Rule{{ID: "x", Tool: obstat.Is("u")}}
	marked.Pipelines["m"] = obstat.Pipeline{Default: ask, Stages: append([]obstat.Stage{obstat.Mark{Name: "marks", Rules: "marks"}}, marked.Pipelines["m"].Stages...)}
	free := one(obstat.First, rule(deny, "t"))
	free.Pipelines["m"] = obstat.Pipeline{Default: allow, Stages: free.Pipelines["m"].Stages}
	quiet := one(obstat.First, rule(ask, "t"))
	quiet.Pipelines["m"] = obstat.Pipeline{Default: deny, Stages: []obstat.Stage{obstat.Match{Rules: "r", AskDenies: true}}}
	otherMode := one(obstat.First, rule(allow, "t", "git *"), rule(deny, "t", "git push *"))
	otherMode.Pipelines["n"] = obstat.Pipeline{Default: ask, Stages: []obstat.Stage{obstat.Match{Rules: "r", Pick: obstat.Strictest}}}

	for name, tt := range map[string]struct {
		p    *obstat.Program
		want []string
	}{
		"clean":                {one(obstat.First, rule(deny, "t", "git push *"), rule(allow, "t", "git *")), nil},
		"shadowed":             {one(obstat.First, rule(allow, "t", "git *"), rule(deny, "t", "git push *")), []string{"deny rule t(git push *) can never decide: allow rule t(git *) covers it and comes first"}},
		"shadowed, last":       {one(obstat.Last, rule(deny, "t", "git push *"), rule(allow, "t", "git *")), []string{"deny rule t(git push *) can never decide: allow rule t(git *) covers it and stands after it, and the last match counts"}},
		"not shadowed, last":   {one(obstat.Last, rule(allow, "t", "git *"), rule(deny, "t", "git push *")), nil},
		"strictest":            {one(obstat.Strictest, rule(allow, "t", "git push *"), rule(deny, "t", "git *")), []string{"allow rule t(git push *) can never decide"}},
		"strictest, looser":    {one(obstat.Strictest, rule(allow, "t", "git *"), rule(deny, "t", "git push *")), nil},
		"says the same":        {one(obstat.First, rule(allow, "t", "git *"), rule(allow, "t", "git log *")), []string{"covers it and says the same"}},
		"whole tool":           {one(obstat.First, rule(deny, "t"), rule(allow, "t", "git *")), []string{"allow rule t(git *) can never decide: deny rule t covers it"}},
		"other tool":           {one(obstat.First, rule(deny, "t"), rule(allow, "u", "git *")), nil},
		"any tool":             {one(obstat.First, obstat.Rule{Verdict: deny}, rule(allow, "u", "git *")), []string{"can never decide"}},
		"pattern then whole":   {one(obstat.First, rule(deny, "t", "*"), rule(allow, "t")), nil},
		"twice":                {one(obstat.First, rule(deny, "t", "a *"), rule(deny, "t", "a *")), []string{"is there twice"}},
		"twice, last":          {one(obstat.Last, rule(allow, "t", "a *"), rule(deny, "t", "*"), rule(allow, "t", "a *")), []string{"allow rule t(a *) can never decide: deny rule t(*) covers it and stands after it"}},
		"earlier stage":        {layers([]obstat.Rule{rule(deny, "t", "git *")}, []obstat.Rule{rule(allow, "t", "git log *")}), []string{"allow rule t(git log *) can never decide: deny rule t(git *)"}},
		"later stage":          {layers([]obstat.Rule{rule(deny, "t", "git log *")}, []obstat.Rule{rule(allow, "t", "git *")}), nil},
		"a stage that passes":  {passing, []string{"deny rule t(git push *) can never decide: ask rule"}},
		"alive in a mode":      {otherMode, nil},
		"unused":               {unused, []string{"no stage of any mode looks at the list left"}},
		"marks":                {marked, nil},
		"free":                 {free, []string{"mode m never asks, and what no rule stops is allowed"}},
		"quiet":                {quiet, []string{"mode m never asks: ask rules deny in it"}},
		"whole shell":          {one(obstat.First, rule(allow, "Bash")), []string{"allow rule Bash lets Bash run every command"}},
		"every command":        {one(obstat.First, rule(allow, "Bash", "*")), []string{"lets Bash run every command"}},
		"every tool":           {one(obstat.First, obstat.Rule{Verdict: allow}), []string{"lets a shell tool run every command"}},
		"whole reader":         {one(obstat.First, rule(allow, "Read")), nil},
		"exact under a prefix": {one(obstat.First, rule(allow, "t", "git *"), obstat.Rule{Tool: obstat.Is("t"), Field: "command", Pattern: obstat.Is("git status"), Verdict: deny}), []string{"can never decide"}},
		"to a line's end":      {one(obstat.First, full(allow, "tool:.*"), full(ask, "tool:bash:.*")), []string{"ask rule a(tool:bash:.*) can never decide: allow rule a(tool:.*) covers it"}},
		"beyond a line's end":  {one(obstat.First, full(allow, "tool:.*"), full(ask, "tool:bash:(?s:.*)")), nil},
		"another field":        {one(obstat.First, rule(allow, "t", "git *"), obstat.Rule{Tool: obstat.Is("t"), Field: "path", Pattern: obstat.Is("git status"), Verdict: deny}), nil},
		"minimatch":            {one(obstat.First, glob(ask, "*"), glob(allow, "git *"), glob(deny, "src/*"), glob(deny, ".x*"), glob(deny, "git **")), []string{"allow rule t(git *) can never decide: ask rule t(*) covers it and comes first", "deny rule t(git **) can never decide"}}, // two stars in a name are one
		"together":             {one(obstat.First, full(allow, "(?s)tool:[a-m].*"), full(ask, "(?s)tool:[^a-m].*"), full(deny, "(?s)tool:.+")), []string{"deny rule a((?s)tool:.+) can never decide: allow rule a((?s)tool:[a-m].*)"}},
		"not together":         {one(obstat.First, full(allow, "(?s)tool:[a-m].*"), full(ask, "(?s)tool:[^a-n].*"), full(deny, "(?s)tool:.+")), nil},
		"a suffix":             {one(obstat.First, rule(deny, "t", "*.key"), rule(allow, "t", "src/*.key")), []string{"allow rule t(src/*.key) can never decide: deny rule t(*.key) covers it"}},
		"contradicts":          {layers([]obstat.Rule{rule(deny, "t", "git *")}, []obstat.Rule{rule(allow, "t", "git *")}), []string{"allow rule t(git *) contradicts deny rule t(git *), which comes first"}},
		"no text":              {one(obstat.First, full(allow, "[^\\s\\S]x")), []string{"no text matches it"}},
		"a secret":             {one(obstat.First, rule(allow, "t", "curl -H ghp_16C7e42F292c6912E7710c838347Ae178B4a *")), []string{"holds a secret: ghp… (40 characters)"}},
		"broken pattern":       {one(obstat.First, obstat.Rule{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Full, Text: "("}, Verdict: allow}, rule(deny, "Bash", "x")), nil},
	} {
		got := lint.Program(tt.p, nil)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %q", name, got, tt.want)
			continue
		}
		for i, e := range got {
			if !e.Warning || !strings.Contains(e.Error(), tt.want[i]) {
				t.Errorf("%s: %v, want %q", name, e, tt.want[i])
			}
		}
	}
}

// TestSees: a field that shows whatever another shows is as good as that one, and not the other way
// round.
func TestSees(t *testing.T) {
	seen, cmd := rule(obstat.Deny, "t", "git *"), rule(obstat.Allow, "t", "git log *")
	seen.Field = "seen"
	o := &lint.Options{Sees: map[string][]string{"seen": {"command"}}}
	if got := lint.Program(layers([]obstat.Rule{seen}, []obstat.Rule{cmd}), o); len(got) != 1 || !strings.Contains(got[0].Msg, "can never decide") {
		t.Errorf("a rule behind one that sees more: %v", got)
	}
	if got := lint.Program(layers([]obstat.Rule{seen}, []obstat.Rule{cmd}), nil); len(got) != 0 {
		t.Errorf("fields that have nothing to do with one another: %v", got)
	}
	seen.Pattern, cmd.Pattern = cmd.Pattern, seen.Pattern
	if got := lint.Program(layers([]obstat.Rule{cmd}, []obstat.Rule{seen}), o); len(got) != 0 {
		t.Errorf("the other way round: %v", got)
	}
}

// TestShadowedNeverDecides: a rule that is said never to decide can be taken
// out, and no call is answered otherwise.
func TestShadowedNeverDecides(t *testing.T) {
	words := []string{"git", "git *", "git push *", "git push", "*", "g*", "* push", "git log *", "git p?sh"}
	texts := []string{"git", "git ", "git push", "git push x", "git log", "git pash", "x push", "ls", ""}
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) obstat.Rule {
			r := rule(obstat.Verdict(rapid.IntRange(0, 2).Draw(t, "verdict")), "t")
			if w := rapid.SampledFrom(append(words, "whole")).Draw(t, "text"); w != "whole" {
				r = rule(r.Verdict, "t", w)
			}
			return r
		}), 2, 6).Draw(t, "rules")
		for i := range rules {
			rules[i].Pos.Line = i + 1
		}
		p := one(obstat.Pick(rapid.IntRange(0, 2).Draw(t, "pick")), rules...)
		pol, err := obstat.Compile(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		dead := map[int]bool{}
		var without []*obstat.Policy
		for _, e := range lint.Program(p, nil) {
			if strings.Contains(e.Msg, "never decide") {
				dead[e.Pos.Line] = true
			} else if !strings.Contains(e.Msg, "adds nothing") {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(rules), func(r obstat.Rule) bool { return r.Pos == e.Pos })
			less, err := obstat.Compile(one(p.Pipelines[p.Mode].Stages[0].(obstat.Match).Pick, rest...), nil)
			if err != nil {
				t.Fatal(err)
			}
			without = append(without, less)
		}
		for _, text := range texts {
			d := pol.Decide(&obstat.Call{Tool: "t", Input: fmt.Appendf(nil, `{"command":%q}`, text)}, nil)
			for _, less := range without {
				if o := less.Decide(&obstat.Call{Tool: "t", Input: fmt.Appendf(nil, `{"command":%q}`, text)}, nil); o.Verdict != d.Verdict {
					t.Fatalf("%q is %s, and %s without a rule that is said to do nothing", text, d.Verdict, o.Verdict)
				}
			}
			if d.Rule != nil && dead[d.Rule.Pos.Line] {
				t.Fatalf("%q is decided by %v, which is said never to decide", text, d.Rule)
			}
		}
	})
}

// TestManyRules: comparing is bounded.
func TestManyRules(t *testing.T) {
	rules := make([]obstat.Rule, 5_000)
	for i := range rules {
		rules[i] = rule(obstat.Allow, "t", fmt.Sprintf("p%d *", i))
	}
	if got := lint.Program(one(obstat.First, rules...), nil); len(got) != 0 {
		t.Errorf("%d warnings, first %v", len(got), got[0])
	}
}

// TestCopies: one line of a file may be in several lists, and rules that the
// user did not write are not the user's to hear about.
func TestCopies(t *testing.T) {
	at := func(r obstat.Rule, file string, line int) obstat.Rule {
		r.Pos = obstat.Pos{File: file, Line: line, Col: 1}
		return r
	}
	wide, narrow := at(rule(obstat.Allow, "t", "git *"), "mine", 1), at(rule(obstat.Deny, "t", "git push *"), "mine", 2)
	p := one(obstat.First, wide, narrow)
	p.Rules["r2"] = []obstat.Rule{narrow}
	p.Pipelines["n"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{obstat.Match{Rules: "r2"}}}
	if got := lint.Program(p, nil); len(got) != 0 {
		t.Errorf("alive in r2: %v", got)
	}
	p.Rules["r2"] = []obstat.Rule{wide, wide, narrow, at(rule(obstat.Allow, "Bash"), "built in", 3)}
	if got := lint.Program(p, &lint.Options{Files: []string{"mine"}}); len(got) != 1 || got[0].Pos.Line != 2 {
		t.Errorf("%v", got)
	}
	if got := lint.Program(p, &lint.Options{Files: []string{"other"}}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := lint.Program(p, nil); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestFoldDeadOnce: a rule that a dialect calls dead is not told again as one that another covers.
func TestFoldDeadOnce(t *testing.T) {
	at := obstat.Pos{File: "f", Line: 4, Col: 5}
	got := lint.Fold(obstat.Errors{
		{Code: obstat.CodeNoEffect, Pos: at, Msg: "xargs is taken off", Hint: "write a rule for its command", Warning: true},
		{Code: obstat.CodeNoEffect, Pos: at, Msg: "adds nothing", Hint: "take it out", Warning: true},
		{Code: obstat.CodeRisky, Pos: at, Msg: "wide", Hint: "narrow it", Warning: true}})
	if len(got) != 2 || got[0].Msg != "xargs is taken off" || got[1].Msg != "wide" {
		t.Errorf("%v", got)
	}
}

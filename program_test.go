package obstat_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
	"pgregory.net/rapid"
)

// genText draws a pattern that compiles.
func genText(t *rapid.T, label string) obstat.Text {
	f := rapid.SampledFrom([]pattern.Flavour{pattern.Exact, pattern.Fnmatch, pattern.Wildcard, pattern.Full, pattern.Search}).Draw(t, label+" flavour")
	parts := []string{"git", " ", "push", "rm", "-rf", "*", "?", "src/", "a", "b", ".go"}
	if f == pattern.Full || f == pattern.Search {
		parts = []string{"git", " ", "push", "rm", ".*", "[ab]", "(x|y)?", "src/", `\.go`}
	}
	return obstat.Text{Flavour: f, Text: strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(t, label), "")}
}

func genRule(t *rapid.T) obstat.Rule {
	r := obstat.Rule{Verdict: obstat.Verdict(rapid.IntRange(0, 2).Draw(t, "verdict"))}
	switch rapid.IntRange(0, 3).Draw(t, "tool kind") {
	case 0:
		r.Tool = obstat.Text{}
	case 1:
		r.Tool = obstat.Text{Flavour: pattern.Wildcard, Text: rapid.SampledFrom([]string{"*", "t*", "?1", "x"}).Draw(t, "tool")}
	default:
		r.Tool = obstat.Is(rapid.SampledFrom([]string{"t1", "t2", "x"}).Draw(t, "tool"))
	}
	if rapid.Bool().Draw(t, "has pattern") {
		r.Pattern = genText(t, "pattern")
		r.Field = rapid.SampledFrom([]string{"command", "path"}).Draw(t, "field")
	}
	return r
}

func genProgram(t *rapid.T) *obstat.Program {
	p := &obstat.Program{Dialect: "test", Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{}, Rules: map[string][]obstat.Rule{}}
	lists := []string{"a", "b"}
	for _, l := range lists {
		p.Rules[l] = rapid.SliceOfN(rapid.Custom(genRule), 0, 12).Draw(t, "rules")
		if p.Rules[l] == nil {
			p.Rules[l] = []obstat.Rule{}
		}
	}
	for _, m := range []obstat.Mode{"m", "n"} {
		pl := obstat.Pipeline{Default: obstat.Verdict(rapid.IntRange(0, 2).Draw(t, "default"))}
		for i := range rapid.IntRange(1, 4).Draw(t, "stages") {
			pl.Stages = append(pl.Stages, genStage(t, fmt.Sprint("stage ", i), lists))
		}
		if rapid.Bool().Draw(t, "amended") {
			pl.Amend = append(pl.Amend, genStage(t, "amendment", lists))
		}
		p.Pipelines[m] = pl
	}
	return p
}

func genStage(t *rapid.T, name string, lists []string) obstat.Stage {
	if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
		w := obstat.When{Name: name, Tools: []string{"t1"}, Then: obstat.Verdict(rapid.IntRange(0, 2).Draw(t, "then"))}
		if rapid.Bool().Draw(t, "has else") {
			v := obstat.Verdict(rapid.IntRange(0, 2).Draw(t, "else"))
			w.Else = &v
		}
		return w
	}
	return obstat.Match{Name: name, Rules: rapid.SampledFrom(lists).Draw(t, "list"), Pick: obstat.Pick(rapid.IntRange(0, 2).Draw(t, "pick")),
		Settle: obstat.Verdicts(rapid.IntRange(0, 7).Draw(t, "settle")), AskDenies: rapid.Bool().Draw(t, "ask denies")}
}

func genCall(t *rapid.T) *obstat.Call {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"git", " ", "push", "rm", "-rf", "src/", "a", "b", ".go", "x", "\n", `"`, "é"}), 0, 6)
	in := map[string]string{}
	for _, f := range []string{"command", "path"} {
		if rapid.IntRange(0, 3).Draw(t, "has "+f) > 0 {
			in[f] = strings.Join(words.Draw(t, f), "")
		}
	}
	raw, _ := json.Marshal(in)
	return &obstat.Call{Tool: rapid.SampledFrom([]string{"t1", "t2", "x", "other"}).Draw(t, "tool"), Input: raw,
		Mode: rapid.SampledFrom([]obstat.Mode{"", "m", "n"}).Draw(t, "mode")}
}

func mustCompile(t interface{ Fatal(...any) }, p *obstat.Program) *obstat.Policy {
	pol, err := obstat.Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

func TestProgramRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram(t)
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var q obstat.Program
		if err := json.Unmarshal(b, &q); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if !reflect.DeepEqual(p, &q) {
			t.Fatalf("round trip changed the program\n%#v\n%#v", p, &q)
		}
		if p.Digest() != q.Digest() {
			t.Fatal("round trip changed the digest")
		}
		b2, _ := json.Marshal(&q)
		if string(b) != string(b2) {
			t.Fatalf("JSON is not stable\n%s\n%s", b, b2)
		}
		call := genCall(t)
		if a, b := mustCompile(t, p).Decide(call, nil), mustCompile(t, &q).Decide(call, nil); a.Verdict != b.Verdict {
			t.Fatalf("decides differently: %v %v", a.Verdict, b.Verdict)
		}
	})
}

// TestIndexIsLinear holds the index against a scan of the rules in the order of
// their precedence.
func TestIndexIsLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, call := genProgram(t), genCall(t)
		pol := mustCompile(t, p)
		got, want := pol.Decide(call, nil), linear(p, call)
		if got.Verdict != want {
			t.Fatalf("index says %v (%s), a scan says %v", got.Verdict, got.Reason(), want)
		}
		explained, trace := pol.Explain(call, nil)
		if explained.Verdict != got.Verdict || explained.Rule != got.Rule || explained.Stage != got.Stage {
			t.Fatalf("Explain decides differently: %+v %+v", explained, got)
		}
		if got.Reason() == "" || trace.Policy != pol.Digest() {
			t.Fatal("no reason, or a trace of another policy")
		}
	})
}

// linear decides by scanning: the oracle.
func linear(p *obstat.Program, call *obstat.Call) obstat.Verdict {
	mode := call.Mode
	if mode == "" {
		mode = p.Mode
	}
	pl := p.Pipelines[mode]
	v, ok := scanStages(p, pl.Stages, call, true)
	if !ok {
		v = pl.Default
	}
	for _, s := range pl.Amend {
		if a, ok := scanStages(p, []obstat.Stage{s}, call, false); ok {
			v = min(v, a)
		}
	}
	return v
}

func scanStages(p *obstat.Program, stages []obstat.Stage, call *obstat.Call, subjects bool) (obstat.Verdict, bool) {
	var in map[string]string
	if subjects {
		json.Unmarshal(call.Input, &in)
	}
	for _, s := range stages {
		switch s := s.(type) {
		case obstat.When:
			if s.Tools[0] == call.Tool {
				return s.Then, true
			} else if s.Else != nil {
				return *s.Else, true
			}
		case obstat.Match:
			r := scanRules(p.Rules[s.Rules], s.Pick, call.Tool, in)
			if r != nil && s.Settle.Has(r.Verdict) {
				if r.Verdict == obstat.Ask && s.AskDenies {
					return obstat.Deny, true
				}
				return r.Verdict, true
			}
		}
	}
	return 0, false
}

func scanRules(rules []obstat.Rule, pick obstat.Pick, tool string, in map[string]string) (best *obstat.Rule) {
	for i := range rules {
		r := &rules[i]
		if !r.Tool.IsZero() {
			if ok, _ := pattern.MustCompile(r.Tool.Flavour, r.Tool.Text).Match(tool); !ok {
				continue
			}
		}
		if !r.Whole() {
			text, has := in[r.Field]
			if ok, _ := pattern.MustCompile(r.Pattern.Flavour, r.Pattern.Text).Match(text); !has || !ok {
				continue
			}
		}
		if best == nil || pick == obstat.Last || pick == obstat.Strictest && r.Verdict < best.Verdict {
			best = r
		}
	}
	return best
}

// TestReachBounds: no call gets a verdict outside of what Reach says.
func TestReachBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, call := genProgram(t), genCall(t)
		pol := mustCompile(t, p)
		d, r := pol.Decide(call, nil), pol.Reach(call.Tool, call.Mode)
		if d.Verdict < r.Strictest || d.Verdict > r.Loosest {
			t.Fatalf("%v is outside of %v..%v", d.Verdict, r.Strictest, r.Loosest)
		}
	})
}

// TestDenyNeverLoosens: a deny rule more, in a list where the strictest is
// picked and everything settles, never loosens.
func TestDenyNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, call := genProgram(t), genCall(t)
		call.Mode = ""
		p.Pipelines["m"] = obstat.Pipeline{Stages: []obstat.Stage{obstat.Match{Name: "all", Rules: "a", Pick: obstat.Strictest}}, Default: obstat.Ask}
		before := mustCompile(t, p).Decide(call, nil)
		r := genRule(t)
		r.Verdict = obstat.Deny
		p.Rules["a"] = append(p.Rules["a"], r)
		if after := mustCompile(t, p).Decide(call, nil); after.Verdict > before.Verdict {
			t.Fatalf("%v became %v", before.Verdict, after.Verdict)
		}
	})
}

// TestAmendNeverLoosens: an amendment more never loosens.
func TestAmendNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, call := genProgram(t), genCall(t)
		call.Mode = "m"
		before := mustCompile(t, p).Decide(call, nil)
		pl := p.Pipelines["m"]
		pl.Amend = append(pl.Amend, genStage(t, "one more", []string{"a", "b"}))
		p.Pipelines["m"] = pl
		if after := mustCompile(t, p).Decide(call, nil); after.Verdict > before.Verdict {
			t.Fatalf("%v became %v", before.Verdict, after.Verdict)
		}
	})
}

// TestUnreadablePrograms: a text that is too deep, or no text, is no Program.
func TestUnreadablePrograms(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 5000):          `nested more than 500 levels deep [too-large]`,
		"{\"obstat\":1,\"mode\":\"\xff\"}": `p.json:1:21: the file is not UTF-8 text here (byte 0xff) [syntax]`,
	} {
		if _, err := obstat.ParseProgram("p.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	rule := obstat.Rule{Tool: obstat.Is("t"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Full, Text: "("}, Pos: obstat.Pos{File: "f", Line: 3, Col: 4}}
	p := &obstat.Program{Mode: "nope", View: "none", Rules: map[string][]obstat.Rule{"a": {rule, {Tool: obstat.Is("")}, {Tool: obstat.Is("x"), Verdict: 9}}},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: 7, Stages: []obstat.Stage{
			obstat.Match{Name: "s", Rules: "gone"}, obstat.Check{Name: "c", Check: "no such"}, obstat.When{Name: "w", Is: "odd"}, obstat.Floor{}, nil,
		}}}}
	_, err := obstat.Compile(p, nil)
	if err == nil {
		t.Fatal("compiled")
	}
	for _, want := range []string{"f:3:4: rule t(()", "names no tool", `has no verdict`, `mode "nope" has no pipeline`, `no view "none"`,
		`wants a rule list "gone"`, `wants a check "no such"`, `wants a predicate "odd"`, "the floor among its stages", "empty stage", "no default verdict"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

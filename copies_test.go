package obstat_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
)

// TestCopies: a policy is its own: what becomes of the Program that it was made of, or of one that it hands out, changes
// nothing, and a Program with the floor off leaves the one that it was made of alone.
func TestCopies(t *testing.T) {
	p := sample(rule(obstat.Deny, "Bash", "command", "rm *"))
	p.Faces = map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "file_path"}}
	text := func(p *obstat.Program) string {
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	spoil := func(p *obstat.Program) {
		p.Rules["rules"][0].Verdict = obstat.Allow
		p.Rules["rules"] = nil
		p.Rules["more"] = []obstat.Rule{{Tool: obstat.Is("x")}}
		p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow}
		p.Faces[obstat.FaceRead] = obstat.Face{Tool: "none"}
	}
	before := text(p)
	p.WithFloor(false).Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow}
	if after := text(p); after != before {
		t.Error("another Program's floor\n", cmp.Diff(before, after))
	}
	pol := mustCompile(t, p)
	if after := text(p); after != before {
		t.Error("compiled\n", cmp.Diff(before, after))
	}
	in := text(pol.Program())
	spoil(p)
	spoil(pol.Program())
	if after := text(pol.Program()); after != in {
		t.Error("spoiled\n", cmp.Diff(in, after))
	}
	if d := pol.Decide(bashCall("rm x"), nil); d.Verdict != obstat.Deny {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
	offer := obstat.Offer{List: "rules", Rule: rule(obstat.Deny, "Bash", "command", "mv *")}
	with, err := pol.With(offer)
	if err != nil {
		t.Fatal(err)
	}
	if d := with.Decide(bashCall("mv a b"), nil); d.Verdict != obstat.Deny || text(pol.Program()) != in {
		t.Errorf("with another rule: %s", d.Reason())
	}
}

// TestMaxRules: a policy may not have more rules than the host wants, over all its lists.
func TestMaxRules(t *testing.T) {
	p := sample(rule(obstat.Deny, "a", "", ""), rule(obstat.Deny, "b", "", ""))
	p.Rules["more"] = []obstat.Rule{rule(obstat.Deny, "c", "", "")}
	for most, want := range map[int]bool{0: true, 2: false, 3: true, 4: true} {
		if _, err := obstat.Compile(p, &obstat.Options{MaxRules: most}); (err == nil) != want {
			t.Errorf("at most %d: %v", most, err)
		}
	}
}

// TestShortPrograms: a Program that says little prints little: no list, amendment or setting that it has not.
func TestShortPrograms(t *testing.T) {
	for text, p := range map[string]*obstat.Program{
		`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"ask"}}}`: {Mode: "m",
			Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Ask}}},
		`{"obstat":1,"mode":"m","floor":"off","pipelines":{"m":{"stages":[],"default":"deny"}},"rules":{"l":[{"tool":"t","verdict":"deny"}]}}`: {Mode: "m", NoFloor: true,
			Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {}}, Rules: map[string][]obstat.Rule{"l": {{Tool: obstat.Is("t")}}}},
	} {
		got, err := json.Marshal(p)
		if err != nil || string(got) != text {
			t.Errorf("%s, want %s, %v", got, text, err)
		}
	}
}

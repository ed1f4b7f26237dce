package obstat_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// conditional is a Program with every kind of condition.
const conditional = `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"mark":"marks","rules":"marks"},{"match":"deny","rules":"deny"},{"match":"allow","rules":"allow"}],"default":"ask"}},
"rules":{"marks":[{"id":"looked","tool":"look","verdict":"ask"},{"id":"far","tool":"look","field":"at","match":{"wildcard":"/far *"},"verdict":"ask"}],
"deny":[{"tool":"send","verdict":"deny","if":[{"field":"call.after","match":["looked"]}],"reason":"not after a look"},
{"tool":"send","field":"to","match":{"wildcard":"*"},"verdict":"deny","if":[{"field":"call.branch","not":true,"match":["main",{"wildcard":"rel-*"}]}],"except":[{"field":"to","match":["bob"]}]}],
"allow":[{"tool":"send","verdict":"allow"},{"tool":"look","verdict":"allow","if":[{"field":"input.n","match":[{"order":">=1<5"},{"json":"7"}]}]}]}}`

func compile(t *testing.T, text string) *obstat.Policy {
	t.Helper()
	p, err := obstat.ParseProgram("p.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	pol, err := obstat.Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// TestConditionsRoundTrip: conditions and marks are data: they print, come back and count in the digest.
func TestConditionsRoundTrip(t *testing.T) {
	p, err := obstat.ParseProgram("p.json", []byte(conditional))
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var q obstat.Program
	if err := q.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	again, _ := q.MarshalJSON()
	if !bytes.Equal(text, again) || p.Digest() != q.Digest() {
		t.Errorf("%s\n%s", text, again)
	}
	for _, change := range [][2]string{{`"not":true,`, ""}, {`"bob"`, `"ann"`}, {`>=1<5`, `>=1<6`}, {`"looked"]`, `"far"]`}, {`"id":"far"`, `"id":"near"`}} {
		other, err := obstat.ParseProgram("p.json", []byte(strings.Replace(conditional, change[0], change[1], 1)))
		if err != nil || other.Digest() == p.Digest() {
			t.Errorf("%q for %q: the same digest, %v", change[1], change[0], err)
		}
	}
}

// TestConditionsDecide: a rule counts where its conditions hold and its exceptions do not.
func TestConditionsDecide(t *testing.T) {
	pol := compile(t, conditional)
	for _, tt := range []struct {
		tool, input, branch, after string
		want                       obstat.Verdict
	}{
		{"send", `{"to":"ann"}`, "main", "", obstat.Allow},
		{"send", `{"to":"ann"}`, "rel-1", "", obstat.Allow},
		{"send", `{"to":"ann"}`, "dev", "", obstat.Deny},
		{"send", `{"to":"ann"}`, "", "", obstat.Deny}, // it may be any branch
		{"send", `{"to":"bob"}`, "dev", "", obstat.Allow},
		{"send", `{"to":"bob"}`, "main", "looked", obstat.Deny},
		{"send", `{"to":"bob"}`, "main", "far", obstat.Allow},
		{"look", `{"n":1}`, "", "", obstat.Allow},
		{"look", `{"n":4.9}`, "", "", obstat.Allow},
		{"look", `{"n":7.0}`, "", "", obstat.Allow},
		{"look", `{"n":5}`, "", "", obstat.Ask},
		{"look", `{"n":"7"}`, "", "", obstat.Ask},
		{"look", `{}`, "", "", obstat.Ask},
		{"look", ``, "", "", obstat.Ask},
		{"look", `{"n":1,"N":7}`, "", "", obstat.Deny},
	} {
		c := &obstat.Call{Tool: tt.tool, Input: []byte(tt.input), Branch: tt.branch, After: strings.Fields(tt.after)}
		d := pol.Decide(c, nil)
		if x, _ := pol.Explain(c, nil); d.Verdict != tt.want || x.Verdict != d.Verdict {
			t.Errorf("%v: %s, explained %s, want %s: %s", tt, d.Verdict, x.Verdict, tt.want, d.Reason())
		}
	}
	d := pol.Decide(&obstat.Call{Tool: "look", Input: []byte(`{"at":"/far away"}`)}, nil)
	if strings.Join(d.Marks, " ") != "looked far" || strings.Join(pol.Marks(), " ") != "looked far" {
		t.Errorf("marks %q of %q", d.Marks, pol.Marks())
	}
	if pol.Decide(&obstat.Call{Tool: "send", Input: []byte(`{"to":"x"}`)}, nil).Marks != nil {
		t.Error("a call without a mark has one")
	}
}

// TestBadConditions: what a condition cannot mean does not compile.
func TestBadConditions(t *testing.T) {
	for cond, want := range map[string]string{
		`{"field":"call.weather","match":["x"]}`:   `a call has no "weather"`,
		`{"field":"call.agent","match":[]}`:        "names no field or nothing to match",
		`{"field":"x","match":[{"any":true}]}`:     "matches everything",
		`{"field":"x","match":[{"order":"5"}]}`:    "an order begins with",
		`{"field":"x","match":[{"order":">=5<"}]}`: "nothing to compare with",
		`{"field":"x"}`:   `needs a key "match"`,
		`{"match":["x"]}`: `needs a key "field"`,
		`{"field":"x","match":["x"],"unless":true}`: `has no key "unless"`,
	} {
		p, err := obstat.ParseProgram("p.json", []byte(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":"ask"}},"rules":{"r":[{"tool":"t","verdict":"deny","if":[`+cond+`]}]}}`))
		if err == nil {
			_, err = obstat.Compile(p, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", cond, err, want)
		}
	}
	p := compile(t, conditional).Program()
	p.Pipelines["m"] = obstat.Pipeline{Amend: []obstat.Stage{obstat.Mark{Name: "x", Rules: "marks"}}}
	if _, err := obstat.Compile(p, nil); err == nil {
		t.Error("a mark among the amendments compiles")
	}
}

// TestManyConditions: the index finds the rule that a scan finds where most rules have conditions.
func TestManyConditions(t *testing.T) {
	p := compile(t, conditional).Program()
	var rules []obstat.Rule
	for i := range 200 {
		r := obstat.Rule{Tool: obstat.Is("t"), Field: "a", Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: strings.Repeat("x", i%7) + "*"}, Verdict: obstat.Verdict(i % 3), Source: string(rune('A' + i%26))}
		if i%4 != 3 {
			r.If = []obstat.Cond{{Field: "call.agent", Any: []obstat.Text{obstat.Is(string(rune('a' + i%5)))}, Not: i%2 == 0}}
		}
		if i%5 == 1 {
			r.Pattern = obstat.Text{}
		}
		rules = append(rules, r)
	}
	p.Rules["deny"] = rules
	pol, err := obstat.Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 120 { // until the set has built its index
		for _, agent := range []string{"", "a", "b", "c", "d", "e", "z"} {
			c := &obstat.Call{Tool: "t", Input: []byte(`{"a":"xxx"}`), Agent: agent}
			d := pol.Decide(c, nil)
			if x, _ := pol.Explain(c, nil); d.Rule == nil || x.Rule != d.Rule {
				t.Fatalf("agent %q: %v, explained %v", agent, d.Rule, x.Rule)
			}
			for i := range rules {
				r := &rules[i]
				hit := r.Whole() || strings.HasPrefix("xxx", strings.TrimSuffix(r.Pattern.Text, "*"))
				for _, cond := range r.If {
					known := agent != ""
					hit = hit && (known && (cond.Any[0].Text == agent) != cond.Not || !known && r.Verdict != obstat.Allow)
				}
				if hit {
					if d.Rule.Source != r.Source || d.Verdict != r.Verdict {
						t.Fatalf("agent %q: %s by %s, a scan finds %d (%s)", agent, d.Verdict, d.Rule.Source, i, r.Source)
					}
					break
				}
			}
		}
	}
}

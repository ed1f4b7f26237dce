package explain_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/cases/casestest"
	"github.com/obstat/obstat/internal/study/explain"
)

// TestAdviceWorks: for 500 calls that are asked about or denied the advice is followed, in
// the file or the call, and gives the verdict that it says.
func TestAdviceWorks(t *testing.T) {
	for file, most := range map[string]int{"asks": 300, "harm": 200} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			calls, advised, none := 0, 0, 0
			casestest.Each(t, all.Find, "../../../dialect/all/testdata/"+file+".jsonl.gz", func(c *cases.Case, l *dialect.Loaded) {
				if calls++; calls > most {
					return
				}
				dec := l.Policy.Decide(&c.Call, &c.World)
				offers := l.Offers(&c.Call, &c.World, &dec)
				v := explain.Explain(&explain.Request{Program: l.Program, Policy: l.Policy, Library: l.Dialect.Library(), Call: &c.Call, World: &c.World,
					Offers: func(*obstat.Decision) []obstat.Offer { return offers }, With: func(o ...obstat.Offer) (*obstat.Policy, error) { return l.Written(l.Into(), o...) }})
				if len(v.Changes) == 0 {
					none++
				}
				for i := range v.Changes {
					advised++
					if got, ok := follow(t, l, c, offers, &v.Changes[i]); !ok || got != v.Changes[i].Verdict {
						t.Errorf("%s: %s: %q gives %v, not %v", c.ID, c.Call.Input, v.Changes[i].Words, got, v.Changes[i].Verdict)
					}
				}
			})
			t.Logf("%d calls, %d pieces of advice, %d calls without", calls, advised, none)
			if calls < most || advised < most*4/5 {
				t.Errorf("%d calls, %d pieces of advice", calls, advised)
			}
		})
	}
}

// follow does what a change says and decides again.
func follow(t *testing.T, l *dialect.Loaded, c *cases.Case, offers []obstat.Offer, change *explain.Change) (obstat.Verdict, bool) {
	t.Helper()
	named := func(text string) bool {
		return slices.ContainsFunc(change.Rules, func(r *explain.Rule) bool { return r.Text == text })
	}
	call, pol := c.Call, l.Policy
	var err error
	switch change.Kind {
	case explain.ChangeMode:
		call.Mode = change.Mode
	case explain.ChangeCall:
		var fields map[string]any
		if json.Unmarshal(call.Input, &fields) != nil {
			return 0, false
		}
		fields["command"] = change.Text
		call.Input, err = json.Marshal(fields)
	case explain.ChangeAdd:
		pol, err = l.Written(l.Into(), slices.DeleteFunc(slices.Clone(offers), func(o obstat.Offer) bool { return !named(o.Rule.String()) })...)
	case explain.ChangeLevel:
		p := l.Policy.Program()
		for _, rules := range p.Rules {
			for i := range rules {
				if named(rules[i].String()) {
					rules[i].Verdict = obstat.Allow
				}
			}
		}
		pol, err = obstat.Compile(p, &obstat.Options{Library: l.Dialect.Library()})
	case explain.ChangeRemove:
		p := l.Policy.Program()
		for name, rules := range p.Rules {
			p.Rules[name] = slices.DeleteFunc(slices.Clone(rules), func(r obstat.Rule) bool { return named(r.String()) })
		}
		pol, err = obstat.Compile(p, &obstat.Options{Library: l.Dialect.Library()})
	}
	if err != nil {
		t.Log(err)
		return 0, false
	}
	return pol.Decide(&call, &c.World).Verdict, true
}

// TestTheRestConfined: what is asked about beside the deciding part only since it cannot be known is left to the gate,
// which may confine it. An ask by a rule is not.
func TestTheRestConfined(t *testing.T) {
	const text = "version: 1\nallow:\n  - read anything\n  - write workspace\n" +
		"ask:\n  - delete anything\n  - run git push\n  - run cargo\n"
	d, _ := all.Find("native")
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	world := &obstat.Snapshot{HomeDir: "/home/u"}
	for _, c := range []struct {
		command string
		confine obstat.Verdict // what the gate says of the rest
		want    string
	}{
		{"rm -rf build && npm test", obstat.Allow, "call: take out rm -rf build; the rest runs confined -> allow\n" +
			"narrow-rule: change delete anything (obstat.yaml:6:5) to: delete anything except ./build, and allow " +
			"delete ./build; the rest runs confined -> allow"},
		{"rm -rf build && npm test", obstat.Ask, "narrow-rule: change delete anything (obstat.yaml:6:5) to: delete " +
			"anything except ./build, and allow delete ./build, run npm test -> allow"},
		{"rm -rf build && git push", obstat.Allow, ""},
	} {
		input, err := json.Marshal(map[string]string{"command": c.command})
		if err != nil {
			t.Fatal(err)
		}
		call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/repo", Roots: []string{"/repo"}}
		v := explain.Explain(&explain.Request{Program: l.Program, Policy: l.Policy, Library: l.Dialect.Library(),
			Call: call, World: world, With: func(o ...obstat.Offer) (*obstat.Policy, error) { return l.Written(l.Into(), o...) },
			Narrow: func(d *obstat.Decision) *explain.Narrowing {
				n := l.Narrowed(call, world, d)
				if n == nil {
					return nil
				}
				return &explain.Narrowing{Rules: n.Rules, Texts: n.Texts, Offers: n.Offers, Rest: n.Rest, With: n.With}
			},
			Settle: func(*obstat.Policy, *obstat.Call) obstat.Verdict { return c.confine }})
		if got := words(v); got != c.want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", c.command, c.confine, got, c.want)
		}
	}
}

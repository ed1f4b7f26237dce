package all_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// settled tells whether the call is allowed with the offers, each by itself or all of them.
func settled(l *dialect.Loaded, c *cases.Case, offers []obstat.Offer) bool {
	try := func(offers ...obstat.Offer) bool {
		pol, err := l.With(offers...)
		return err == nil && pol.Decide(&c.Call, &c.World).Verdict == obstat.Allow
	}
	for i := range offers {
		if !try(offers[i]) {
			return try(offers...)
		}
	}
	return true
}

// TestOffersFit: of 300 recorded asks of the five documents at least 95 of 100 come with an
// offer. None of them is about a program that runs others or a word that is known only at run
// time, or is a safety ask or made by an ask rule that comes before every allow rule: there no
// rule would do. Each offer settles its own call and ends in no flag, and none of them,
// accepted, allows a call that was watched to do harm.
func TestOffersFit(t *testing.T) {
	asks, with := map[string]int{}, map[string]int{}
	accepted := map[string][]obstat.Offer{}
	casestest.Each(t, all.Find, "testdata/asks.jsonl.gz", func(c *cases.Case, l *dialect.Loaded) {
		d := l.Policy.Decide(&c.Call, &c.World)
		if d.Verdict != obstat.Ask {
			t.Fatalf("%s: %v: %s", c.ID, d.Verdict, d.Reason())
		}
		asks[c.Dialect]++
		offers := l.Offers(&c.Call, &c.World, &d)
		if len(offers) == 0 {
			return
		}
		with[c.Dialect]++
		if !settled(l, c, offers) {
			t.Errorf("%s: %s is not settled by %v", c.ID, c.Call.Input, offers)
		}
		for _, o := range offers {
			if tooWide(c, &o) {
				t.Errorf("%s: %s: the offer %s is too wide", c.ID, c.Call.Input, o.Text)
			}
		}
		accepted[c.Dialect] = append(accepted[c.Dialect], offers...)
	})
	total, have := 0, 0
	for name, n := range asks {
		t.Logf("%s: %d of %d asks have an offer", name, with[name], n)
		total, have = total+n, have+with[name]
	}
	if total != 300 || have*100 < total*95 || len(asks) != 5 {
		t.Errorf("%d of %d asks of %d dialects have an offer", have, total, len(asks))
	}
	harm := map[string]cases.Case{}
	policies := map[*dialect.Loaded]*obstat.Policy{}
	casestest.Each(t, all.Find, "testdata/harm.jsonl.gz", func(c *cases.Case, l *dialect.Loaded) {
		harm[c.Call.Text()] = *c
		if policies[l] == nil {
			var err error
			if policies[l], err = l.With(accepted[c.Dialect]...); err != nil {
				t.Fatal(err)
			}
		}
		if d := policies[l].Decide(&c.Call, &c.World); d.Verdict == obstat.Allow {
			t.Errorf("%s: with the offers of %s accepted %s is allowed: %s", c.ID, c.Dialect, c.Call.Input, d.Reason())
		}
	})
	if len(harm) < 500 {
		t.Errorf("%d calls that do harm", len(harm))
	}
	for name := range asking {
		harmless(t, name, accepted[name], harm)
	}
}

// tooWide tells whether an offer for commands leaves less than program and word, or ends in a
// flag that is not the end of the command. A program by itself, such as make, has no word.
func tooWide(c *cases.Case, o *obstat.Offer) bool {
	prefix, ok := strings.CutSuffix(o.Rule.Pattern.Text, ":*")
	if !ok {
		return false
	}
	words := strings.Fields(prefix)
	_, after, _ := strings.Cut(string(c.Call.Input), prefix)
	whole := after != "" && strings.ContainsAny(strings.TrimSpace(after)[:1], `"|&;`)
	return !whole && (len(words) < 2 || strings.HasPrefix(words[len(words)-1], "-"))
}

// asking are policies that ask about everything, of the dialects that no call was watched
// under, with the name of the shell.
var asking = map[string]struct{ file, text, shell string }{
	"adkfluent": {"permissions.json", `{"mode":"default","allow":[],"ask":[]}`, "bash"},
	"jiuwen":    {"config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  defaults:\n    \"*\": ask\n", "bash"},
	"chorus":    {"agent.json", `{"permissions":{"allow":[],"ask":["(?s)tool:.*"]}}`, "bash"},
}

// harmless accepts all the offers of a dialect in a policy that asks about everything: no call
// that does harm is allowed then.
func harmless(t *testing.T, name string, offers []obstat.Offer, harm map[string]cases.Case) {
	t.Helper()
	d, err := all.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	p := asking[name]
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: p.file, Data: []byte(p.text)}}})
	if err != nil {
		t.Fatal(err)
	}
	pol, err := l.With(offers...)
	if err != nil {
		t.Fatal(err)
	}
	for command, c := range harm {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		call := c.Call
		call.Tool, call.Input, call.Mode, call.Subjects = p.shell, input, "", nil
		if d := pol.Decide(&call, &c.World); d.Verdict == obstat.Allow {
			t.Errorf("with the offers of %s accepted %q is allowed: %s", name, command, d.Reason())
		}
	}
}

// TestExactIsTheWhole: a rule that is one command, word for word, speaks for that command
// alone. It does not allow it behind a variable that decides which program runs.
func TestExactIsTheWhole(t *testing.T) {
	for name, p := range map[string]struct{ file, text, shell string }{
		"claudecode": {"settings.json", `{"permissions":{"allow":["Bash(npm test)"]}}`, "Bash"},
		"opencode":   {"opencode.json", `{"permission":{"*":"ask","bash":{"npm test":"allow"}}}`, "bash"},
		"jiuwen":     {"config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  approval_overrides:\n    - {id: a, tools: [bash], match_type: command, pattern: npm test, action: allow}\n  defaults: {\"*\": ask}\n", "bash"},
		"chorus":     {"agent.json", `{"permissions":{"allow":["tool:bash:npm test"],"ask":["(?s)tool:.*"]}}`, "bash"},
	} {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: p.file, Data: []byte(p.text)}}})
		if err != nil {
			t.Fatal(err)
		}
		for command, want := range map[string]obstat.Verdict{"npm test": obstat.Allow, "PATH=/tmp/x npm test": obstat.Ask, "export PATH=/tmp/x; npm test": obstat.Ask,
			"PATH=/tmp/x; npm test": obstat.Ask, "LD_PRELOAD=./x.so npm test": obstat.Ask} {
			input, _ := json.Marshal(map[string]string{"command": command})
			if dec := l.Policy.Decide(&obstat.Call{Tool: p.shell, Input: input, Dir: "/src"}, &obstat.Snapshot{}); dec.Verdict != want {
				t.Errorf("%s: %s: %v: %s", name, command, dec.Verdict, dec.Reason())
			}
		}
	}
}

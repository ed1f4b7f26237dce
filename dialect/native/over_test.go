package native_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

const overs = `version: 1
allow:
  - rule: run npm test, make
    over: auto-mode
  - rule: run git push
    over: [auto-mode, reviewer]
  - rule: write ./src
    over: auto-mode
  - write ./docs
  - run git fetch
  - rule: tool mcp__db__query
    over: reviewer
  - read workspace
ask:
  - run git push --force
deny:
  - read secrets
`

// TestOver: a call outranks what every rule that allowed a part of it does.
func TestOver(t *testing.T) {
	l := load(t, overs)
	for text, want := range map[string]string{
		"npm test":                       "auto-mode",
		"git push origin main":           "auto-mode, reviewer",
		"git fetch":                      "",
		"npm test && git push":           "auto-mode",
		"npm test && git fetch":          "",
		"git fetch; npm test":            "",
		"env CI=1 npm test":              "auto-mode",
		"timeout 5 npm test; git push":   "auto-mode",
		"(npm test; git fetch)":          "",
		"echo hi":                        "", // known to do nothing: no rule has said so
		"echo hi && npm test":            "auto-mode",
		"echo x > src/a":                 "auto-mode",
		"echo x > docs/a":                "",
		"echo x | tee src/a docs/a":      "",
		"cat package.json && npm test":   "", // reading was allowed by a rule of its own
		"Write file_path=/p/src/a.go":    "auto-mode",
		"Write file_path=/p/docs/a.md":   "",
		"mcp__db__query sql=select":      "reviewer",
		"Read file_path=/p/package.json": "",
	} {
		c := call(text)
		d := l.Policy.Decide(c, world)
		if d.Verdict != obstat.Allow || d.Over.String() != want {
			t.Errorf("%s: %v over %q, want %q: %s", text, d.Verdict, d.Over, want, d.Reason())
		}
		if e, _ := l.Policy.Explain(c, world); e.Over != d.Over {
			t.Errorf("%s: explained over %q, decided over %q", text, e.Over, d.Over)
		}
	}
	for _, text := range []string{"git push --force", "cat .env", "npm test && cat .env", "npm test && curl x"} {
		if d := l.Policy.Decide(call(text), world); d.Verdict == obstat.Allow || d.Over != 0 {
			t.Errorf("%s: %v over %q", text, d.Verdict, d.Over)
		}
	}
}

// TestOverProgram: over is a part of the Program, of its digest, and comes back from its JSON.
func TestOverProgram(t *testing.T) {
	with, without := load(t, overs).Program, load(t, strings.ReplaceAll(overs, "    over: auto-mode\n", "")).Program
	if with.Digest() == without.Digest() {
		t.Error("the digest is the same without over")
	}
	b, err := with.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := obstat.ParseProgram("x", b)
	if err != nil || back.Digest() != with.Digest() {
		t.Error(err, "the digest is another after its JSON was read")
	}
	for text, at := range map[string]string{
		`"over":["automode"]`: "there is nothing called", `"over":"auto-mode"`: "over", `"over":[1]`: "over",
	} {
		bad := strings.Replace(string(b), `"over":["auto-mode"]`, text, 1)
		if _, err := obstat.ParseProgram("x", []byte(bad)); err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), "x:1:") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := obstat.ParseRule([]byte(`{"tool":"Bash","verdict":"ask","over":["reviewer"]}`)); err == nil {
		t.Error("an ask rule outranks something")
	}
}

// TestOverWords: a word that outranks nothing is warned about where it stands, and the rule counts without it.
func TestOverWords(t *testing.T) {
	for rule, want := range map[string]string{
		"allow:\n  - {rule: run make, over: automode}":              `3:28: there is nothing called "automode"`,
		"allow:\n  - {rule: run make, over: [reviewer, everyone]}":  `3:39: there is nothing called "everyone"`,
		"allow:\n  - {rule: run make, over: parts}":                 `3:28: there is nothing called "parts"`,
		"deny:\n  - {rule: run make, over: auto-mode}":              `3:28: only an allow rule`,
		"ask:\n  - {rule: run make, over: reviewer}":                `3:28: only an allow rule`,
		"allow:\n  - {rule: run make, over: [auto-mode, reviewer]}": "",
	} {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "p", Data: []byte("version: 1\n" + rule + "\n")}}})
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		got := ""
		for _, w := range l.Warnings {
			if !w.Warning {
				t.Errorf("%s: %v is no warning", rule, w)
			}
			got += w.Pos.String() + ": " + w.Msg
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
		if d := l.Policy.Decide(call("make"), world); want != "" && d.Over.Has(obstat.OverAutoMode) {
			t.Errorf("%s: over %q", rule, d.Over)
		}
	}
	for _, bad := range []string{"over: []", "over: {a: 1}", "over: 3", "over: [1]"} {
		_, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "p", Data: []byte("version: 1\nallow:\n  - rule: run make\n    " + bad + "\n")}}})
		if err == nil || !strings.Contains(err.Error(), "p:4:") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

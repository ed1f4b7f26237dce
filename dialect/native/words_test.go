package native_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestRuleFor: an effect is said as a sentence that is read as the same effect again.
func TestRuleFor(t *testing.T) {
	for _, tt := range []struct{ kind, target, want string }{
		{"run", "npm test", "run npm test"},
		{"run", "git log --format=%h,%s", `run "git log --format=%h,%s"`},
		{"run", `echo "a"`, `run 'echo "a"'`},
		{"run", "echo except", `run "echo except"`},
		{"run", "echo where", `run "echo where"`},
		{"run", "exactly x", `run "exactly x"`},
		{"connect", "github.com", "connect github.com"},
		{"read", "/p/src", "read ./src"},
		{"read", "/p", "read workspace"},
		{"write", "/etc/hosts", "write /etc/hosts"},
		{"write", "/p/a b", `write "./a b"`},
		{"write", "/p/a*", ""},
	} {
		o, ok := native.Dialect{}.RuleFor(nil, tt.kind, tt.target, "/p")
		if !ok && tt.want != "" || ok && o.Text != tt.want {
			t.Errorf("%s %s: %q %t, want %q", tt.kind, tt.target, o.Text, ok, tt.want)
		}
		if !ok {
			continue
		}
		text, err := native.Dialect{}.AddRule(&dialect.File{Name: "obstat.yaml"}, &o)
		if err != nil {
			t.Errorf("%s: %v", o.Text, err)
			continue
		}
		l := load(t, string(text))
		found := false
		for _, rules := range l.Program.Rules {
			for i := range rules {
				found = found || rules[i].Source == o.Rule.Source && rules[i].Verdict == obstat.Allow
			}
		}
		if !found || !strings.Contains(string(text), "allow:") {
			t.Errorf("%s is read as another rule:\n%s", o.Text, text)
		}
	}
}

// TestAddRule: a rule joins its list, once, and every other byte stays.
func TestAddRule(t *testing.T) {
	src := "version: 1\n# mine\nask:\n  - run git push\n"
	o, ok := native.Dialect{}.RuleFor(nil, "run", "npm test", "/p")
	if !ok {
		t.Fatal("no rule")
	}
	for _, list := range []string{"allow", "", "ask"} {
		o.List = list
		out, err := native.Dialect{}.AddRule(&dialect.File{Name: "obstat.yaml", Data: []byte(src)}, &o)
		if err != nil {
			t.Fatal(err)
		}
		at := list
		if at == "" {
			at = "allow"
		}
		_, below, ok := strings.Cut(string(out), at+":\n")
		if !ok || !strings.Contains(below, "- run npm test\n") || !strings.HasPrefix(string(out), src[:len("version: 1\n# mine\n")]) {
			t.Errorf("in %q:\n%s", list, out)
		}
		again, err := native.Dialect{}.AddRule(&dialect.File{Name: "obstat.yaml", Data: out}, &o)
		if err != nil || string(again) != string(out) {
			t.Errorf("twice in %q: %v\n%s", list, err, again)
		}
	}
	if _, err := (native.Dialect{}).AddRule(&dialect.File{}, &obstat.Offer{}); err == nil {
		t.Error("a rule without a text")
	}
}

// TestOffersAreNew: a rule that the policy has is not offered again.
func TestOffersAreNew(t *testing.T) {
	seen := map[string]bool{}
	l := load(t, "version: 1\nask:\n  - run git push\n")
	c := call("git push origin main")
	d := l.Policy.Decide(c, world)
	for _, o := range l.Offers(c, world, &d) {
		if seen[o.Text] {
			t.Errorf("%s is offered twice", o.Text)
		}
		seen[o.Text] = true
		now, err := l.With(o)
		if err != nil {
			t.Fatal(err)
		}
		if again := now.Decide(c, world); again.Verdict < d.Verdict {
			t.Errorf("%s makes it %s", o.Text, again.Verdict)
		}
	}
}

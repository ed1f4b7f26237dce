package archtest

import (
	"go/token"
	"strings"
	"testing"
)

// TestRulesBite makes sure that each rule finds what it is there for, and
// nothing in code that keeps it.
func TestRulesBite(t *testing.T) {
	tests := []struct {
		rule func(*module) []finding
		name string // of the file
		text string
		want string // a part of the one finding, "" for none
	}{
		{imports, "pattern/a.go", `package pattern; import "strings"`, ""},
		{imports, "pattern/a.go", `package pattern; import "github.com/obstat/obstat"`, "knows no tool"},
		{imports, "a.go", `package obstat; import "github.com/obstat/obstat/shell"`, ""},
		{imports, "a.go", `package obstat; import "github.com/obstat/obstat/dialect"`, "the engine links only"},
		{imports, "a.go", `package obstat; import "github.com/spf13/cobra"`, "the engine links only"},
		{imports, "dialect/chorus/a.go", `package chorus; import "github.com/obstat/obstat/dialect/jiuwen"`, "cannot know other dialects"},
		{imports, "dialect/all/a.go", `package all; import "github.com/obstat/obstat/dialect"`, ""},
		{imports, "shell/a.go", `package shell; import "mvdan.cc/sh/v3/syntax"`, ""},
		{imports, "shell/a.go", `package shell; import "mvdan.cc/sh/v3/interp"`, "shell reads shell text"},
		{imports, "newcomer/a.go", `package newcomer`, "has no row"},
		{imports, "pattern/a_test.go", `package pattern; import "github.com/obstat/obstat"`, ""},
		{importsOfTests, "pattern/a_test.go", `package pattern; import "pgregory.net/rapid"`, ""},
		{importsOfTests, "pattern/a_test.go", `package pattern; import "github.com/stretchr/testify"`, "not in the table"},

		{packageDocs, "x/a.go", "// Package x does.\npackage x", ""},
		{packageDocs, "cmd/x/a.go", "// Command x does.\npackage main", ""},
		{packageDocs, "x/a.go", "package x", "0 package comments"},
		{packageDocs, "x/a.go", "// x does.\npackage x", "should start with"},

		{exportedDocs, "x/a.go", "package x\n// F does.\nfunc F() {}\n// T is.\ntype T int\n// The Cs.\nconst (\nC = 1\n)\nfunc (t) M() {}", ""},
		{exportedDocs, "x/a.go", "package x\nfunc F() {}", "F is exported"},
		{exportedDocs, "x/a.go", "package x\nfunc (T) M() {}", "M is exported"},
		{exportedDocs, "x/a.go", "package x\nfunc (*T[K, V]) M() {}", "M is exported"},
		{exportedDocs, "x/a.go", "package x\ntype T int", "T is exported"},
		{exportedDocs, "x/a.go", "package x\nvar V = 1", "V is exported"},

		{sizes, "x/a.go", "package x\nfunc f() {" + strings.Repeat("if a && b {}\n", 13) + "}", "f has 27 branches"},
		{sizes, "x/a.go", "package x\nfunc f() {" + strings.Repeat("if a && b {}\n", 12) + "}", ""},
		{sizes, "x/a.go", "package x\nfunc f() {" + strings.Repeat("\n", 90) + "}", "f has 91 lines"},

		{detailDecides, "effect/a.go", "package effect\nfunc f(e *Effect) bool { return e.Detail == \"redirect\" }", "looks at its Tags"},
		{detailDecides, "effect/a.go", "package effect\nfunc f(d deed) { switch d.detail { case \"ssh\": } }", "looks at its Tags"},
		{detailDecides, "x/a.go", "package x\nimport \"github.com/obstat/obstat/effect\"\nfunc f(e *effect.Effect) bool { return strings.Contains(e.Detail, \"x\") }", "looks at its Tags"},
		{detailDecides, "x/a.go", "package x\nimport \"github.com/obstat/obstat/effect\"\nfunc f(e *effect.Effect) string { if e.Detail != \"\" { return e.Detail }; return \"\" }", ""},

		{hiddenState, "x/a.go", "package x\nfunc init() {}", "init runs"},
		{hiddenState, "x/a.go", "package x\nvar v int", "has no value yet"},
		{hiddenState, "x/a.go", "package x\nvar mu = sync.Mutex{}", "is a sync.Mutex"},
		{hiddenState, "x/a.go", "package x\nvar n = &atomic.Int64{}", "is a atomic.Int64"},
		{hiddenState, "x/a.go", "package x\nvar m = make(map[string]int)", "made to be filled"},
		{hiddenState, "x/a.go", "package x\nvar m = map[int]int{}\nfunc f() { m[1] = 2 }", "is written to"},
		{hiddenState, "x/a.go", "package x\nvar t = T{}\nfunc f() { t.a.b++ }", "is written to"},
		{hiddenState, "x/a.go", "package x\nvar m = map[int]int{}\nfunc f() { delete(m, 1) }", "is written to"},
		{hiddenState, "x/a.go", "package x\nvar i = 1\nfunc f() { for i = range 9 {} }", "is written to"},
		{hiddenState, "x/a.go", "package x\nvar m = map[int]int{}\nfunc f() { m := m; m = nil; for m = range x {} }", ""},
		{hiddenState, "x/a.go", "package x\nvar e = errors.New(`x`)\nvar _ I = T{}\nvar p = sync.Pool{}\nvar o = sync.OnceValue(f)\n//go:embed x\nvar s string", ""},

		{onePlaceAllows, "a.go", "package obstat\nfunc settle() Decision { return Decision{Verdict: v} }", ""},
		{onePlaceAllows, "a.go", "package obstat\nfunc f() Decision { return Decision{Verdict: Ask} }", ""},
		{onePlaceAllows, "a.go", "package obstat\nfunc f() Decision { return Decision{Verdict: Allow} }", "only settle"},
		{onePlaceAllows, "a.go", "package obstat\nfunc f() Decision { return Decision{Verdict: v} }", "only settle"},
		{onePlaceAllows, "a.go", "package obstat\nfunc f() *Decision { return &Decision{Allow} }", "only settle"},
		{onePlaceAllows, "a.go", "package obstat\nfunc f(d *Decision) { d.Verdict = Allow }", "only settle"},
		{onePlaceAllows, "gate/a.go", "package gate\nfunc settle() { d := p.Decide(c, w); d.Verdict = obstat.Allow }", "only settle"},
		{onePlaceAllows, "gate/a.go", "package gate\nfunc f() { var d obstat.Decision; d.Verdict, x = y, z }", "only settle"},
		{onePlaceAllows, "dialect/x/a.go", "package x\nfunc f() obstat.Rule { r.Verdict = obstat.Allow; return obstat.Rule{Verdict: obstat.Allow} }", ""},

		{foreignTypes, "x/a.go", "package x\nimport \"example.org/y/v2\"\nfunc F(a y.T) {}", "public surface"},
		{foreignTypes, "x/a.go", "package x\nimport \"example.org/y\"\ntype T struct { A *y.T }", "public surface"},
		{foreignTypes, "x/a.go", "package x\nimport \"example.org/y\"\ntype T struct { a y.T }\nfunc f(y.T) {}\nfunc F() { y.G() }", ""},
		{foreignTypes, "internal/x/a.go", "package x\nimport \"example.org/y\"\nfunc F(a y.T) {}", ""},
	}
	for _, tt := range tests {
		m := &module{token.NewFileSet(), map[string][]*source{}}
		if err := m.add(tt.name, []byte(tt.text)); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		found := tt.rule(m)
		switch {
		case tt.want == "" && len(found) > 0:
			t.Errorf("%s:\n%s\nfound %v, want nothing", tt.name, tt.text, found)
		case tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].msg, tt.want)):
			t.Errorf("%s:\n%s\nfound %v, want %q", tt.name, tt.text, found, tt.want)
		}
	}
}

func TestMachinePathsBite(t *testing.T) {
	mine := machinePaths()
	if !mine.MatchString("see " + root() + "/x") {
		t.Errorf("%v does not find %s", mine, root())
	}
	for _, fine := range []string{"see docs/x", "/home/u/x", "a" + root() + "x/y"} {
		if mine.MatchString(fine) {
			t.Errorf("%v finds %q", mine, fine)
		}
	}
}

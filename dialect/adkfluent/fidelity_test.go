package adkfluent_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/adkfluent"
)

// TestDecisionsCompare: section PermissionDecision, "frozen dataclasses, which means they
// are safe to cache, compare, and pass between threads".
func TestDecisionsCompare(t *testing.T) {
	kinds := []func() adkfluent.Decision{
		func() adkfluent.Decision { return adkfluent.NewAllow(nil) },
		func() adkfluent.Decision { return adkfluent.NewAllow(map[string]any{"path": "/safe/dir"}) },
		func() adkfluent.Decision { return adkfluent.NewAllow(map[string]any{"path": []any{"/x"}}) },
		func() adkfluent.Decision { return adkfluent.NewDeny("bash is disabled in this environment") },
		func() adkfluent.Decision { return adkfluent.NewDeny("") },
		func() adkfluent.Decision { return adkfluent.NewAsk("Allow tool 'edit_file'?") },
	}
	for i, a := range kinds {
		for j, b := range kinds {
			if got := a().Equal(b()); got != (i == j) {
				t.Errorf("%d and %d: %v", i, j, got)
			}
		}
	}
	if !(adkfluent.Decision{}).Equal(adkfluent.NewDeny("")) {
		t.Error("the zero Decision is a denial without a reason")
	}
}

// TestPlanAsks: section Precedence rules, steps 4 and 9: in plan mode a tool that is not
// mutating and on the ask list is asked about, by its entry.
func TestPlanAsks(t *testing.T) {
	p, err := adkfluent.Parse("p.yaml", []byte("mode: plan\nask: [grep, write_file]\n"))
	if err != nil {
		t.Fatal(err)
	}
	pol, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	d := pol.Decide(&obstat.Call{Tool: "grep", Input: []byte(`{}`)}, nil)
	if d.Verdict != obstat.Ask || d.Reason() != "ask rule grep (p.yaml:2:7)" {
		t.Errorf("%v: %s", d.Verdict, d.Reason())
	}
	if got := p.Check("write_file", nil); !got.IsDeny() || got.Reason() != "Plan mode denies mutating tool 'write_file'. Describe your plan without executing side effects." {
		t.Errorf("%s: %s", got.Behavior(), got.Reason())
	}
}

// TestDontAskNeverAsks: section Permission modes, "Deny everything not explicitly allowed
// (non-interactive)": what the floor would ask about is denied there, too.
func TestDontAskNeverAsks(t *testing.T) {
	p := adkfluent.DontAsk("bash")
	if got := p.Check("bash", map[string]any{"command": "ls 'unclosed"}); !got.IsDeny() {
		t.Errorf("%s: %s", got.Behavior(), got.Prompt())
	}
	if got := p.Check("bash", map[string]any{"command": "ls"}); !got.IsAllow() {
		t.Errorf("%s: %s", got.Behavior(), got.Reason())
	}
}

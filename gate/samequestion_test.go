package gate

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/policy"
)

// TestSameQuestion: an answer is used where the policy still asks by the same rule about the same
// part, and nothing has become a matter of safety since.
func TestSameQuestion(t *testing.T) {
	pol, err := obstat.Compile(&obstat.Program{Pipelines: map[obstat.Mode]obstat.Pipeline{"": {Default: obstat.Ask}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rule := &obstat.Rule{Tool: obstat.Is("Bash"), Verdict: obstat.Ask, Source: "run make"}
	for _, tt := range []struct {
		name string
		now  obstat.Decision
		was  approval.Request
		want bool
	}{
		{"same rule and part", obstat.Decision{Rule: rule, Part: "make"}, approval.Request{Rule: "run make", Part: "make"}, true},
		{"no rule, then or now", obstat.Decision{}, approval.Request{}, true},
		{"another rule", obstat.Decision{Rule: rule, Part: "make"}, approval.Request{Rule: "run npm", Part: "make"}, false},
		{"a rule, and none before", obstat.Decision{Rule: rule}, approval.Request{}, false},
		{"no rule, and one before", obstat.Decision{}, approval.Request{Rule: "run make"}, false},
		{"another part", obstat.Decision{Rule: rule, Part: "make"}, approval.Request{Rule: "run make", Part: "make install"}, false},
		{"safety now", obstat.Decision{Rule: rule, Safety: true}, approval.Request{Rule: "run make"}, false},
		{"safety then", obstat.Decision{Rule: rule}, approval.Request{Rule: "run make", Safety: true}, true},
		{"safety then and now", obstat.Decision{Rule: rule, Safety: true}, approval.Request{Rule: "run make", Safety: true}, true},
		{"the same policy", obstat.Decision{Rule: rule, Safety: true}, approval.Request{Policy: pol.Digest()}, true},
		{"another policy", obstat.Decision{Rule: rule, Safety: true}, approval.Request{Policy: "sha256:0"}, false},
	} {
		p := &passage{j: &judged{Ruling: policy.Ruling{Decision: tt.now, From: &policy.Policy{Loaded: &dialect.Loaded{Policy: pol}}}}}
		if got := p.sameQuestion(&tt.was); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

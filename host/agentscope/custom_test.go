package agentscope_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	agentscopefile "github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/host/agentscope"
)

// deploy is a tool with a pattern syntax and suggestions of its own (section Pattern
// Examples: "each tool can define its own pattern syntax and matching logic").
type deploy struct{}

func (deploy) MatchRule(content string, input map[string]any) bool {
	target, _ := input["target"].(string)
	return strings.HasPrefix(target, strings.TrimSuffix(content, "-any"))
}

func (deploy) Suggest(input map[string]any) []string {
	target, _ := input["target"].(string)
	stage, _, _ := strings.Cut(target, "-")
	return []string{stage + "-any"}
}

func (deploy) CheckPermissions(map[string]any, agentscopefile.Context) obstat.Finding {
	return obstat.Finding{Pass: true}
}

// TestCustomSuggestion: with the floor on the suggestion of such a tool is shown, can be
// accepted, and settles calls like this one and no others.
func TestCustomSuggestion(t *testing.T) {
	d := &agentscopefile.Dialect{Tools: map[string]agentscopefile.CustomTool{"Deploy": deploy{}}}
	opts := &agentscope.Options{}
	opts.Gate.World = &obstat.Snapshot{HomeDir: "/home/user"}
	s, err := agentscope.Open(t.Context(), d, &dialect.Input{Files: []dialect.File{{Name: "context.json", Data: []byte(`{"mode":"default"}`)}}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	call := func(target string) *obstat.Call {
		return &obstat.Call{Tool: "Deploy", Input: []byte(`{"target":"` + target + `"}`)}
	}
	r := s.Check(t.Context(), "1", call("staging-1"))
	if r.State != agentscope.Asking || len(r.Suggested) != 1 || r.Suggested[0].Text != "Deploy(staging-any)" {
		t.Fatalf("%+v", r)
	}
	st, err := s.Confirm(t.Context(), &agentscope.Confirmation{ID: "1", Tool: "Deploy", Input: call("staging-1").Input, Confirmed: true, Rules: []obstat.Rule{r.Suggested[0].Rule}})
	if st != agentscope.Allowed || err != nil {
		t.Fatal(st, err)
	}
	if got := s.Check(t.Context(), "2", call("staging-2")); got.State != agentscope.Allowed {
		t.Errorf("the accepted rule does not act: %s", got.Decision.Reason())
	}
	if got := s.Check(t.Context(), "3", call("prod-1")); got.State != agentscope.Asking {
		t.Errorf("the accepted rule acts on prod: %s", got.Decision.Reason())
	}
}

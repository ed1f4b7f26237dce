package dialect_test

import (
	"slices"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
)

// TestLibraryAgents: the engine is told of every agent that has tools of its own, so that their calls are put to
// the rules as calls of the dialect's; a name of a host's own is none.
func TestLibraryAgents(t *testing.T) {
	l, err := dialect.Load(adkfluent.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "adk-permissions.json", Data: []byte(`{"deny": ["bash"]}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := dialect.LibraryFor(l.Dialect, l.Program).Agents; !slices.Equal(got, agent.Agents()) {
		t.Errorf("the agents are %v", got)
	}
	for name, want := range map[string]bool{agent.Codex: true, agent.Gemini: true, "build": false, "": false} {
		c := &obstat.Call{Tool: "run_shell_command", Input: []byte(`{"command":"ls"}`), Agent: name}
		if got := l.Policy.AsOwn(c, nil) != nil; got != want {
			t.Errorf("a call of %q as one of the dialect's: %v", name, got)
		}
	}
}

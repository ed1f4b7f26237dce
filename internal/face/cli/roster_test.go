package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRosterOfPolicies: a line about policies says how many have to agree, and nothing of calls.
func TestRosterOfPolicies(t *testing.T) {
	name := filepath.Join(t.TempDir(), "roster.json")
	write := func(line string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(`{"roster": [{"tool": "Bash", "who": {"roles": ["dev"]}}, `+line+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"policy": true, "who": {"needed": 2}}`)
	roster, err := readRoster(name)
	if err != nil {
		t.Fatal(err)
	}
	if who := roster.ForPolicy(); who.People() != 2 || len(who.Roles) > 0 {
		t.Errorf("%+v", who)
	}
	for _, more := range []string{`"tool": "Bash"`, `"rule": "*rm*"`, `"safety": true`} {
		write(`{"policy": true, ` + more + `, "who": {"needed": 2}}`)
		if _, err := readRoster(name); err == nil || !strings.Contains(err.Error(), "roster[1]") {
			t.Errorf("%s: %v", more, err)
		}
	}
	write(`{"policy": true, "who": {"not_caller": true}}`)
	if _, err := readRoster(name); err == nil {
		t.Error("not_caller of a policy")
	}
}

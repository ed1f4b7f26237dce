package adkfluent_test

import (
	"testing"

	"github.com/obstat/obstat/dialect/adkfluent"
)

func TestDecisionPredicates(t *testing.T) {
	for _, tc := range []struct {
		d                          adkfluent.Decision
		behavior                   string
		allow, deny, ask, terminal bool
		reason, prompt             string
		updated                    int
	}{
		{adkfluent.NewAllow(nil), "allow", true, false, false, true, "", "", 0},
		{adkfluent.NewAllow(map[string]any{"path": "/safe/dir"}), "allow", true, false, false, true, "", "", 1},
		{adkfluent.NewDeny("no"), "deny", false, true, false, true, "no", "", 0},
		{adkfluent.NewDeny(""), "deny", false, true, false, true, "Denied by permission policy", "", 0},
		{adkfluent.NewAsk("Allow?"), "ask", false, false, true, false, "", "Allow?", 0},
		{adkfluent.Decision{}, "deny", false, true, false, true, "Denied by permission policy", "", 0},
	} {
		d := tc.d
		if d.Behavior() != tc.behavior || d.IsAllow() != tc.allow || d.IsDeny() != tc.deny || d.IsAsk() != tc.ask || d.IsTerminal() != tc.terminal ||
			d.Reason() != tc.reason || d.Prompt() != tc.prompt || len(d.UpdatedInput()) != tc.updated {
			t.Errorf("%+v: %s %q %q", tc, d.Behavior(), d.Reason(), d.Prompt())
		}
	}
}

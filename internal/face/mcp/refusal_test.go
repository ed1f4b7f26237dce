package mcp

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestRefusalAdvice: the advice to the model follows what settled the call, not the words of the
// person who did: "nobody does that" is a refusal.
func TestRefusalAdvice(t *testing.T) {
	const person, nobody, rules = "A person has refused it", "Nobody has refused it", "the same call will be answered the same"
	ask := obstat.Decision{Verdict: obstat.Ask, Tool: "t"}
	for _, tc := range []struct {
		d    obstat.Decision
		want string
	}{
		{ask.Refuse(obstat.By{Kind: obstat.ByPerson, Who: "ann", Note: "refused by ann: nobody does that, and no person should"}), person},
		{ask.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: "it was refused by the clock"}), nobody},
		{ask.Refuse(obstat.By{Kind: obstat.ByFault, Note: "the store cannot be opened"}), nobody},
		{obstat.Decision{Tool: "t", Note: "nobody may, says the rule, refused by design", By: obstat.By{Kind: obstat.ByRule}}, rules},
		{obstat.Decision{Tool: "t", By: obstat.By{Kind: obstat.ByFault}, Faults: []obstat.Fault{{Msg: "broken"}}}, "something has to be mended"},
	} {
		if got := refusalWords(&frame{method: "tools/call", name: "t"}, &tc.d); !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %s, want %q in it", tc.d.By, got, tc.want)
		}
	}
}

package policy_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/policy"
)

// TestOverPinned: `over` loosens, so that it counts once a person has accepted it; taking it out counts at
// once.
func TestOverPinned(t *testing.T) {
	const file, plain, over = "work/p/obstat.yaml", "version: 1\nallow:\n  - run make\n", "version: 1\nallow:\n  - {rule: run make, over: auto-mode}\n"
	w := pinned(t, map[string]string{file: plain})
	at := w.where("claude-code")
	outranks := func() obstat.Over {
		t.Helper()
		c := &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Agent: "claude-code", Dir: filepath.Join(w.dir, "work", "p")}
		a := w.find(at).Decide(c, obstat.OS{})
		if a.Verdict != obstat.Allow {
			t.Fatalf("%v: %s", a.Verdict, a.Reason())
		}
		return a.Over
	}
	w.trust(at)
	w.write(file, over)
	if got := outranks(); got != 0 {
		t.Errorf("over %q, which nobody has accepted", got)
	}
	news := w.find(at).New
	if len(news) != 1 || len(news[0].Changes) != 2 || !strings.HasSuffix(news[0].Changes[0].Text, "over: auto-mode") || news[0].Changes[0].Kind != policy.Added {
		t.Errorf("%+v", news)
	}
	if policy.Accepts(news, []string{"run make"}) {
		t.Error("an answer to a prompt accepts it")
	}
	w.trust(at)
	if got := outranks(); got != obstat.OverAutoMode {
		t.Errorf("accepted, over %q", got)
	}
	w.write(file, plain)
	if got := outranks(); got != 0 {
		t.Errorf("taken out, over %q", got)
	}
}

package hookwait

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/internal/hookrun"
)

// TestAccepted: the rules of a grant are said in Claude Code's notation, for Claude
// Code to remember, and in nobody else's.
func TestAccepted(t *testing.T) {
	s := newScene(t)
	file := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, []byte(`{"permissions":{"ask":[],"deny":["Bash(rm *)"]}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, ask := range []func(string) *hookrun.Ask{s.ask, func(c string) *hookrun.Ask { return s.askBy(claudecode.Dialect{}, file, c) }} {
			s.answered(ask("npm test"), approval.Answer{Allow: true, Scope: approval.User, Offer: 1})
		}
		theirs, claude := s.ask("npm test"), s.askBy(claudecode.Dialect{}, file, "npm test")
		for _, a := range []*hookrun.Ask{theirs, claude} {
			if d, _ := Run(context.Background(), a, &s.opts); d.Verdict != obstat.Allow || a.Scope != "user" {
				t.Errorf("%v %s, for %q", d.Verdict, d.Reason(), a.Scope)
			}
		}
		if len(theirs.Accepted) > 0 {
			t.Errorf("opencode's rules for Claude Code: %+v", theirs.Accepted)
		}
		if len(claude.Accepted) != 1 || !strings.HasPrefix(claude.Accepted[0].Text, "Bash(npm test") || claude.Accepted[0].Scope != "user" {
			t.Errorf("%+v", claude.Accepted)
		}
	})
}

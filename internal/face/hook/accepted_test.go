package hook

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
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
		for _, ask := range []func(string) *turn{s.ask, func(c string) *turn { return s.askBy(file, agent.Codex, c) }} {
			s.answered(ask("npm test"), approval.Answer{Allow: true, Scope: approval.User, Offer: 1})
		}
		s.opts.Remember = true
		for _, by := range []string{s.file, file} {
			a := s.askBy(by, agent.ClaudeCode, "npm test").decide(context.Background())
			if a.Verdict != obstat.Allow || a.Grant == nil || a.Grant.Scope != approval.User {
				t.Fatalf("%v %s, by %+v", a.Verdict, a.Reason(), a.Grant)
			}
			switch {
			case by == s.file && len(a.remember) > 0:
				t.Errorf("opencode's rules for Claude Code: %+v", a.remember)
			case by == file && (len(a.remember) != 1 || !strings.HasPrefix(a.remember[0].Text, "Bash(npm test") || a.remember[0].Scope != "user"):
				t.Errorf("%+v", a.remember)
			}
		}
	})
}

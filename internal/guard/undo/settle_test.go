package undo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/killed"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// TestSettle: a call that changes nothing at all ends a restore that was killed before it runs, and says so.
func TestSettle(t *testing.T) {
	if err := killed.Possible(); err != nil {
		t.Skipf("a process cannot be traced here: %v", err)
	}
	dir, state := project(t, template(t)), t.TempDir()
	env := func(name string) string {
		return map[string]string{"OBSTAT_STATE": state, "XDG_STATE_HOME": state, "HOME": state}[name]
	}
	at, err := statedir.Dir(env)
	if err != nil {
		t.Fatal(err)
	}
	s, err := changes.Open(statedir.Changes(at), changes.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	before := hashOf(t, dir)
	reach := Of(effect.AnalyzeCommand("rm -rf src a b", &effect.Options{Dir: dir, FS: obstat.OS{}}))
	if _, err := s.Save(changes.Of{Call: "c"}, reach.Paths, false); err != nil {
		t.Fatal(err)
	}
	if err := run(t, dir, "rm -rf src a b"); err != nil {
		t.Fatal(err)
	}
	c, err := s.End("c", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, ended, err := killed.At(25, undoProcess(at, c.ID)); err != nil || ended || !changes.Begun(statedir.Changes(at)) {
		t.Fatalf("it was not killed in the middle: %v", err)
	}
	if hashOf(t, dir) == before {
		t.Fatal("nothing is left to end: the test is none")
	}
	var told []string
	k := &Keeper{Getenv: env, Say: func(text string) { told = append(told, text) }}
	call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: dir}
	a := effect.AnalyzeCommand("ls", &effect.Options{Dir: dir, FS: obstat.OS{}})
	if _, err := k.Keep(call, &obstat.Decision{Verdict: obstat.Allow}, a, native.Undo{}); err != nil {
		t.Fatal(err)
	}
	if hashOf(t, dir) != before || len(told) != 1 || !strings.Contains(told[0], "ended now") {
		t.Errorf("not ended, or not told: %q", told)
	}
	// A journal that was tampered with is not followed: the call asks, and the reason says so.
	name := filepath.Join(statedir.Changes(at), "journal.json")
	if err := os.WriteFile(name, []byte(`{"steps":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep(call, &obstat.Decision{Verdict: obstat.Allow}, a, native.Undo{}); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("%v", err)
	}
}

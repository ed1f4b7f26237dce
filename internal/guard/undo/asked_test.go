package undo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestAskedByTheAgent: a call that the agent asks a person about by itself is kept, since the answer may be a yes that
// one wants to take back. Until it is said to have ended it may not have run, and is not the latest change.
func TestAskedByTheAgent(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, policy, state := filepath.Join(dir, "a"), filepath.Join(t.TempDir(), "obstat.yaml"), t.TempDir()
	for name, text := range map[string]string{file: "a", policy: "version: 1\nask:\n  - delete anything\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": state}[name] }
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{policy}, NoPins: true, Getenv: env},
		World: obstat.OS{}, Getenv: env, NoRecord: true, Undo: &Keeper{Getenv: env}})
	if err != nil {
		t.Fatal(err)
	}
	input, _ := json.Marshal(map[string]string{"command": "rm a"})
	call := &obstat.Call{Tool: "Bash", Input: input, Dir: dir, Roots: []string{dir}, Session: "s"}
	d, err := g.Authorize(t.Context(), call, &gate.Terms{Ask: gate.Leave})
	if err != nil || d.Verdict != obstat.Ask {
		t.Fatalf("%s %v", d.Verdict, err)
	}
	s, err := Store(env)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := Standing(s, "", time.Time{}, nil); len(list) > 0 || err != nil {
		t.Errorf("it may not have run, and %d changes stand: %v", len(list), err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.End(call.DigestText(), "s"); err != nil {
		t.Fatal(err)
	}
	list, err := Standing(s, "", time.Time{}, nil)
	if len(list) != 1 || err != nil {
		t.Fatalf("%d changes stand: %v", len(list), err)
	}
	p, err := s.Plan(list)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeBack(t.Context(), p, "ann", new(memory.Store)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); string(b) != "a" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}

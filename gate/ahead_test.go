package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
)

// TestAhead: a face that looks at the policies first costs no second reading, and what changes after
// the gate's own look still counts.
func TestAhead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "opencode.json")
	if err := os.WriteFile(name, []byte(`{"permission": {"bash": "allow"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	reads := 0
	files := &gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true, Once: true, Read: func(name string) ([]byte, error) {
		reads++
		return os.ReadFile(name)
	}}
	call := &obstat.Call{Tool: "bash", Input: []byte(`{"command": "make"}`), Dir: dir, Roots: []string{dir}}
	first, err := files.Ahead(call)
	if err != nil {
		t.Fatal(err)
	}
	before := reads
	again, err := files.InForce(call)
	if err != nil || again != first || reads != before || before == 0 {
		t.Errorf("read %d times, then %d times more, %v", before, reads-before, err)
	}
	if err := os.WriteFile(name, []byte(`{"permission": {"bash": "deny"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	later, err := files.InForce(call)
	if err != nil {
		t.Fatal(err)
	}
	if a := later.Decide(call, obstat.OS{}); a.Verdict != obstat.Deny {
		t.Errorf("after the change: %v", a.Verdict)
	}
	elsewhere := *call
	elsewhere.Dir = t.TempDir()
	if _, err := files.Ahead(call); err != nil {
		t.Fatal(err)
	}
	before = reads
	if _, err := files.InForce(&elsewhere); err != nil || reads == before {
		t.Errorf("another place got the first one's policies: %v", err)
	}
}

package agents

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestInTurns: the hook's program is obstat for the calls of one block, and a yes for those of the next.
func TestInTurns(t *testing.T) {
	f := forms()["chat"]
	r := &run{dir: t.TempDir(), model: startModel(t, Script{MainMarker: make([]Call, 40)})}
	program := filepath.Join(r.bin(), "obstat")
	if err := r.write(program, "the real one"); err != nil {
		t.Fatal(err)
	}
	if err := r.inTurns(r.model, func(call int) bool { n, _ := blockOf(call); return call < warm || n%2 == 0 }); err != nil {
		t.Fatal(err)
	}
	for call := range 30 {
		post(t, r.model, f.path, f.request(Prompt(MainMarker), make([]string, call)...))
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		number, at := blockOf(call)
		if want := call < warm || number%2 == 0; (string(text) == "the real one") != want {
			t.Errorf("call %d, block %d at %d: %q", call, number, at, text)
		}
	}
	if got := middle([]time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}); got != 2*time.Millisecond {
		t.Error(got)
	}
}

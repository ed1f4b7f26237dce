package agents

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/scripted"
)

// TestInTurns: the hook's program is obstat for the calls of one block, and a yes for those of the next.
func TestInTurns(t *testing.T) {
	r := &run{dir: t.TempDir(), model: startModel(t, scripted.Script{scripted.MainMarker: make([]scripted.Call, 40)})}
	program := filepath.Join(r.bin(), "obstat")
	if err := r.write(program, "the real one"); err != nil {
		t.Fatal(err)
	}
	if err := r.inTurns(r.model, func(call int) bool { n, _ := blockOf(call); return call < warm || n%2 == 0 }); err != nil {
		t.Fatal(err)
	}
	for call := range 30 {
		r.model.Hear(scripted.Prompt(scripted.MainMarker), make([]string, call)...)
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

package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/guard/undo"
)

// TestKept: the paths that an allowed call to a server on this machine names are kept before the call arrives, the call
// has ended before the client hears so, and it can be taken back. That the server may do more is said.
func TestKept(t *testing.T) {
	w := newWireWith(t, open, func(st *Station, g *Guard) {
		if err := st.Keeps(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	})
	w.lists("write_file")
	w.write("project/a", "before\n")
	name := filepath.Join(w.home, "project/a")
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":%q}}}`, name)
	w.one(w.says, w.server, call)
	w.write("project/a", "after\n") // by the server
	w.one(w.answers, w.client, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	s, err := undo.Store(w.station.opts.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Ended.IsZero() || list[0].Tool != "mcp__toy__write_file" {
		t.Fatalf("%+v %v", list, err)
	}
	plan, err := s.Plan(list)
	if err != nil || len(plan.Against) > 0 || len(plan.Stay) != 1 || plan.Stay[0].Why != "what else the tool does is not known" {
		t.Fatalf("%+v %v", plan, err)
	}
	if _, err := undo.TakeBack(t.Context(), plan, "bob", w.station.journal); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "before\n" {
		t.Errorf("%q %v", b, err)
	}
}

// TestNotKept: of a server elsewhere nothing is kept, since its paths are not the files of this machine.
func TestNotKept(t *testing.T) {
	w := newWire(t, open)
	w.lists("write_file")
	w.write("project/a", "before\n")
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":%q}}}`,
		filepath.Join(w.home, "project/a"))
	w.through(call, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	s, err := undo.Store(w.station.opts.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

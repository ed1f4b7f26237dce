package postgres

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/ledger"
)

// A process that has lost its chain to another, and has taken the next one while it was still writing
// to the first, goes on where that next one ends: it would begin with record 2 otherwise.
func TestWroteAnotherChain(t *testing.T) {
	end := ledger.Head{Seq: 1, Hash: ledger.Hash{1}}
	for _, c := range []struct {
		now  string
		want ledger.Head
	}{
		{"first", end},
		{"second", ledger.Head{}}, // taken meanwhile
		{"", ledger.Head{}},       // lost: its end is looked up
	} {
		s := &Store{chain: c.now}
		s.wrote("first", end)
		if s.head != c.want {
			t.Errorf("after a record of the first chain, with the chain %q now: its end is %v", c.now, s.head)
		}
	}
}

// TestUnreachable: a database that is not there is told of on one line.
func TestUnreachable(t *testing.T) {
	for _, at := range []string{"127.0.0.1:1", "nosuch.invalid"} {
		_, err := Open(t.Context(), "postgres://ann@"+at+"/db", nil)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

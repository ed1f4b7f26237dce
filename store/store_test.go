package store_test

import (
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// TestOpen: what is written is there when the same file is opened again.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "obstat.db")
	for want := range uint64(2) {
		s, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, want+1)
	}
	add(t, store.Memory(), 1)
	add(t, store.Memory(), 1)
}

// add appends a record, which has to be the nth, and closes the store.
func add(t *testing.T, s store.Store, n uint64) {
	t.Helper()
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Start}); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Head(t.Context()); err != nil || h.Seq != n {
		t.Errorf("head %d, want %d: %v", h.Seq, n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestDefault: without a path it is where the command looks.
func TestDefault(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s, err := store.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

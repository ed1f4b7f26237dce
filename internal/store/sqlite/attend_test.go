package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAttend: another process sees that somebody waits for an answer, that he has left, and that
// he was killed, which leaves a file without a lock.
func TestAttend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	asker, seat := open(t, path), open(t, path)
	file := filepath.Join(path+".asking", "req_1")
	if seat.Gone("req_1") {
		t.Error("one that never said so is gone")
	}
	leave := asker.Attend("req_1")
	if seat.Gone("req_1") || asker.Gone("req_1") {
		t.Error("one that waits is gone")
	}
	leave()
	if _, err := os.Stat(file); err == nil || seat.Gone("req_1") {
		t.Errorf("one that has left is gone, or its file is there: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil { // as a killed one leaves it
		t.Fatal(err)
	}
	if !seat.Gone("req_1") || !seat.Gone("req_1") {
		t.Error("one that was killed is there")
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	defer asker.Attend("req_2")()
	if _, err := os.Stat(file); err == nil {
		t.Error("an old file stays")
	}
	if seat.Gone("req_2") {
		t.Error("the other is gone")
	}
}

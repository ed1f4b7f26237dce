package sqlite_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// TestLeftBehind: the ledger says that the request of a killed process was withdrawn, once, by whoever
// looks at the requests first.
func TestLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	asker, seat := open(t, path), open(t, path)
	r := &approval.Request{ID: "req_1", Call: obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Agent: "codex", Session: "s"}, Digest: "d"}
	if err := approval.New(asker, nil).Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	asker.Attend("req_1")()
	if err := os.WriteFile(filepath.Join(path+".asking", "req_1"), nil, 0o600); err != nil { // as a killed one leaves it
		t.Fatal(err)
	}
	for range 2 {
		if open, err := approval.New(seat, nil).Pending(t.Context()); err != nil || len(open) > 0 {
			t.Errorf("%v, %v", open, err)
		}
	}
	n := 0
	for rec, err := range seat.Records(t.Context(), ledger.Query{Kind: ledger.Answer}) {
		if n++; err != nil || rec.Request != "req_1" || rec.Verdict != string(approval.Canceled) || rec.Agent != "codex" || rec.Reason == "" {
			t.Errorf("%+v, %v", rec, err)
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

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
	for range 2 { // also for who looks again
		if !seat.Gone("req_1") {
			t.Error("one that was killed is there")
		}
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

// TestAttends: a request that a process has put without waiting for it is open while the process is there, and
// withdrawn when it has ended, whenever that was.
func TestAttends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	seat := open(t, path)
	for _, ends := range []bool{true, false} {
		asker := approval.New(open(t, path), &approval.Options{Attends: true})
		r := &approval.Request{Call: obstat.Call{Tool: "Bash"}, Digest: "x"}
		if err := asker.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(path+".asking", r.ID)
		if pending, err := approval.New(seat, nil).Pending(t.Context()); err != nil || len(pending) != 1 {
			t.Fatalf("%v, %v", pending, err)
		}
		if ends { // a lock on another file than the one that is there is as good as none
			if err := os.Rename(file, file+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if _, err := asker.Withdraw(r.ID); err != nil {
			t.Fatal(err)
		} else if _, err := os.Lstat(file); err == nil {
			t.Error("the request has ended, and is still waited for")
		}
		if pending, err := approval.New(seat, nil).Pending(t.Context()); err != nil || len(pending) != 0 {
			t.Errorf("%v, %v", pending, err)
		}
	}
}

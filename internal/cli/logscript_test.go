package cli_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
)

// sampleLedger writes a ledger, a spool, or runs SQL on a ledger: ledger FILE
// STORED SPOOLED, or ledger FILE sql STATEMENT.
func sampleLedger(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ledger FILE STORED SPOOLED | ledger FILE sql STATEMENT")
	}
	path := ts.MkAbs(args[0])
	if args[1] == "sql" {
		db, err := sql.Open("sqlite", path)
		ts.Check(err)
		defer db.Close()
		_, err = db.Exec(args[2])
		ts.Check(err)
		return
	}
	var stored, spooled int
	_, err := fmt.Sscan(args[1]+" "+args[2], &stored, &spooled)
	ts.Check(err)
	if stored > 0 {
		s, err := sqlite.Open(context.Background(), path)
		ts.Check(err)
		for i := range stored {
			ts.Check(s.Append(context.Background(), sampleRecord(i)))
		}
		ts.Check(s.Close())
	}
	for i := range spooled {
		ts.Check((&ledger.Spool{Path: ledger.SpoolPath(path)}).Append(context.Background(), sampleRecord(stored+i)))
	}
}

func sampleRecord(i int) *ledger.Record {
	r := &ledger.Record{Time: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Kind: ledger.Decision, Agent: "coder", Session: fmt.Sprint("s", i%2), User: "ann", Tool: "Bash", Policy: "p"}
	command := [...]string{"npm test", "rm -rf build", "=cmd|' /C calc'!A0", "echo \x1b[2J"}[i%4]
	r.Input, _ = json.Marshal(map[string]string{"command": command})
	r.Verdict = [...]string{"allow", "deny", "ask"}[i%3]
	r.Rule, r.Pos, r.Reason = "Bash("+command[:2]+"*)", obstat.Pos{File: "settings.json", Line: 3 + i}, "a rule says so"
	return r
}

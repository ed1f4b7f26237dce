package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// sampleLedger writes a ledger through a store and then as hooks do, or runs SQL
// on its database, or changes a word of it and makes all hashes anew: ledger FILE
// STORED HOOKS, ledger FILE sql STATEMENT, ledger FILE reseal OLD NEW, or ledger FILE
// calls LIST.
func sampleLedger(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: ledger FILE STORED HOOKS | ledger FILE sql STATEMENT | ledger FILE reseal OLD NEW")
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
	if args[1] == "reseal" {
		reseal(ts, statedir.LedgerOf(path), args[2], args[3])
		return
	}
	if args[1] == "calls" {
		recordCalls(ts, path, ts.ReadFile(args[2]))
		return
	}
	var stored, hooks int
	_, err := fmt.Sscan(args[1]+" "+args[2], &stored, &hooks)
	ts.Check(err)
	if stored > 0 {
		s, err := sqlite.Open(context.Background(), path)
		ts.Check(err)
		for i := range stored {
			ts.Check(s.Append(context.Background(), sampleRecord(i)))
		}
		ts.Check(s.Close())
	}
	for i := range hooks {
		hook, err := store.Log(path, os.Getenv)
		ts.Check(err)
		ts.Check(hook.Append(context.Background(), sampleRecord(stored+i)))
		ts.Check(hook.Close())
	}
}

// recordCalls writes calls of Bash into a ledger, one a line: how it came out, days ago, the rule
// that decided or -, the command. Asks came out as the line says.
func recordCalls(ts *testscript.TestScript, path, lines string) {
	s, err := sqlite.Open(context.Background(), path)
	ts.Check(err)
	defer s.Close()
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		var days int
		_, err := fmt.Sscan(f[1], &days)
		ts.Check(err)
		said, rule := obstat.Allow, strings.ReplaceAll(f[2], "_", " ")
		if rule == "-" {
			said, rule = obstat.Ask, ""
		}
		input, _ := json.Marshal(map[string]string{"command": f[3]})
		detail, _ := json.Marshal(ledger.Circumstances{Said: said, Roots: []string{"/repo"}})
		ts.Check(s.Append(context.Background(), &ledger.Record{Time: time.Now().AddDate(0, 0, -days), Kind: ledger.Decision, Tool: "Bash", Dir: "/repo", Rule: rule,
			Input: input, Verdict: f[0], Detail: detail, World: &obstat.Snapshot{HomeDir: "/home/u"}}))
	}
}

// reseal changes a word in a ledger file and makes all hashes anew, as an attacker
// does who knows how they are made.
func reseal(ts *testscript.TestScript, path, from, to string) {
	data, err := os.ReadFile(path)
	ts.Check(err)
	header, rest, _ := bytes.Cut(bytes.TrimRight(data, "\x00"), []byte("\n"))
	out := append(header, '\n')
	var head ledger.Head
	for line := range bytes.Lines(bytes.ReplaceAll(rest, []byte(from), []byte(to))) {
		r, err := ledger.Decode(line)
		ts.Check(err)
		ts.Check(r.Seal(head.Seq, head.Hash))
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		line, err = r.Encode()
		ts.Check(err)
		out = append(out, line...)
	}
	ts.Check(os.WriteFile(path, out, 0o600))
}

func sampleRecord(i int) *ledger.Record {
	r := &ledger.Record{Time: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Kind: ledger.Decision, Agent: "coder", Session: fmt.Sprint("s", i%2), User: "ann", Tool: "Bash", Policy: "p"}
	command := [...]string{"npm test", "rm -rf build", "=cmd|' /C calc'!A0", "echo \x1b[2J"}[i%4]
	r.Input, _ = json.Marshal(map[string]string{"command": command})
	r.Verdict = [...]string{"allow", "deny", "ask"}[i%3]
	r.Rule, r.Pos, r.Reason = "Bash("+command[:2]+"*)", obstat.Pos{File: "settings.json", Line: 3 + i}, "a rule says so"
	return r
}

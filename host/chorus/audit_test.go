package chorus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// The rows of the document, "Audit Logging".
func TestRows(t *testing.T) {
	s := new(memory.Store)
	at := time.Date(2026, 2, 12, 10, 0, 0, 0, time.UTC)
	for _, r := range []*ledger.Record{
		{Kind: ledger.Start},
		{Kind: ledger.Decision, Time: at, Agent: "frontend", User: "12345", Tool: "bash", Input: json.RawMessage(`{"command":"npm test"}`), Verdict: "allow", Reason: "by a rule"},
		{Kind: ledger.Ask, Request: "r"},
		{Kind: ledger.Decision, Time: at.Add(5 * time.Second), Agent: "frontend", User: "12345", Tool: "git", Detail: json.RawMessage(`{"subjects":["tool:git:push origin main"]}`), Verdict: "allow", Request: "r"},
		{Kind: ledger.Decision, Time: at.Add(10 * time.Second), Agent: "frontend", User: "12345", Tool: "bash", Input: json.RawMessage(`{"command":"rm -rf /"}`), Verdict: "deny", Request: "q", Reason: "User denied"},
		{Kind: ledger.Decision, Time: at.Add(time.Minute), Agent: "writing", User: "67890", Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`), Verdict: "deny", Reason: "Profile: locked"},
		{Kind: ledger.Decision, Time: at.Add(2 * time.Minute), Agent: "writing", User: "67890", Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`), Verdict: "deny",
			Stage: "default", Detail: json.RawMessage(`{"said":"deny","by":"default","mode":"read only"}`), Reason: "bash ls: no rule is about it, and mode read only denies what no rule allows"},
		{Kind: ledger.Decision, Time: at.Add(3 * time.Minute), Agent: "writing", User: "67890", Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`), Verdict: "deny",
			Stage: "default", Detail: json.RawMessage(`{"said":"deny","by":"fault","mode":"locked"}`), Reason: "the ledger is full, and mode locked"},
	} {
		if err := s.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	for row, err := range chorus.Rows(s.Records(t.Context(), ledger.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", row.AgentName, row.Stamp(), row.ActionString, row.Decision, row.UserID, row.Detail)
	}
	const want = `| frontend | 2026-02-12T10:00:00 | tool:bash:npm test | allow | 12345 |  |
| frontend | 2026-02-12T10:00:05 | tool:git:push origin main | ask_approved | 12345 |  |
| frontend | 2026-02-12T10:00:10 | tool:bash:rm -rf / | ask_denied | 12345 | User denied |
| writing | 2026-02-12T10:01:00 | tool:bash:ls | deny | 67890 | Profile: locked |
| writing | 2026-02-12T10:02:00 | tool:bash:ls | deny | 67890 | Profile: read only |
| writing | 2026-02-12T10:03:00 | tool:bash:ls | deny | 67890 | the ledger is full, and mode locked |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRowsOfAHost: the rows that are made from the ledger of a running host are the
// document's: its action strings, `User denied` and `Profile: locked` (section Audit
// Logging), as the host's own audit has them.
func TestRowsOfAHost(t *testing.T) {
	store, audit := new(memory.Store), &book{}
	push := call("git_push", `{"remote":"origin","branch":"main"}`)
	no := &room{people: script(timed{Reply: chorus.Reply{User: "1"}})}
	host(t, `{"permissions":"standard"}`, chorus.Options{Channel: no, Audit: audit, Gate: gate.Options{Store: store}}).Check(t.Context(), push)
	host(t, `{"permissions":"locked"}`, chorus.Options{Audit: audit, Gate: gate.Options{Store: store}}).Check(t.Context(), call("bash", `{"command":"ls"}`))
	host(t, `{"permissions":"standard"}`, chorus.Options{Audit: audit, Gate: gate.Options{Store: store}}).Check(t.Context(), call("self_edit_docs", `{"path":"./a/../README.md"}`))
	var got []string
	for row, err := range chorus.Rows(store.Records(t.Context(), ledger.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row.ActionString+" | "+row.Decision+" | "+row.Detail)
	}
	for i, want := range []string{"tool:git:push origin main | ask_denied | User denied", "tool:bash:ls | deny | Profile: locked"} {
		if i >= len(got) || got[i] != want || audit.rows[i].ActionString+" | "+audit.rows[i].Decision+" | "+audit.rows[i].Detail != want {
			t.Errorf("ledger %q, audit %+v, want %q", got, audit.rows[i], want)
		}
	}
	if len(got) != 3 || !strings.HasPrefix(got[2], "tool:self_edit:docs:README.md | ") {
		t.Errorf("%q", got)
	}
}

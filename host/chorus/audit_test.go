package chorus_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/internal/store/memory"
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
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

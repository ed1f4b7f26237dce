package chorus

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// The words of the audit table for how a check ended.
const (
	AuditAllow       = "allow"
	AuditDeny        = "deny"
	AuditAskApproved = "ask_approved"
	AuditAskDenied   = "ask_denied"
)

// A Row is a row of the document's audit table.
type Row struct {
	AgentName    string
	Timestamp    time.Time
	ActionString string
	Decision     string // one of the Audit words
	UserID       string
	Detail       string
}

// Stamp returns the timestamp as the document writes it, in UTC.
func (r *Row) Stamp() string { return r.Timestamp.UTC().Format("2006-01-02T15:04:05") }

// An Auditor keeps rows. A row that it does not take is a call that does not
// run.
type Auditor interface {
	Record(ctx context.Context, row Row) error
}

// record keeps a row; a panic is an error.
func record(ctx context.Context, a Auditor, row Row) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return a.Record(ctx, row)
}

// Rows returns the ledger as Chorus's audit table: a row for each decision.
func Rows(records iter.Seq2[*ledger.Record, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for r, err := range records {
			switch {
			case err != nil:
				yield(Row{}, err)
				return
			case r.Kind == ledger.Decision && !yield(rowOf(r), nil):
				return
			}
		}
	}
}

func rowOf(r *ledger.Record) Row {
	row := Row{AgentName: r.Agent, Timestamp: r.Time, ActionString: actionString(r), Decision: AuditDeny, UserID: r.User}
	allowed, asked := r.Verdict == obstat.Allow.String(), r.Request != "" || r.Verdict == obstat.Ask.String()
	switch {
	case allowed && asked:
		row.Decision = AuditAskApproved
	case allowed:
		row.Decision = AuditAllow
	case asked:
		row.Decision = AuditAskDenied
	}
	if !allowed {
		row.Detail = r.Reason
	}
	return row
}

// actionString returns the one that the host gave, if the record has it, else
// the tool and its command, path or address.
func actionString(r *ledger.Record) string {
	var c struct {
		Subjects []string `json:"subjects"`
	}
	if json.Unmarshal(r.Detail, &c) == nil && len(c.Subjects) > 0 {
		return c.Subjects[0]
	}
	return "tool:" + r.Tool + ":" + r.About()
}

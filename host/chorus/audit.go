package chorus

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/chorus"
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

// guarded runs the code of a channel or an auditor; a panic is an error.
func guarded(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return run()
}

// Rows returns the ledger as Chorus's audit table: a row for each check.
func Rows(records iter.Seq2[*ledger.Record, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		table := Table{}
		for r, err := range records {
			row, ok := Row{}, false
			if err == nil {
				row, ok = table.Row(r)
			}
			if (ok || err != nil) && !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// A Table makes rows of records, which it is given in their order. A call that was asked
// about and not approved has no decision of its own: its row is made of the ask and the
// answer.
type Table map[string]*ledger.Record // asks by their request; nil: the row was made

// Row returns the row of a record, if it ends a check.
func (t Table) Row(r *ledger.Record) (Row, bool) {
	ask, asked := t[r.Request]
	switch {
	case r.Kind == ledger.Ask:
		t[r.Request] = r
	case r.Kind == ledger.Answer && ask != nil && r.Verdict != string(approval.Approved) &&
		r.Verdict != string(approval.Pending):
		t[r.Request] = nil
		row := rowOf(ask)
		row.Timestamp, row.Decision = r.Time, AuditAskDenied
		if row.Detail = r.Reason; r.Verdict == string(approval.Refused) {
			row.Detail = userDenied
		}
		return row, true
	case r.Kind == ledger.Decision && !(asked && ask == nil):
		delete(t, r.Request)
		return rowOf(r), true
	}
	return Row{}, false
}

func rowOf(r *ledger.Record) Row {
	row := Row{AgentName: r.Agent, Timestamp: r.Time, ActionString: "tool:" + r.Tool + ":" + r.About(),
		Decision: AuditDeny, UserID: r.User}
	allowed, asked := r.Verdict == obstat.Allow.String(), r.Request != "" || r.Verdict == obstat.Ask.String()
	switch {
	case allowed && asked:
		row.Decision = AuditAskApproved
	case allowed:
		row.Decision = AuditAllow
	case asked:
		row.Decision = AuditAskDenied
	}
	made := *r
	made.Kind = ledger.Decision // an ask says as much of its call
	if !allowed {
		row.Detail = r.Reason
	}
	call, more, err := made.Replayable()
	if err != nil {
		return row
	}
	if action, err := chorus.Action(call, nil); err == nil {
		row.ActionString = action
	}
	if mode := cmp.Or(call.Mode, more.InMode); !allowed && !asked && more.By == obstat.ByDefault && mode != "" {
		row.Detail = profileDetail(mode)
	}
	return row
}

// userDenied is the document's detail of a refusal.
const userDenied = "User denied"

func profileDetail(profile obstat.Mode) string { return "Profile: " + string(profile) }

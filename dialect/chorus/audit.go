package chorus

import (
	"context"
	"time"
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

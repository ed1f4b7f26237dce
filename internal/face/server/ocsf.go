package server

import (
	"time"

	"github.com/obstat/obstat/ledger"
)

// An ocsfEvent is a record as the Open Cybersecurity Schema Framework has it, 1.3.0: a decision is an API activity
// (6003) with the disposition of the security control profile, a login an authentication (3002), the rest an API
// activity too.
type ocsfEvent struct {
	Class       int            `json:"class_uid"`
	Category    int            `json:"category_uid"`
	Activity    int            `json:"activity_id"`
	Type        int            `json:"type_uid"`
	Severity    int            `json:"severity_id"`
	Status      int            `json:"status_id"`
	Time        int64          `json:"time"` // milliseconds
	Disposition int            `json:"disposition_id,omitempty"`
	Message     string         `json:"message,omitempty"`
	Metadata    map[string]any `json:"metadata"`
	Actor       map[string]any `json:"actor"`
	API         map[string]any `json:"api,omitempty"`
	User        map[string]any `json:"user,omitempty"`
	Unmapped    map[string]any `json:"unmapped,omitempty"`
}

// The numbers of OCSF that are used.
const (
	ocsfAPI, ocsfLogin = 6003, 3002
	ocsfAllowed        = 1
	ocsfBlocked        = 2
	ocsfLogged         = 17
)

// ocsf returns a record in that form. The input is left out: it is in the ledger, masked, under the event's uid.
func ocsf(r *ledger.Record) *ocsfEvent {
	e := &ocsfEvent{Class: ocsfAPI, Category: 6, Activity: 99, Severity: 1, Status: 1, Time: r.TakenAt().UnixMilli(),
		Message: r.Reason,
		Metadata: map[string]any{"version": "1.3.0", "uid": r.Hash.String(), "sequence": r.Seq,
			"original_time": r.Time.Format(time.RFC3339Nano),
			"profiles":      []string{"security_control"}, "product": map[string]any{"name": "obstat", "vendor_name": "obstat"}},
		Actor: map[string]any{"app_name": r.Agent, "user": map[string]any{"name": r.User},
			"session": map[string]any{"uid": r.Session}},
		Unmapped: map[string]any{"kind": r.Kind, "verdict": r.Verdict, "rule": r.Rule, "policy": r.Policy,
			"request": r.Request,
			"call":    r.Call}}
	switch {
	case r.Kind == ledger.Access && (r.Verdict == accessLogin || r.Verdict == accessLogout):
		e.Class, e.Category, e.Activity = ocsfLogin, 3, map[string]int{accessLogin: 1, accessLogout: 2}[r.Verdict]
		e.User = map[string]any{"name": r.User}
	case r.Tool != "":
		e.API = map[string]any{"operation": r.Tool, "request": map[string]any{"uid": r.Request}}
	}
	switch r.Verdict {
	case "allow", "approved":
		e.Disposition = ocsfAllowed
	case "deny", "refused", "expired":
		e.Disposition, e.Status, e.Severity = ocsfBlocked, 2, 3
	default:
		e.Disposition = ocsfLogged
	}
	if r.Kind == ledger.Damage {
		e.Severity = 5
	}
	e.Type = e.Class*100 + e.Activity
	return e
}

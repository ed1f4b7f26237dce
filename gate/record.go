package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// maxInput is how much of an input is shown to a human.
const maxInput = 1 << 20

// base has the fields of every record about the passage's call.
func (p *passage) base(kind ledger.Kind) *ledger.Record {
	c := p.call
	return &ledger.Record{Time: time.Now(), Kind: kind, Agent: c.Agent, Session: c.Session, User: c.User, Dir: c.Dir, Request: p.asked,
		Tool: c.Tool, Call: p.digest, Policy: p.j.digest()}
}

// record writes down a decision, and all that is needed to make it again.
func (p *passage) record(d *obstat.Decision) *ledger.Record {
	given := p.given
	if given == nil {
		given = d.Input
	}
	call := *p.call
	call.Project = p.j.Call.Project
	m := &ledger.Made{Call: &call, Digest: p.digest, Decision: d, Said: p.j.said, Mode: p.j.Call.Mode, Given: given, World: p.world.Seen(),
		Policy: p.j.digest(), Request: p.asked}
	if p.j.Verdict == obstat.Ask {
		m.Suggested = p.terms.Suggested
	}
	return m.Record()
}

func firstLine(s string) string {
	line, rest, more := strings.Cut(s, "\n")
	if more {
		line += fmt.Sprintf(" (and %d problems more)", strings.Count(rest, "\n")+1)
	}
	return ledger.ClipTo(line, 500)
}

// askRecord is the record of a request that is put to humans.
func (p *passage) askRecord(r *approval.Request) *ledger.Record {
	rec := p.base(ledger.Ask)
	rec.Verdict, rec.Rule, rec.Pos, rec.Reason = obstat.Ask.String(), ledger.Clip(r.Rule), r.Pos, ledger.Clip(r.Reason)
	rec.Input, _ = ledger.Legible(p.call.Input)
	return rec
}

// answered writes down the end of a request.
func (p *passage) answered(r *approval.Request) *ledger.Record {
	rec := p.base(ledger.Answer)
	rec.Verdict = string(r.State)
	answers := make([]approval.Answer, len(r.Answers))
	for i, a := range r.Answers {
		if a.Input != nil {
			a.Input, _ = ledger.Legible(a.Input)
		}
		answers[i] = a
	}
	rec.Reason = ledger.Clip(byRequest(r).Note)
	if len(answers) > 0 {
		rec.Detail, _ = json.Marshal(answers)
	}
	return rec
}

// GrantRecord returns the record that says a grant was made, or by whom it was
// taken back.
func GrantRecord(gr *approval.Grant, revokedBy string) *ledger.Record {
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Grant, Request: gr.Request, Tool: gr.Tool, Call: gr.Digest, Verdict: "granted", User: gr.By}
	switch gr.Scope {
	case approval.Session:
		rec.Session = gr.Key
	case approval.Agent:
		rec.Agent = gr.Key
	case approval.Workspace:
		rec.Dir = gr.Key
	}
	rec.Reason = fmt.Sprintf("%s granted it for the %s %s", gr.By, gr.Scope, gr.Key)
	if revokedBy != "" {
		rec.Verdict, rec.Reason, rec.User = "revoked", "taken back by "+revokedBy, revokedBy
	}
	rec.Detail, _ = json.Marshal(gr)
	return rec
}

package replay

import (
	"encoding/json"
	"iter"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// Calls yields a record of each call: its decision or, where none came of an ask, a decision made
// of the ask. A server decides a call that asks only when its approval is claimed, so without
// these the `git push` that people refused, or did not answer, would not be seen. Such a
// decision is deny, and ask while the request is open.
func Calls(records iter.Seq2[*ledger.Record, error]) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		var open asks
		for r, err := range records {
			if err == nil {
				r = open.call(r)
			}
			if (r != nil || err != nil) && !yield(r, err) {
				return
			}
		}
		for _, r := range open.rest() {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// approved is the verdict of an answer that a decision may follow later.
const approved = "approved"

// asks are the asks that no decision came of yet, by request.
type asks struct {
	open map[string]*ledger.Record
	ids  []string        // in order
	over map[string]bool // people refused it, or its time ended
}

// call returns r where it is a decision, and remembers the asks that none came of.
func (a *asks) call(r *ledger.Record) *ledger.Record {
	switch {
	case r.Kind == ledger.Decision:
		delete(a.open, r.Request)
		delete(a.over, r.Request)
		return r
	case r.Kind == ledger.Ask && r.Request != "":
		if a.open == nil {
			a.open, a.over = map[string]*ledger.Record{}, map[string]bool{}
		}
		a.open[r.Request] = r
		a.ids = append(a.ids, r.Request)
	case r.Kind == ledger.Answer && a.open[r.Request] != nil && r.Verdict != approved:
		a.over[r.Request] = true // a decision may follow: a gate that waited writes it after the answer
	}
	return nil
}

// rest returns decisions for the asks that none came of, in order.
func (a *asks) rest() (out []*ledger.Record) {
	for _, id := range a.ids {
		came := obstat.Ask
		if a.over[id] {
			came = obstat.Deny
		}
		if r := a.open[id]; r != nil {
			out = append(out, decisionOf(r, came))
			delete(a.open, id)
		}
	}
	return out
}

// decisionOf makes the record of a decision out of that of an ask.
func decisionOf(ask *ledger.Record, came obstat.Verdict) *ledger.Record {
	out := *ask
	out.Kind, out.Verdict = ledger.Decision, came.String()
	more := ledger.Circumstances{Said: obstat.Ask, Partial: "the circumstances of an ask are not written down"}
	if ask.Dir != "" {
		more.Roots = []string{ask.Dir} // as the gate has it where a call names none
	}
	out.Detail, _ = json.Marshal(more) // texts alone
	return &out
}

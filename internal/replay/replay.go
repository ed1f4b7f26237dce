// Package replay decides the calls of a ledger again: under another policy, to
// see what would change before it does, or under the same, to see that nothing
// has. It also counts what a ledger holds.
//
// It owns the comparison and the counting. What was seen of the machine when a
// call was made is taken from its record, so the answer does not hang on the
// machine of today. How it looks is the business of the face that shows it.
package replay

import (
	"iter"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// A Report compares a policy's answers with those that a ledger recorded.
type Report struct {
	V      int    `json:"v"`
	Policy string `json:"policy"` // digest
	Calls  int    `json:"calls"`
	Same   int    `json:"same"`
	// Flipped counts the calls that are decided otherwise, by how.
	Flipped map[string]int `json:"flipped"`
	Flips   []Flip         `json:"flips"`
	// Inexact counts calls that could be repeated only in part: something was
	// masked or is not in the record.
	Inexact int `json:"inexact"`
	// Drifted counts calls that this very policy decided otherwise before, which
	// means that the engine has changed.
	Drifted int `json:"drifted"`
	// Unreadable counts records of decisions that cannot be read as calls.
	Unreadable int `json:"unreadable,omitempty"`
}

// A Flip is a call that another policy decides otherwise. Calls that are equal
// in everything that is shown are one Flip.
type Flip struct {
	Seq     uint64         `json:"seq"` // of the newest
	Time    time.Time      `json:"time"`
	Count   int            `json:"count"`
	Call    *obstat.Call   `json:"call"`
	Was     obstat.Verdict `json:"was"`     // the policy's verdict then
	Came    string         `json:"came"`    // the final outcome, with the humans' answer
	WasRule string         `json:"was_by"`  // the rule that decided then
	WasPos  obstat.Pos     `json:"was_pos"` //
	Now     obstat.Verdict `json:"now"`
	Rule    string         `json:"by,omitempty"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
	Part    string         `json:"part,omitempty"`
	Reason  string         `json:"reason"`
	Partial string         `json:"partial,omitempty"` // why it may not be exact
}

// Way names how a call flips: "ask → allow".
func (f *Flip) Way() string { return f.Was.String() + " → " + f.Now.String() }

// maxFlips bounds how many different flips are listed; all are counted.
const maxFlips = 10_000

// Run decides the calls among the records by pol.
func Run(records iter.Seq2[*ledger.Record, error], pol *obstat.Policy) (*Report, error) {
	out := &Report{V: 1, Policy: pol.Digest(), Flipped: map[string]int{}, Flips: []Flip{}}
	seen := map[string]int{} // index of a flip
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if r.Kind == ledger.Decision {
			out.add(r, pol, seen)
		}
	}
	return out, nil
}

func (rep *Report) add(r *ledger.Record, pol *obstat.Policy, seen map[string]int) {
	call, more, err := r.Replayable()
	if err != nil {
		rep.Unreadable++
		return
	}
	rep.Calls++
	partial := more.Partial
	var world obstat.World = r.World
	if r.World == nil {
		world = &obstat.Snapshot{}
		if partial == "" {
			partial = "what was seen of the machine was not written down"
		}
	}
	if partial != "" {
		rep.Inexact++
	}
	d := pol.Decide(call, world)
	if d.Verdict == more.Said {
		rep.Same++
		return
	}
	if r.Policy == rep.Policy && partial == "" {
		rep.Drifted++
	}
	f := Flip{Seq: r.Seq, Time: r.Time, Count: 1, Call: call, Was: more.Said, Came: r.Verdict, WasRule: r.Rule, WasPos: r.Pos,
		Now: d.Verdict, Part: d.Part, Reason: d.Reason(), Partial: partial}
	if d.Rule != nil {
		f.Rule, f.Pos = d.Rule.String(), d.Rule.Pos
	}
	rep.Flipped[f.Way()]++
	key := call.Tool + "\x00" + string(call.Input) + "\x00" + f.Way() + "\x00" + f.Reason
	if i, ok := seen[key]; ok {
		f.Count = rep.Flips[i].Count + 1
		rep.Flips[i] = f
		return
	}
	if len(rep.Flips) < maxFlips {
		seen[key] = len(rep.Flips)
		rep.Flips = append(rep.Flips, f)
	}
}

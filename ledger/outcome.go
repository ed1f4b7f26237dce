package ledger

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A Result is the detail of an [Outcome]: the size and digest of a call's output, without its text. The record's
// Verdict tells whether the call ran, failed or was not run, its Nanos how long it took, its Reason the error.
type Result struct {
	// Digest is that of the result as the agent wrote it, made with the ledger's key.
	Digest string `json:"result,omitempty"`
	Bytes  int    `json:"bytes,omitempty"` // of the result
	// Masked are the secrets that were taken out of it before the model got it.
	Masked []Masked `json:"masked,omitempty"`
}

// Result returns the digest of a call's result, and which secrets of it were masked.
func (m *Masker) Result(raw []byte, masked []Masked) json.RawMessage {
	out, _ := json.Marshal(Result{m.digest(raw), len(raw), masked})
	return out
}

// An Entry is a decision about a call with the records that belong to it.
type Entry struct {
	*Record
	// Before are decisions about the same call that this one took the place of: an agent may ask
	// again before it shows its own prompt.
	Before []*Record
	// Outcome tells how the call ended; nil where the agent has not told.
	Outcome *Record
}

// Join makes one entry of the records about each call, in the order of their last decisions. An outcome is of
// the last decision about that call, in its session, that has none yet; one without a decision is an
// entry of its own, and so is every other record.
func Join(records []*Record) []*Entry {
	type key struct{ agent, session, call, sender string }
	out := make([]*Entry, 0, len(records))
	open := map[key]*Entry{}
	for _, r := range records {
		k := key{agent: r.Agent, session: r.Session, call: r.Call}
		if f := r.Foreign(); f != nil {
			k.sender = f.From // a machine says nothing of a call that was decided here
		}
		e := open[k]
		switch {
		case r.Call == "" || r.Kind != Decision && r.Kind != Outcome:
		case r.Kind == Outcome && e != nil:
			e.Outcome = r
			delete(open, k)
			continue
		case r.Kind == Decision && e != nil && e.Verdict == "ask":
			e.Before = append(e.Before, e.Record)
			e.Record = r
			continue
		case r.Kind == Decision:
			e = &Entry{Record: r}
			open[k] = e
			out = append(out, e)
			continue
		}
		out = append(out, &Entry{Record: r})
	}
	slices.SortStableFunc(out, func(a, b *Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

package ledger

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// A Break is the first thing wrong with a chain.
type Break struct {
	Seq  uint64 // of the record at which it shows
	What string // edited, dropped, reordered, truncated, unreadable
	Msg  string
}

// Error returns what is wrong where.
func (b *Break) Error() string { return fmt.Sprintf("record %d %s: %s", b.Seq, b.What, b.Msg) }

// A Head is the end of a chain: what the next record follows.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// A Verified says how far a chain holds.
type Verified struct {
	Records uint64
	First   uint64 // sequence number of the first record there is
	Head    Head

	missing Head // the end of the records that are not there
}

// Verify walks a chain in order and returns the first break, or how far it
// holds. The zero Hash as head wants no particular end.
func Verify(records iter.Seq2[*Record, error], head Hash) (Verified, error) {
	var v Verified
	found := head == Hash{}
	for r, err := range records {
		if err != nil {
			return v, &Break{v.Head.Seq + 1, "unreadable", err.Error()}
		}
		if b := v.next(r); b != nil {
			return v, b
		}
		found = found || r.Hash == head
	}
	if v.missing.Seq != 0 {
		return v, &Break{v.First, "dropped", "the records before it are gone, and no retention took them"}
	}
	if !found {
		return v, &Break{v.Head.Seq, "truncated", "the record with the expected head is not there"}
	}
	return v, nil
}

// next checks one record against what came before.
func (v *Verified) next(r *Record) *Break {
	sum, err := r.Sum()
	if err != nil {
		return &Break{r.Seq, "unreadable", err.Error()}
	}
	if v.Records == 0 {
		v.First = r.Seq
		v.missing = Head{r.Seq - 1, r.Prev}
	} else if b := v.follows(r); b != nil {
		return b
	}
	if sum != r.Hash {
		return &Break{r.Seq, "edited", "its content does not have its hash"}
	}
	if r.vouches(v.missing) {
		v.missing = Head{}
	}
	v.Records++
	v.Head = Head{r.Seq, r.Hash}
	return nil
}

func (v *Verified) follows(r *Record) *Break {
	switch {
	case r.Seq <= v.Head.Seq:
		return &Break{r.Seq, "reordered", fmt.Sprintf("it stands after record %d", v.Head.Seq)}
	case r.Seq > v.Head.Seq+1:
		return &Break{v.Head.Seq + 1, "dropped", fmt.Sprintf("after record %d comes %d", v.Head.Seq, r.Seq)}
	case r.Prev != v.Head.Hash:
		return &Break{r.Seq, "edited", "it does not follow the record before it"}
	}
	return nil
}

// A cutDetail says which records retention took out.
type cutDetail struct {
	UpTo uint64 `json:"up_to"`
	Hash Hash   `json:"hash"` // of the last of them
}

// NewCut returns the record to append when retention takes out everything up to
// and including last: it is what makes the chain without them verifiable.
func NewCut(last *Record, now time.Time) (*Record, error) {
	detail, err := json.Marshal(cutDetail{last.Seq, last.Hash})
	return &Record{Time: now, Kind: Cut, Detail: detail, Reason: "records were taken out by retention"}, err
}

// vouches tells whether r is the cut that explains why records up to head are
// not there.
func (r *Record) vouches(missing Head) bool {
	var d cutDetail
	return r.Kind == Cut && json.Unmarshal(r.Detail, &d) == nil && Head{d.UpTo, d.Hash} == missing
}

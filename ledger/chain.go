package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Break is the first thing wrong with a chain.
type Break struct {
	Seq  uint64 // of the record at which it shows
	What string // Edited, Dropped and so on
	Msg  string
}

// Error returns the record and its problem.
func (b *Break) Error() string { return fmt.Sprintf("record %d %s: %s", b.Seq, b.What, b.Msg) }

// The values of Break.What.
const (
	Edited     = "edited"
	Dropped    = "dropped"
	Reordered  = "reordered"
	Truncated  = "truncated"
	Unreadable = "unreadable"
)

// A Head is the end of a chain: the record that the next one follows.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// A Verified says how far a chain holds.
type Verified struct {
	Records uint64
	First   uint64 // sequence number of the first record there is
	Head    Head
	// Foreign counts the records that machines have sent, by their names: they are the word of
	// others, whom the chain does not vouch for.
	Foreign map[string]uint64

	missing Head // the last of the records in front that are not there
}

// A Verifier verifies the chain that it keeps, as [Verify] does: the lines as they are
// kept, against heads of its own and those that are known from elsewhere.
type Verifier interface {
	Verify(ctx context.Context, head Hash, known ...Head) (Verified, error)
}

// Verify walks the sealed lines of one chain in order and returns the first break,
// or how far it holds. A record with the given hash has to be there; the zero Hash
// wants none. Each known head has to be at its place, unless retention took it out.
func Verify(lines iter.Seq2[[]byte, error], head Hash, known ...Head) (Verified, error) {
	var v Verified
	found := head == Hash{}
	for line, err := range lines {
		if err != nil {
			return v, asBreak(err, v.Head.Seq+1)
		}
		s, err := Unseal(line)
		if err != nil {
			return v, &Break{Seq: v.Head.Seq + 1, What: Unreadable, Msg: err.Error()}
		}
		if err := v.next(&s, line); err != nil {
			return v, err
		}
		found = found || s.Hash == head
		for _, k := range known {
			if k.Seq == s.Seq && k.Hash != s.Hash {
				return v, &Break{Seq: s.Seq, What: Edited, Msg: "it is not the record that was known: it or one before it was changed, and the hashes after it were made anew"}
			}
		}
	}
	for _, k := range known {
		if k.Seq > v.Head.Seq {
			return v, &Break{Seq: v.Head.Seq, What: Truncated, Msg: fmt.Sprintf("it is the last one here, and record %d was known to be", k.Seq)}
		}
	}
	if v.missing.Seq != 0 {
		return v, &Break{Seq: v.First, What: Dropped, Msg: "the records before it are gone, and no retention took them"}
	}
	if !found {
		return v, &Break{Seq: v.Head.Seq, What: Truncated, Msg: "the record with the expected head is not there"}
	}
	return v, nil
}

func asBreak(err error, seq uint64) error {
	var b *Break
	if errors.As(err, &b) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Break{Seq: seq, What: Unreadable, Msg: err.Error()}
}

// next checks one record against the one before.
func (v *Verified) next(s *Sealed, line []byte) error {
	if v.Records == 0 {
		v.First = s.Seq
		v.missing = Head{s.Seq - 1, s.Prev}
		if s.Seq == 1 && s.Prev != (Hash{}) {
			return &Break{Seq: 1, What: Edited, Msg: "nothing can be before it"}
		}
	} else if b := s.follows(v.Head); b != nil {
		return b
	}
	if err := s.Check(); err != nil {
		return err
	}
	if b := damaged(s.Seq, line); b != nil {
		return b
	}
	if v.missing.Seq != 0 && vouches(line, v.missing) {
		v.missing = Head{}
	}
	v.countForeign(line)
	v.Records++
	v.Head = s.Head
	return nil
}

// follows tells how s does not follow head.
func (s *Sealed) follows(head Head) *Break {
	switch {
	case s.Seq <= head.Seq:
		return &Break{Seq: s.Seq, What: Reordered, Msg: fmt.Sprintf("it stands after record %d", head.Seq)}
	case s.Seq > head.Seq+1:
		return &Break{Seq: head.Seq + 1, What: Dropped, Msg: fmt.Sprintf("after record %d comes %d", head.Seq, s.Seq)}
	case s.Prev != head.Hash:
		return &Break{Seq: s.Seq, What: Edited, Msg: "it does not follow the record before it"}
	}
	return nil
}

// damaged returns the break that a Damage record tells of; nil where it tells of
// a crash, or is none.
func damaged(seq uint64, line []byte) *Break {
	if !bytes.Contains(line, []byte(`"kind":"damage"`)) {
		return nil
	}
	r, err := Decode(line)
	if err != nil || !IsBroken(r) {
		return nil
	}
	return &Break{Seq: seq, What: Truncated, Msg: r.Reason}
}

// A cutDetail says which records retention took out.
type cutDetail struct {
	UpTo uint64 `json:"up_to"`
	Hash Hash   `json:"hash"` // of the last of them
}

// NewCut returns the record to append when retention takes out everything up to
// and including last: with it the chain without them still verifies.
func NewCut(last Head, now time.Time) (*Record, error) {
	detail, err := json.Marshal(cutDetail{last.Seq, last.Hash})
	return &Record{Time: now, Kind: Cut, Detail: detail, Reason: "records were taken out by retention"}, err
}

// vouches tells whether a line is the cut that explains why records up to
// missing are not there.
func vouches(line []byte, missing Head) bool {
	if !bytes.Contains(line, []byte(`"kind":"cut"`)) {
		return false
	}
	var d cutDetail
	r, err := Decode(line)
	return err == nil && r.Kind == Cut && !r.Elsewhere() && json.Unmarshal(r.Detail, &d) == nil && Head{d.UpTo, d.Hash} == missing
}

// broken is the Verdict of a Damage record that verifying the chain reports.
const broken = "broken"

// Broken is the record of something that a crash cannot have done to a ledger:
// verifying the chain reports it.
func Broken(reason string) *Record {
	return &Record{Time: time.Now(), Kind: Damage, Verdict: broken, Reason: reason}
}

// IsBroken tells whether a record says that something was done to the ledger which no
// crash can do, such as putting an older copy in its place.
func IsBroken(r *Record) bool { return r.Kind == Damage && r.Verdict == broken && !r.Elsewhere() }

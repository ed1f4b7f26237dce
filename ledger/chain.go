package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"
)

// A Break is the first thing wrong with a chain.
type Break struct {
	Seq  uint64 // of the record at which it shows
	What string // edited, dropped, reordered, truncated, unreadable
	Msg  string
}

// Error returns the record and its problem.
func (b *Break) Error() string { return fmt.Sprintf("record %d %s: %s", b.Seq, b.What, b.Msg) }

// The values of Break.What.
const (
	edited     = "edited"
	dropped    = "dropped"
	reordered  = "reordered"
	truncated  = "truncated"
	unreadable = "unreadable"
)

const noHash = "its content does not have its hash"

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

// A Verifier is a Reader that can verify more than the records it yields: the
// lines as they are kept, and heads that are known from elsewhere.
type Verifier interface {
	Verify(ctx context.Context, head Hash, known ...Head) (Verified, error)
}

// VerifyStore verifies everything that a store keeps: see [Verify].
func VerifyStore(ctx context.Context, s Reader, head Hash) (Verified, error) {
	if v, ok := s.(Verifier); ok {
		return v.Verify(ctx, head)
	}
	return Verify(s.Records(ctx, Query{}), head)
}

// Verify walks a chain in order and returns the first break, or how far it
// holds. A record with the given hash has to be there; the zero Hash wants none.
func Verify(records iter.Seq2[*Record, error], head Hash) (Verified, error) {
	return VerifyLines(func(yield func([]byte, error) bool) {
		for r, err := range records {
			var line []byte
			if err == nil {
				line, err = r.Encode()
			}
			if !yield(line, err) {
				return
			}
		}
	}, head)
}

// VerifyLines is [Verify] on sealed lines as they are kept. Each
// known head has to be at its place, unless retention took it out.
func VerifyLines(lines iter.Seq2[[]byte, error], head Hash, known ...Head) (Verified, error) {
	var v Verified
	found := head == Hash{}
	for line, err := range lines {
		if err != nil {
			return v, asBreak(err, v.Head.Seq+1)
		}
		s, err := unseal(line)
		if err != nil {
			return v, &Break{Seq: v.Head.Seq + 1, What: unreadable, Msg: err.Error()}
		}
		if b := v.next(&s, line); b != nil {
			return v, b
		}
		found = found || s.Hash == head
		for _, k := range known {
			if k.Seq == s.Seq && k.Hash != s.Hash {
				return v, &Break{Seq: s.Seq, What: edited, Msg: "it is not the record that was known: it or one before it was changed, and the hashes after it were made anew"}
			}
		}
	}
	for _, k := range known {
		if k.Seq > v.Head.Seq {
			return v, &Break{Seq: v.Head.Seq, What: truncated, Msg: fmt.Sprintf("it is the last one here, and record %d was known to be", k.Seq)}
		}
	}
	if v.missing.Seq != 0 {
		return v, &Break{Seq: v.First, What: dropped, Msg: "the records before it are gone, and no retention took them"}
	}
	if !found {
		return v, &Break{Seq: v.Head.Seq, What: truncated, Msg: "the record with the expected head is not there"}
	}
	return v, nil
}

func asBreak(err error, seq uint64) error {
	var b *Break
	if errors.As(err, &b) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Break{Seq: seq, What: unreadable, Msg: err.Error()}
}

// next checks one record against the one before.
func (v *Verified) next(s *sealed, line []byte) *Break {
	if v.Records == 0 {
		v.First = s.Seq
		v.missing = Head{s.Seq - 1, s.prev}
		if s.Seq == 1 && s.prev != (Hash{}) {
			return &Break{Seq: 1, What: edited, Msg: "nothing can be before it"}
		}
	} else if b := s.follows(v.Head); b != nil {
		return b
	}
	if !s.holds() {
		return &Break{Seq: s.Seq, What: edited, Msg: noHash}
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
func (s *sealed) follows(head Head) *Break {
	switch {
	case s.Seq <= head.Seq:
		return &Break{Seq: s.Seq, What: reordered, Msg: fmt.Sprintf("it stands after record %d", head.Seq)}
	case s.Seq > head.Seq+1:
		return &Break{Seq: head.Seq + 1, What: dropped, Msg: fmt.Sprintf("after record %d comes %d", head.Seq, s.Seq)}
	case s.prev != head.Hash:
		return &Break{Seq: s.Seq, What: edited, Msg: "it does not follow the record before it"}
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
	return &Break{Seq: seq, What: truncated, Msg: r.Reason}
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

// Verify walks the file and compares it with the head that was kept apart from
// it, and with heads that are known from elsewhere.
func (f *File) Verify(ctx context.Context, head Hash, known ...Head) (Verified, error) {
	// The head is read first: records that are appended meanwhile are behind it.
	k, gone, err := f.known()
	if err != nil {
		return Verified{}, err
	}
	known = append(known, k.Head)
	v, err := f.View()
	if errors.Is(err, fs.ErrNotExist) {
		for _, h := range known {
			if h.Seq > 0 {
				return Verified{}, &Break{What: truncated, Msg: fmt.Sprintf("the file is gone, and record %d was known to be in it", h.Seq)}
			}
		}
	}
	if err != nil {
		return Verified{}, err
	}
	defer v.Close()
	out, err := VerifyLines(v.texts(ctx), head, known...)
	if err == nil && gone && out.Records > 0 {
		err = &Break{Seq: out.Head.Seq, What: truncated, Msg: "the file that the last known head is kept in is gone, so records behind this one may be"}
	}
	return out, err
}

// texts yields the lines, and a break if the first one does not follow the record
// that the file's header names.
func (v *View) texts(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		first := true
		for l, err := range v.Lines(0) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && first {
				if s, serr := unseal(l.Text); serr == nil && (s.Seq != v.first.Seq+1 || s.prev != v.first.Hash) {
					err = &Break{Seq: s.Seq, What: edited, Msg: "it does not follow the record that the file says it follows"}
				}
			}
			first = false
			if !yield(l.Text, err) || err != nil {
				return
			}
		}
	}
}

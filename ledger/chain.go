package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"
)

// A Break is the first thing wrong with a chain.
type Break struct {
	Seq   uint64 // of the record at which it shows
	What  string // edited, dropped, reordered, truncated, unreadable
	Msg   string
	Spool bool // Seq counts in the chain of the spool
}

// Error returns what is wrong where.
func (b *Break) Error() string {
	where := "record"
	if b.Spool {
		where = "spool record"
	}
	return fmt.Sprintf("%s %d %s: %s", where, b.Seq, b.What, b.Msg)
}

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
	// Spool is the last record that was taken in from the spool.
	Spool Head

	missing Head // the end of the records that are not there
	buf     []byte
}

// A Liner is a Reader that has its records as the lines they were sealed as,
// and has looked that whatever it searches by says the same. A line is valid
// until the next one.
type Liner interface {
	Lines(ctx context.Context) iter.Seq2[[]byte, error]
}

// VerifyStore walks everything that a store keeps: see [Verify].
func VerifyStore(ctx context.Context, s Reader, head Hash) (Verified, error) {
	if l, ok := s.(Liner); ok {
		return VerifyLines(l.Lines(ctx), head)
	}
	return Verify(s.Records(ctx, Query{}), head)
}

// Verify walks a chain in order and returns the first break, or how far it
// holds. The zero Hash as head wants no particular end.
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

// VerifyLines does what [Verify] does on sealed lines as they are kept. Each
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
			return v, &Break{Seq: v.Head.Seq + 1, What: "unreadable", Msg: err.Error()}
		}
		if b := v.next(&s, line); b != nil {
			return v, b
		}
		found = found || s.Hash == head || s.spool != nil && s.spool.Hash == head
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
		return v, &Break{Seq: v.First, What: "dropped", Msg: "the records before it are gone, and no retention took them"}
	}
	if !found {
		return v, noHead(v.Head.Seq)
	}
	return v, nil
}

const (
	truncated = "truncated"
	edited    = "edited"
	noHash    = "its content does not have its hash"
)

// noHead is the break of a chain that has not the record with the wanted hash.
func noHead(seq uint64) *Break {
	return &Break{Seq: seq, What: truncated, Msg: "the record with the expected head is not there"}
}

// A Whole says how far a store and the spool beside it hold.
type Whole struct {
	Verified
	Waiting int  // records in the spool that are not in the store
	End     Head // of the last of them
}

// VerifyWhole verifies a store and the spool beside it. The record with the
// wanted hash may be in either, and stays found when the spool is taken in.
func VerifyWhole(ctx context.Context, store Reader, s *Spool, head Hash) (w Whole, err error) {
	var lost *Break
	w.Verified, err = VerifyStore(ctx, store, head)
	if errors.As(err, &lost) && lost.What == truncated {
		err = nil
	} else {
		lost = nil
	}
	if err != nil {
		return w, err
	}
	found := lost == nil
	w.Waiting, err = s.verify(ctx, w.Verified, func(h Head) {
		w.End = h
		found = found || h.Hash == head
	})
	if err == nil && !found {
		return w, lost
	}
	return w, err
}

func asBreak(err error, seq uint64) *Break {
	if b, ok := err.(*Break); ok {
		return b
	}
	return &Break{Seq: seq, What: "unreadable", Msg: err.Error()}
}

// next checks one record against what came before.
func (v *Verified) next(s *sealed, line []byte) *Break {
	if v.Records == 0 {
		v.First = s.Seq
		v.missing = Head{s.Seq - 1, s.Prev}
		if s.Seq == 1 && s.Prev != (Hash{}) {
			return &Break{Seq: 1, What: "edited", Msg: "nothing can be before it"}
		}
	} else if b := follows(v.Head, &s.Link); b != nil {
		return b
	}
	if !s.holds() {
		return &Break{Seq: s.Seq, What: "edited", Msg: "its content does not have its hash"}
	}
	if s.spool != nil {
		if b := v.spooled(s); b != nil {
			return b
		}
	}
	if b := damaged(s.Seq, line); b != nil {
		return b
	}
	if v.missing.Seq != 0 && vouches(line, v.missing) {
		v.missing = Head{}
	}
	v.Records++
	v.Head = Head{s.Seq, s.Hash}
	return nil
}

// spooled checks the place in the spool of a record that was taken in.
func (v *Verified) spooled(s *sealed) *Break {
	if v.Spool.Seq != 0 {
		if b := follows(v.Spool, s.spool); b != nil {
			b.Seq, b.Msg = s.Seq, fmt.Sprintf("in the spool it was number %d: %s", s.spool.Seq, b.Msg)
			return b
		}
	}
	v.buf = appendBody(v.buf[:0], Head{s.spool.Seq - 1, s.spool.Prev}, s.rest, nil)
	if sha256.Sum256(v.buf) != s.spool.Hash {
		return &Break{Seq: s.Seq, What: "edited", Msg: "its content is not what was written to the spool"}
	}
	v.Spool = Head{s.spool.Seq, s.spool.Hash}
	return nil
}

// follows tells what is wrong with l behind head.
func follows(head Head, l *Link) *Break {
	switch {
	case l.Seq <= head.Seq:
		return &Break{Seq: l.Seq, What: "reordered", Msg: fmt.Sprintf("it stands after record %d", head.Seq)}
	case l.Seq > head.Seq+1:
		return &Break{Seq: head.Seq + 1, What: "dropped", Msg: fmt.Sprintf("after record %d comes %d", head.Seq, l.Seq)}
	case l.Prev != head.Hash:
		return &Break{Seq: l.Seq, What: "edited", Msg: "it does not follow the record before it"}
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
	if err != nil || r.Kind != Damage || r.Verdict != broken {
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
// and including last: it is what makes the chain without them verifiable.
func NewCut(last *Record, now time.Time) (*Record, error) {
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
	return err == nil && r.Kind == Cut && json.Unmarshal(r.Detail, &d) == nil && Head{d.UpTo, d.Hash} == missing
}

// Verify walks the file and compares it with the head that was kept apart from
// it, and with what else is known: a hash that a record must have (zero wants
// none), and heads that were kept elsewhere.
func (f *File) Verify(ctx context.Context, head Hash, elsewhere ...Head) (Verified, error) {
	// In this order: records that are appended meanwhile are behind the head.
	k, gone, err := f.known()
	if err != nil {
		return Verified{}, err
	}
	v, err := f.View()
	if errors.Is(err, fs.ErrNotExist) {
		for _, h := range append(elsewhere, k.Head) {
			if h.Seq > 0 {
				return Verified{}, &Break{Seq: 0, What: truncated, Msg: fmt.Sprintf("the file is gone, and record %d was known to be in it", h.Seq)}
			}
		}
	}
	if err != nil {
		return Verified{}, err
	}
	defer v.Close()
	out, err := VerifyLines(v.texts(ctx), head, append(elsewhere, k.Head)...)
	switch {
	case err != nil:
		return out, err
	case gone && out.Records > 0:
		return out, &Break{Seq: out.Head.Seq, What: truncated, Msg: "the file that the last known head is kept in is gone, so records behind it may be"}
	}
	return out, nil
}

// texts yields the lines; the header says what the first one follows.
func (v *View) texts(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		first := true
		for l, err := range v.Lines(0) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && first {
				if s, serr := unseal(l.Text); serr == nil && (s.Seq != v.first.Seq+1 || s.Prev != v.first.Hash) {
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

package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/obstat/obstat/ledger"
)

// Verify walks the file and compares it with the head that was kept apart from
// it, and with heads that are known from elsewhere.
func (f *File) Verify(ctx context.Context, head ledger.Hash, known ...ledger.Head) (ledger.Verified, error) {
	// The head is read first: records that are appended meanwhile are behind it.
	k, gone, err := f.known()
	if err != nil {
		return ledger.Verified{}, err
	}
	known = append(known, k.Head)
	v, err := f.View()
	if errors.Is(err, fs.ErrNotExist) {
		for _, h := range known {
			if h.Seq > 0 {
				return ledger.Verified{}, &ledger.Break{What: ledger.Truncated,
					Msg: fmt.Sprintf("the file is gone, and record %d was known to be in it", h.Seq)}
			}
		}
	}
	if err != nil {
		return ledger.Verified{}, err
	}
	defer v.Close()
	out, err := ledger.Verify(v.texts(ctx), head, known...)
	if err == nil && gone && out.Records > 0 {
		err = &ledger.Break{Seq: out.Head.Seq, What: ledger.Truncated,
			Msg: "the file that the last known head is kept in is gone, so records behind this one may be"}
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
				if s, serr := ledger.Unseal(l.Text); serr == nil && (s.Seq != v.first.Seq+1 || s.Prev != v.first.Hash) {
					err = &ledger.Break{Seq: s.Seq, What: ledger.Edited,
						Msg: "it does not follow the record that the file says it follows"}
				}
			}
			first = false
			if !yield(l.Text, err) || err != nil {
				return
			}
		}
	}
}

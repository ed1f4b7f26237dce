package logfile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/ledger"
)

// Trim takes out the records before a time and appends a record that says so.
// Nothing is appended meanwhile: the rest is copied to a new file that takes the
// place of the old one, and records keep their offsets. Records that
// still hold are appended again: the newest pin of each place, and grants that
// were not taken back.
func (f *File) Trim(ctx context.Context, before time.Time) (removed int, err error) {
	if err := f.take(ctx); err != nil {
		return 0, err
	}
	defer func() { <-f.token }()
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err := f.lock(); err != nil {
		return 0, f.named(err)
	}
	defer f.forget() // which gives the lock back
	removed, last, next, err := f.oldest(before)
	if err != nil || removed == 0 {
		return 0, f.named(err)
	}
	tail, err := f.carry(last, next)
	if err == nil {
		err = f.rewrite(last, next, tail)
	}
	return removed, f.named(err)
}

// oldest returns how many records are in front of the first that is not before a
// time, the last of them, and the offset behind it. The order is the chain's, not
// the clock's.
func (f *File) oldest(before time.Time) (n int, last ledger.Head, next int64, err error) {
	var r ledger.Record
	for l, err := range f.view.Lines(0) {
		if err == nil {
			err = ledger.ReadHeader(&r, l.Text)
		}
		if err != nil {
			return 0, last, 0, err
		}
		if !r.Time.Before(before) {
			break
		}
		n, last, next = n+1, r.Head(), l.End()
	}
	return n, last, next, nil
}

// carry returns the records to append: the cut, and those before next that still
// hold.
func (f *File) carry(last ledger.Head, next int64) ([]*ledger.Record, error) {
	cut, err := ledger.NewCut(last, time.Now())
	if err != nil {
		return nil, err
	}
	out := []*ledger.Record{cut}
	done := map[string]bool{}
	pins := map[string]ledger.Hash{} // the newest of each place
	if err := f.newestPins(pins); err != nil {
		return nil, err
	}
	for l, err := range f.view.back(f.last.end) {
		if err != nil {
			return nil, err
		}
		var h ledger.Record
		if ledger.ReadHeader(&h, l.Text) != nil || h.Kind != ledger.Pin && h.Kind != ledger.Grant {
			continue
		}
		r, err := ledger.Decode(l.Text)
		if err != nil {
			return nil, err
		}
		key, holds := standing(r)
		if r.Kind == ledger.Pin && pins[key] != r.Hash {
			continue
		}
		if !done[key] && holds && l.Offset < next {
			out = append(out, r)
		}
		done[key] = true
	}
	return out, nil
}

// newestPins finds the newest pin of each place as their readers do: one names the
// one before it, so that an old one that was appended again is not the newest, and
// none from before the file was found broken counts.
func (f *File) newestPins(pins map[string]ledger.Hash) error {
	for l, err := range f.view.Lines(0) {
		if err != nil {
			return err
		}
		var h ledger.Record
		if ledger.ReadHeader(&h, l.Text) != nil || h.Kind != ledger.Pin && !ledger.IsBroken(&h) {
			continue
		}
		if ledger.IsBroken(&h) {
			clear(pins)
			continue
		}
		r, err := ledger.Decode(l.Text)
		if err != nil {
			return err
		}
		var d struct{ Pin struct{ After ledger.Hash } }
		key, _ := standing(r)
		if now, has := pins[key]; json.Unmarshal(r.Detail, &d) != nil || !has || now == d.Pin.After {
			pins[key] = r.Hash
		}
	}
	return nil
}

// standing returns a key for the place of a pin or the grant of a record, the
// newest of which counts, and whether it holds.
func standing(r *ledger.Record) (key string, holds bool) {
	if r.Kind == ledger.Pin {
		return "pin\x00" + r.Agent + "\x00" + r.Dir, true
	}
	var g struct {
		ID      string
		Expires time.Time
	}
	if json.Unmarshal(r.Detail, &g) != nil {
		return "", false
	}
	return "grant\x00" + g.ID, r.Verdict == "granted" && (g.Expires.IsZero() || time.Now().Before(g.Expires))
}

// rewrite puts a file in place that has the lines from an offset on, behind the
// given record, and then the given records.
func (f *File) rewrite(after ledger.Head, from int64, tail []*ledger.Record) error {
	rest := func(yield func([]byte, error) bool) {
		for l, err := range f.view.Lines(from) {
			if !yield(l.Text, err) {
				return
			}
		}
	}
	last, err := f.build(after, from, rest, tail, true)
	if err != nil {
		return err
	}
	f.last = last
	return f.keep(last, true)
}

// build writes a new file of lines behind a record, the first of them at an
// offset, and of records that are sealed behind those, and puts it in place.
func (f *File) build(after ledger.Head, from int64, lines iter.Seq2[[]byte, error], tail []*ledger.Record,
	replace bool) (last kept, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".ledger-*") // readable by its owner alone
	if err != nil {
		return last, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	header := appendFileHeader(nil, after, 0)
	if from > 0 {
		header = appendFileHeader(nil, after, from-int64(len(header)))
	} else {
		from = int64(len(header))
	}
	w := bufio.NewWriterSize(tmp, 256<<10)
	w.Write(header) // its error is Flush's
	last = kept{after, 0, from}
	put := func(h ledger.Head, line []byte) {
		w.Write(line)
		w.WriteByte('\n')
		last = kept{h, last.end, last.end + int64(len(line)) + 1}
	}
	for line, err := range lines {
		if err != nil {
			return last, err
		}
		s, err := ledger.Unseal(line)
		if err != nil {
			s.Head = last.Head // verifying shows it
		}
		put(s.Head, line)
	}
	for _, r := range tail {
		d, err := r.Draft()
		if err != nil {
			return last, err
		}
		line := d.Seal(last.Head)
		put(r.Head(), line)
	}
	if err := errors.Join(w.Flush(), tmp.Sync()); err != nil {
		return last, err
	}
	return last, place(tmp.Name(), f.path, replace)
}

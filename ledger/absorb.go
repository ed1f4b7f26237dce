package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
)

// absorbBatch is how many records are taken in with one append.
const absorbBatch = 512

// Absorb takes what is in the spool into the store and returns how many records
// that were. Each is sealed into the store's chain and keeps its place in the
// spool's. A crash at any point loses nothing and duplicates nothing: what is
// in the store already is known by its place.
func Absorb(ctx context.Context, s *Spool, store Store) (int, error) {
	f, err := s.open(ctx, true)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	last, err := lastSpooled(ctx, store)
	if err != nil {
		return 0, err
	}
	n, end, err := s.takeIn(ctx, f, last, store)
	if err != nil || end == nil {
		return n, err
	}
	if s.dies("before the spool is emptied") {
		return n, errCrash
	}
	return n, s.create(*end, true)
}

// lastSpooled returns the last record that the store has from the spool.
func lastSpooled(ctx context.Context, store Reader) (h Head, err error) {
	for r, err := range store.Records(ctx, Query{Spooled: true, Limit: 1}) {
		if err != nil {
			return h, err
		}
		if r.Spool != nil {
			h = Head{r.Spool.Seq, r.Spool.Hash}
		}
	}
	return h, nil
}

// takeIn appends the records behind last to the store. It returns the end of
// the spool, or nil if that is empty.
func (s *Spool) takeIn(ctx context.Context, f *os.File, last Head, store Store) (n int, end *Head, err error) {
	found, err := hasLine(f, last)
	if err != nil {
		return 0, nil, err
	}
	var batch []*Record
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := store.Append(ctx, batch...)
		if err == nil {
			n += len(batch)
			batch = batch[:0]
			if s.dies("after a batch is in the store") {
				err = errCrash
			}
		}
		return err
	}
	after, err := firstHeader(f)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	for line, err := range spoolLines(f) {
		if err != nil {
			return n, nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		end = &after
		if h, err := headOfLine(line); err == nil {
			after = h
			if found {
				found = h != last
				continue
			}
		}
		r, err := spooledRecord(line)
		if err != nil {
			return n, nil, fmt.Errorf("%s: %w", s.Path, err)
		}
		if batch = append(batch, r); len(batch) == absorbBatch {
			if err := flush(); err != nil {
				return n, nil, err
			}
		}
	}
	if t, err := readTail(f); err == nil && t.torn != nil {
		batch, end = append(batch, spoolTorn(t.torn)), &after
	}
	return n, end, flush()
}

// hasLine tells whether the spool still has the given record: then everything
// up to it is in the store.
func hasLine(f *os.File, h Head) (bool, error) {
	if h.Seq == 0 {
		return false, nil
	}
	for line, err := range spoolLines(f) {
		if err != nil {
			return false, err
		}
		if l, err := headOfLine(line); err == nil && l == h {
			return true, nil
		}
	}
	return false, nil
}

// spooledRecord reads a line. One that nobody can read is kept as it is, in a
// record that says so.
func spooledRecord(line []byte) (*Record, error) {
	r, err := Decode(line)
	switch {
	case errors.Is(err, ErrNewer):
		return nil, err
	case err != nil:
		return NoRecord(line), nil
	}
	r.Spool = &Link{r.Seq, r.Prev, r.Hash}
	return r, nil
}

// spoolLines yields the whole lines of a locked spool behind its header; what a
// crash left behind the last is left out. A line is valid until the next one.
func spoolLines(f *os.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
		var long []byte
		for first := true; ; first = false {
			line, err := readLine(in, &long)
			if err == nil && first {
				_, err = readHeader(line)
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !first && !yield(line, nil) {
				return
			}
		}
	}
}

// readLine reads a line of bounded length; the end of the file in the middle of
// one is the end of the file.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	*long = (*long)[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if *long = append(*long, line...); len(*long) > 2*maxRecord {
			return nil, fmt.Errorf("%w: a line has more than %d bytes", ErrNotOurs, 2*maxRecord)
		}
		line, err = in.ReadSlice('\n')
	}
	*long = append(*long, line...)
	return *long, err
}

// Records yields what is in the spool, with each record's place in it. A spool
// that does not exist is empty.
func (s *Spool) Records(ctx context.Context) iter.Seq2[*Record, error] { return s.behind(ctx, Head{}) }

// Waiting yields what is in the spool and not yet in the store.
func (s *Spool) Waiting(ctx context.Context, store Reader) iter.Seq2[*Record, error] {
	last, err := lastSpooled(ctx, store)
	if err != nil {
		return func(yield func(*Record, error) bool) { yield(nil, err) }
	}
	return s.behind(ctx, last)
}

// behind yields what is in the spool behind a record, or all if that is not
// there.
func (s *Spool) behind(ctx context.Context, last Head) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		f, err := s.open(ctx, false)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield(nil, err)
			}
			return
		}
		defer f.Close()
		found, err := hasLine(f, last)
		if err != nil {
			yield(nil, err)
			return
		}
		for line, err := range spoolLines(f) {
			var r *Record
			if err == nil {
				r, err = spooledRecord(line)
			}
			if err == nil && found {
				found = r.Spool == nil || r.Spool.Hash != last.Hash
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Verify checks the spool's chain, and that it goes on where the store's
// records from it end. It returns how many records wait in it and what is wrong
// first.
func (s *Spool) Verify(ctx context.Context, store Verified) (waiting int, err error) {
	return s.verify(ctx, store, func(Head) {})
}

// verify does what Verify does, and hands out each record's place.
func (s *Spool) verify(ctx context.Context, store Verified, each func(Head)) (waiting int, err error) {
	f, err := s.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		if store.Spool.Seq > 0 {
			return 0, &Break{Seq: store.Spool.Seq + 1, What: "dropped", Msg: "the file is gone", Spool: true}
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head, err := firstHeader(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	met := head == store.Spool || store.Spool.Seq == 0 && store.First > 1
	for line, err := range spoolLines(f) {
		if err != nil {
			return waiting, fmt.Errorf("%s: %w", s.Path, err)
		}
		l, b := nextSpooled(head, line)
		if b != nil {
			return waiting, b
		}
		head = Head{l.Seq, l.Hash}
		waiting++
		each(head)
		if !met && head == store.Spool {
			met, waiting = true, 0 // up to here all was taken in before a crash
		}
	}
	if !met {
		return waiting, &Break{Seq: store.Spool.Seq + 1, What: "dropped", Msg: "it does not go on where the store's records from it end", Spool: true}
	}
	return waiting, nil
}

func firstHeader(f *os.File) (Head, error) {
	line, err := bufio.NewReader(io.NewSectionReader(f, 0, 4<<10)).ReadBytes('\n')
	if err != nil {
		return Head{}, fmt.Errorf("%w: it has no header", ErrNotOurs)
	}
	return readHeader(line)
}

// nextSpooled checks a line of the spool against what it follows.
func nextSpooled(head Head, line []byte) (sealed, *Break) {
	l, err := unseal(line)
	b := &Break{Seq: head.Seq + 1, What: "unreadable", Msg: errLine.Error()}
	if err == nil {
		b = follows(head, &l.Link)
	}
	if b == nil && !l.holds() {
		b = &Break{Seq: l.Seq, What: "edited", Msg: "its content does not have its hash"}
	}
	if b != nil {
		b.Spool = true
	}
	return l, b
}

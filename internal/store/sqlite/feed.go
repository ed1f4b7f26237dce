package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/obstat/obstat/internal/store/journal"
	"github.com/obstat/obstat/ledger"
)

const (
	// feedEvery is how often the journal is taken over while nobody asks.
	feedEvery = 50 * time.Millisecond
	// maxWaits is for how many of those times it waits for a moment of rest.
	maxWaits = 20
	// checkpointEvery is how often the write-ahead log is brought into the file.
	checkpointEvery = 2 * time.Second
	// rotateAt is how large a journal gets before it is started anew.
	rotateAt = 8 << 20
	// burst is how much may come at once before it is taken over beside the
	// writers, who notice that on a small machine.
	burst = 4 * rotateAt
	// littleLeft is how much is little enough to be taken over while all wait.
	littleLeft = 32 << 10
)

// A feeder is what is known of the journal on the database's side.
type feeder struct {
	in  journal.Reader
	fed ledger.Head // the end of the chain in the database, when it was last looked at
	max int64       // how large the journal gets; zero is rotateAt
}

// background takes the journal over and checkpoints beside the writers, who
// must not wait for either.
func (s *Store) background(ctx context.Context) {
	defer close(s.rested)
	feed, check := time.NewTicker(feedEvery), time.NewTicker(checkpointEvery)
	defer feed.Stop()
	defer check.Stop()
	for {
		select {
		case <-feed.C:
			if s.due() {
				s.feed(ctx)
			}
		case <-check.C:
			// It waits for nobody: what it cannot do now, it does next time.
			s.check.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		case <-ctx.Done():
			return
		}
	}
}

// due tells whether the journal is to be taken over now: there is something new,
// and either nobody is writing at the moment, or it has grown, or waited long.
func (s *Store) due() bool {
	if s.troubled() != nil {
		return true
	}
	quiet := !s.written.Swap(false)
	if quiet && s.waits == 0 {
		return false
	}
	if s.waits++; !quiet && s.waits < maxWaits && s.behind.Load() < burst {
		return false
	}
	s.waits = 0
	return true
}

// feed takes over what is in the journal, so that the database has everything
// that was acknowledged before the call.
func (s *Store) feed(ctx context.Context) error {
	if !journal.Supported {
		return nil
	}
	s.feeding.Lock()
	defer s.feeding.Unlock()
	err := s.feedNow(ctx)
	if err != nil {
		s.feeder.in.Rewind() // what was read may not have been taken
		s.trouble.Store(&err)
		return err
	}
	s.trouble.Store(nil)
	return nil
}

func (s *Store) feedNow(ctx context.Context) error {
	f := &s.feeder
	for tries := 0; ; tries++ {
		id, end, head, err := s.log.End(ctx)
		if err != nil {
			return err
		}
		if err := f.in.Open(id); err != nil {
			if tries < 8 && (errors.Is(err, journal.ErrReplaced) || errors.Is(err, fs.ErrNotExist)) {
				continue
			}
			return err
		}
		whole, taken := true, end-f.in.At()
		if taken != 0 || f.fed != head {
			if whole, err = s.take(f, end); err != nil {
				return err
			}
		}
		// Where another process was faster, the database is ahead of what was the
		// end a moment ago.
		ahead := f.fed.Seq > head.Seq && tries < 3
		// While it is started anew nobody can append: not before little is left.
		large, much := f.in.At() > cmp.Or(f.max, rotateAt), taken > littleLeft
		switch {
		case whole && (ahead || large && much && tries < 16):
			continue
		case !whole || f.fed != head || large && (!much || f.in.At() > maxBehind):
			return s.rotate(ctx, whole)
		}
		return nil
	}
}

// take takes over what the reader has before end. It is not whole where a line
// is no record, or there was another with the same number.
func (s *Store) take(f *feeder, end int64) (whole bool, err error) {
	whole = true
	for first := true; ; first = false {
		lines, more, err := f.in.Next(end)
		if err != nil || !more && !first {
			return whole, err
		}
		s.mu.Lock()
		err = s.transact(s.fast, func(tx *sql.Tx) error {
			ok, err := s.takeLines(tx, f, lines)
			whole = whole && ok
			return err
		})
		s.mu.Unlock()
		if err != nil {
			return whole, err
		}
	}
}

// takeLines inserts what of the lines is not in the database yet, as it is:
// what somebody edited in the journal shows as edited in the database.
func (s *Store) takeLines(tx *sql.Tx, f *feeder, lines [][]byte) (whole bool, err error) {
	have, err := headOf(tx)
	if err != nil {
		return false, err
	}
	whole = true
	in := s.inserter(tx)
	var r ledger.Record
	for _, line := range lines {
		line = line[:len(line)-1]
		switch err := ledger.ReadHeader(&r, line); {
		case errors.Is(err, ledger.ErrNewer):
			return false, err
		case err != nil:
			whole = false
			continue
		case r.Seq <= have.Seq:
			whole = whole && (r.Seq < have.Seq || r.Hash == have.Hash)
			continue
		}
		if err := in.add(&r, line); err != nil {
			return false, err
		}
		have = ledger.Head{Seq: r.Seq, Hash: r.Hash}
	}
	f.fed = have
	return whole, in.flush()
}

// rotate takes over the rest of the journal while nobody appends, makes it
// durable and starts the journal anew. whole tells whether what was taken over
// before was.
func (s *Store) rotate(ctx context.Context, whole bool) error {
	f := &s.feeder
	return s.log.Rotate(ctx, f.in.At()/2, func(id os.FileInfo, end int64, head ledger.Head) (ledger.Head, error) {
		if err := f.in.Open(id); err != nil {
			return head, err
		}
		rest, err := s.take(f, end)
		if err == nil && (!whole || !rest || f.fed != head) {
			err = s.mend(f, end)
		}
		if err == nil {
			err = s.wal.sync()
		}
		return f.fed, err
	})
}

// mend takes over what of a journal is not in the database although its place
// is taken: somebody put an older journal or database in place. Such records
// are sealed anew, behind one that says so.
func (s *Store) mend(f *feeder, end int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transact(s.fast, func(tx *sql.Tx) error {
		lost, err := strays(tx, f, end)
		if err != nil {
			return err
		}
		head, err := headOf(tx)
		if err != nil {
			return err
		}
		note := &ledger.Record{Kind: ledger.Spooled, Reason: fmt.Sprintf("the journal beside the database did not go on where the database ends; %d records of it were sealed anew", len(lost))}
		drafts := make([]*ledger.Draft, 0, len(lost)+1)
		for _, r := range append([]*ledger.Record{note}, lost...) {
			d, err := r.Draft()
			if err != nil {
				return err
			}
			drafts = append(drafts, d)
		}
		f.fed, err = s.seal(tx, head, drafts)
		return err
	})
}

// strays returns the records of a journal that the database does not have, and
// what else is in it.
func strays(tx *sql.Tx, f *feeder, end int64) (out []*ledger.Record, err error) {
	var first uint64
	if err := tx.QueryRow("SELECT coalesce(min(seq), 0) FROM records").Scan(&first); err != nil {
		return nil, err
	}
	f.in.Rewind()
	for {
		lines, more, err := f.in.Next(end)
		if err != nil || !more {
			return out, err
		}
		for _, line := range lines {
			r := new(ledger.Record)
			err := ledger.ReadHeader(r, line)
			if err == nil {
				r, err = ledger.Decode(line)
			}
			if errors.Is(err, ledger.ErrNewer) {
				return nil, err
			}
			if err != nil {
				out = append(out, ledger.NoRecord(line))
				continue
			}
			var same bool
			err = tx.QueryRow("SELECT body = ? FROM records WHERE seq = ?", line[:len(line)-1], int64(r.Seq)).Scan(&same)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				same = r.Seq < first // retention took it out
			case err != nil:
				return nil, err
			}
			if !same {
				out = append(out, r)
			}
		}
	}
}

package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/gofrs/flock"

	"github.com/obstat/obstat/ledger"
)

// Ledgers of before kept records in three places: in the database, in a journal
// beside it that the database took over from time to time (the same chain), and
// in a spool that hooks wrote to (a chain of its own, until a longer process
// sealed its records into the ledger's).

func journalOf(db string) string { return db + ".log" }
func spoolOf(db string) string   { return db + ".spool" }
func lockPath(db string) string  { return db + ".lock" }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// prepare takes over a ledger of before and, for a process that uses the
// database, makes the database file. Of several processes one does so.
func prepare(ctx context.Context, path string, f *ledger.File, database bool) error {
	left := exists(journalOf(path)) || exists(spoolOf(path))
	if !left && (exists(f.Path()) || !exists(path)) && (!database || exists(path)) {
		return nil
	}
	l := flock.New(lockPath(path), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return err
	}
	defer l.Close()
	if err := takeOver(ctx, path, f); err != nil {
		return fmt.Errorf("the ledger of before in %s cannot be taken over: %w", path, err)
	}
	if !database || exists(path) {
		return nil
	}
	// A write-ahead log without its database would be taken for that of the new
	// one.
	for _, old := range []string{path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	db, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	return db.Close()
}

// An older is the content of a ledger of before.
type older struct {
	own, spooled map[ledger.Hash]bool // hashes of the ledger's records, and those they had in a spool
	head         ledger.Head          // of the database's lines; zero where the file is there
	lines        [][]byte             // of the journal, which follow the database's
	records      []*ledger.Record     // to be sealed behind them
}

// takeOver makes the ledger file of a ledger of before, or appends the records that
// an old process wrote since. Records that are in the file are not written twice,
// so that a crash at any point loses nothing.
func takeOver(ctx context.Context, path string, f *ledger.File) error {
	for _, p := range []string{journalOf(path), spoolOf(path)} {
		if exists(p) {
			l := flock.New(p, flock.SetFlag(os.O_RDWR)) // processes of before wait for it
			if err := l.Lock(); err != nil {
				return err
			}
			defer l.Close()
		}
	}
	old, done, err := oldLines(ctx, path)
	if err != nil {
		return err
	}
	defer done()
	o := &older{own: map[ledger.Hash]bool{}, spooled: map[ledger.Hash]bool{}}
	if exists(f.Path()) {
		if err := o.file(f, old); err != nil {
			return err
		}
	} else {
		v, broken := ledger.VerifyLines(o.noting(old), ledger.Hash{})
		if o.head = v.Head; broken != nil {
			o.records = append(o.records, ledger.Broken("the ledger of before did not verify when it was taken over: "+broken.Error()))
		}
	}
	if err := errors.Join(o.readable(journalOf(path), o.journal), o.readable(spoolOf(path), o.spool)); err != nil {
		return err
	}
	switch n := len(o.own) + len(o.records); { // the journal's lines are among the own
	case exists(f.Path()):
		err = f.Append(ctx, o.records...)
	case n > 0:
		o.records = append(o.records, &ledger.Record{Kind: ledger.Start, Reason: fmt.Sprintf("a ledger of before was taken over: %d records", n)})
		err = f.Import(o.all(old), o.records)
	}
	if err != nil {
		return err
	}
	for _, p := range []string{journalOf(path), spoolOf(path)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readable reads a file. One that is something else is put aside, so that it
// stops no record, and the ledger says so.
func (o *older) readable(path string, read func(path string) error) error {
	err := read(path)
	if !errors.Is(err, ledger.ErrNotOurs) {
		return err
	}
	aside := path + ".unreadable"
	o.records = append(o.records, ledger.Broken(fmt.Sprintf("%v; it is kept as %s", err, aside)))
	return os.Rename(path, aside)
}

// file notes the records of a ledger file that is there: a process made it before
// this one came, or one died while it took over. Records of the database that are
// not in it are sealed anew.
func (o *older) file(f *ledger.File, old iter.Seq2[[]byte, error]) error {
	v, err := f.View()
	if err != nil {
		return err
	}
	defer v.Close()
	for l, err := range v.Lines(0) {
		if err != nil {
			return err
		}
		o.note(l.Text)
	}
	return o.take(old)
}

// oldLines returns the lines that a database of before has; one of now has none.
// All is read in one transaction: another process may bring the schema up to date
// meanwhile.
func oldLines(ctx context.Context, path string) (lines iter.Seq2[[]byte, error], done func(), err error) {
	none := func(func([]byte, error) bool) {}
	if st, err := os.Stat(path); err != nil || st.Size() == 0 {
		return none, func() {}, nil
	}
	db, err := open(path, 1, "FULL")
	if err != nil {
		return nil, nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, errors.Join(notOurs(err), db.Close())
	}
	done = func() { tx.Rollback(); db.Close() }
	var old bool
	if err := tx.QueryRowContext(ctx, "SELECT count(*) > 0 FROM pragma_table_info('records') WHERE name = 'body'").Scan(&old); err != nil {
		done()
		return nil, nil, notOurs(err)
	}
	if !old {
		return none, done, nil
	}
	return func(yield func([]byte, error) bool) {
		rows, err := tx.QueryContext(ctx, "SELECT body FROM records ORDER BY seq")
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var body []byte
			if err := rows.Scan(&body); !yield(body, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}, done, nil
}

// noting passes lines on and notes their hashes.
func (o *older) noting(lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		going := true // all are noted, whatever verifying makes of them
		for line, err := range lines {
			if err == nil {
				o.note(line)
			}
			if going = going && yield(line, err); err != nil {
				return
			}
		}
	}
}

func (o *older) note(line []byte) {
	if h, err := ledger.HeadOf(line); err == nil {
		o.own[h.Hash] = true
	}
	if !bytes.Contains(line, []byte(`,"spool":{"seq":`)) {
		return
	}
	var place ledger.Head
	if r, err := ledger.Decode(line); err == nil && json.Unmarshal(r.Spool, &place) == nil {
		o.spooled[place.Hash] = true
	}
}

// all yields the lines of the new file.
func (o *older) all(lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range lines {
			if !yield(line, err) {
				return
			}
		}
		for _, line := range o.lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// journal reads the records of the journal that the database does not have.
func (o *older) journal(path string) error { return o.take(linesOf(path, "log")) }

// take takes lines that are not in the ledger: those that follow its last record
// as they are, the others to be sealed anew.
func (o *older) take(lines iter.Seq2[[]byte, error]) error {
	for line, err := range lines {
		if err != nil {
			return err
		}
		r, rerr := ledger.Decode(line)
		switch {
		case errors.Is(rerr, ledger.ErrNewer):
			return rerr
		case rerr != nil:
			o.records = append(o.records, noRecord(line))
		case o.own[r.Hash] || o.spooled[r.Hash]:
		case o.head.Seq > 0 && r.Seq == o.head.Seq+1 && r.Prev == o.head.Hash && len(o.records) == 0:
			o.lines = append(o.lines, bytes.Clone(line))
			o.head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
			o.note(line)
		default:
			o.anew(r)
		}
	}
	return nil
}

// spool reads the records that wait in the spool.
func (o *older) spool(path string) error {
	var last ledger.Head
	for line, err := range linesOf(path, "spool") {
		if err != nil {
			return err
		}
		r, rerr := ledger.Decode(line)
		if errors.Is(rerr, ledger.ErrNewer) {
			return rerr
		}
		if rerr != nil {
			o.records = append(o.records, noRecord(line))
			continue
		}
		sum, serr := r.Sum()
		if serr != nil || sum != r.Hash || last.Seq > 0 && (r.Seq != last.Seq+1 || r.Prev != last.Hash) {
			o.records = append(o.records, ledger.Broken(fmt.Sprintf("record %d of the spool was edited, or records before it are gone", r.Seq)))
		}
		last = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		if !o.spooled[r.Hash] && !o.own[r.Hash] {
			o.anew(r)
		}
	}
	return nil
}

// anew has a record sealed behind the others; it keeps its former place.
func (o *older) anew(r *ledger.Record) {
	r.Spool = json.RawMessage(fmt.Sprintf(`{"seq":%d,"prev":"%s","hash":"%s"}`, r.Seq, r.Prev, r.Hash))
	o.spooled[r.Hash] = true
	o.records = append(o.records, r)
}

// noRecord keeps a line that is none.
func noRecord(line []byte) *ledger.Record {
	r := ledger.Broken("a line of the ledger of before is no record")
	r.Detail, _ = json.Marshal(string(line[:min(len(line), 64<<10)]))
	return r
}

// linesOf yields the whole lines of a journal or spool behind its header. A file
// that is not there has none.
func linesOf(path, kind string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		in := bufio.NewReader(f)
		for first := true; ; first = false {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) || err == nil && bytes.IndexByte(line, 0) >= 0 {
				return // a crash left part of a record that was never acknowledged
			}
			if err == nil && first {
				err = checkHeader(line, kind)
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", path, err))
				return
			}
			if !first && !yield(line[:len(line)-1], nil) {
				return
			}
		}
	}
}

// checkHeader reads the first line, {"log":1,...} or {"spool":1,...}.
func checkHeader(line []byte, kind string) error {
	var header map[string]any
	version, ok := 0.0, json.Unmarshal(line, &header) == nil
	if ok {
		version, ok = header[kind].(float64)
	}
	switch {
	case !ok || version < 1:
		return fmt.Errorf("%w: it has no header", ledger.ErrNotOurs)
	case version > 1:
		return ledger.ErrNewer
	}
	return nil
}

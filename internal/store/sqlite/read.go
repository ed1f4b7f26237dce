package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/store/journal"
	"github.com/obstat/obstat/ledger"
)

// Head returns the end of the chain.
func (s *Store) Head(ctx context.Context) (ledger.Head, error) {
	late := s.waiting(ctx)
	head, err := headOf(s.read)
	for line, werr := range late {
		if err == nil {
			err = werr
		}
		if err == nil {
			head, err = ledger.HeadOf(line)
		}
	}
	return head, err
}

// waiting takes the journal over, so that a query finds everything. Where the
// database cannot take it, it yields the lines that are not in it.
func (s *Store) waiting(ctx context.Context) iter.Seq2[[]byte, error] {
	if s.feed(ctx) == nil {
		return func(func([]byte, error) bool) {}
	}
	return func(yield func([]byte, error) bool) {
		have, err := headOf(s.read)
		if err != nil {
			yield(nil, err)
			return
		}
		for line, err := range journal.Lines(JournalPath(s.path)) {
			if err == nil {
				h, herr := ledger.HeadOf(line)
				if herr == nil && h.Seq <= have.Seq {
					continue
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// Records yields the records that q asks for, in the order of the chain.
func (s *Store) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		late, err := s.late(ctx, &q)
		if err != nil {
			yield(nil, err)
			return
		}
		if q.Limit > 0 && len(late) == q.Limit {
			yieldAll(late, yield)
			return
		}
		query, args := where(&q)
		rows, err := s.read.QueryContext(ctx, query, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var body []byte
			err := rows.Scan(&body)
			var r *ledger.Record
			if err == nil {
				r, err = ledger.Decode(body)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
			return
		}
		yieldAll(late, yield)
	}
}

func yieldAll(rs []*ledger.Record, yield func(*ledger.Record, error) bool) {
	for _, r := range rs {
		if !yield(r, nil) {
			return
		}
	}
}

// late returns what q asks for and only the journal has, and takes it off q's
// limit.
func (s *Store) late(ctx context.Context, q *ledger.Query) (out []*ledger.Record, err error) {
	for line, err := range s.waiting(ctx) {
		if err != nil {
			return nil, err
		}
		r, err := ledger.Decode(line)
		if err != nil {
			return nil, err
		}
		if q.Matches(r) {
			out = append(out, r)
		}
	}
	if q.Limit > 0 {
		out = out[max(0, len(out)-q.Limit):]
		if len(out) < q.Limit {
			q.Limit -= len(out)
		}
	}
	return out, nil
}

// Lines yields every record as the line it was sealed as, and makes sure that
// the columns which queries look at say what the line says. Several connections
// read ahead, a stretch of the chain each.
func (s *Store) Lines(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var late [][]byte // before the rest is looked at, so that nothing comes in between
		for line, err := range s.waiting(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			late = append(late, bytes.Clone(line))
		}
		var first, last int64
		err := s.read.QueryRowContext(ctx, "SELECT coalesce(min(seq), 0), coalesce(max(seq), -1) FROM records").Scan(&first, &last)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		// As many stretches are under way as fit; they are handed on in order.
		ahead := make(chan chan stretch, readers-1)
		free := make(chan []byte, 2*readers) // room that was used before
		go func() {
			defer close(ahead)
			for from := first; from <= last; from += stretchLen {
				out := make(chan stretch, 1)
				select {
				case ahead <- out:
					go s.readStretch(ctx, from, min(from+stretchLen-1, last), out, free)
				case <-ctx.Done():
					return
				}
			}
		}()
		for out := range ahead {
			for st := range out {
				if !st.yield(yield) {
					return
				}
				select {
				case free <- st.text[:0]:
				default:
				}
			}
		}
		for _, line := range late {
			if !yield(line, nil) {
				return
			}
		}
	}
}

const (
	readers    = 3    // that read ahead; one connection is left for others
	stretchLen = 2048 // records
	pieceLen   = 1 << 20
)

// A stretch is a piece of the chain: lines, one behind the other, and what
// stopped it.
type stretch struct {
	text []byte
	ends []int
	err  error
}

func (st *stretch) yield(yield func([]byte, error) bool) bool {
	at := 0
	for _, end := range st.ends {
		if !yield(st.text[at:end], nil) {
			return false
		}
		at = end
	}
	if st.err != nil {
		yield(nil, st.err)
	}
	return st.err == nil
}

// readStretch sends a part of the chain in pieces of a bearable size.
func (s *Store) readStretch(ctx context.Context, from, to int64, out chan<- stretch, free <-chan []byte) {
	defer close(out)
	empty := func() stretch {
		select {
		case b := <-free:
			return stretch{text: b}
		default:
			return stretch{text: make([]byte, 0, pieceLen+64<<10)}
		}
	}
	st := empty()
	send := func() bool {
		select {
		case out <- st:
			st = empty()
			return true
		case <-ctx.Done():
			return false
		}
	}
	rows, err := s.read.QueryContext(ctx, linesSQL, from, to)
	if err != nil {
		st.err = err
		send()
		return
	}
	defer rows.Close()
	c := columns{s: s}
	for rows.Next() {
		line, err := c.read(rows)
		if err != nil {
			st.err = err
			send()
			return
		}
		st.text = append(st.text, line...)
		st.ends = append(st.ends, len(st.text))
		if len(st.text) > pieceLen && !send() {
			return
		}
	}
	st.err = rows.Err()
	send()
}

// columns are a row of the table of records: asking SQLite for a column costs
// more than what is in it, so they come in one, with a separator between them
// that hardly any text has.
type columns struct {
	s            *Store
	joined, body sql.RawBytes
	header       []byte
	r            ledger.Record
}

const (
	separator = "\x1f"
	linesSQL  = "SELECT cast(seq || ' ' || time || ' ' || spool || '" + separator + "' || kind || '" + separator + "' || agent || '" + separator + "' || session || '" +
		separator + "' || tool || '" + separator + "' || verdict || '" + separator + "' || rule AS BLOB), body FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq"
)

// read reads a row and returns its line; columns that say something else are
// the sign of an edit.
func (c *columns) read(rows *sql.Rows) ([]byte, error) {
	if err := rows.Scan(&c.joined, &c.body); err != nil {
		return nil, err
	}
	spool, ok := c.split()
	if c.header = ledger.AppendHeader(c.header[:0], &c.r); !ok || !bytes.HasPrefix(c.body, c.header) || spool != ledger.FromSpool(c.body) {
		return nil, &ledger.Break{Seq: c.r.Seq, What: "edited", Msg: "its columns do not say what it says"}
	}
	return c.body, nil
}

// split takes the columns apart.
func (c *columns) split() (spool, ok bool) {
	numbers, text, _ := strings.Cut(string(c.joined), separator)
	var n [3]int64 // seq, time, spool
	for i := range n {
		number, rest, _ := strings.Cut(numbers, " ")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return false, false
		}
		n[i], numbers = v, rest
	}
	c.r.Seq, c.r.Time = uint64(n[0]), time.Unix(0, n[1])
	var kind string
	fields := [...]*string{&kind, &c.r.Agent, &c.r.Session, &c.r.Tool, &c.r.Verdict, &c.r.Rule}
	if strings.Count(text, separator) != len(fields)-1 {
		err := c.s.read.QueryRow("SELECT kind, agent, session, tool, verdict, rule FROM records WHERE seq = ?", n[0]).
			Scan(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5])
		c.r.Kind = ledger.Kind(kind)
		return n[2] == 1, err == nil
	}
	for _, field := range fields {
		*field, text, _ = strings.Cut(text, separator)
	}
	c.r.Kind = ledger.Kind(kind)
	return n[2] == 1, true
}

// where turns a Query into SQL.
func where(q *ledger.Query) (string, []any) {
	conds, args := []string{"seq > ?"}, []any{int64(q.After)}
	add := func(cond string, arg any) {
		conds, args = append(conds, cond), append(args, arg)
	}
	if !q.Since.IsZero() {
		add("time >= ?", q.Since.UnixNano())
	}
	if !q.Until.IsZero() {
		add("time < ?", q.Until.UnixNano())
	}
	for col, v := range map[string]string{"kind": string(q.Kind), "agent": q.Agent, "session": q.Session, "tool": q.Tool, "verdict": q.Verdict, "rule": q.Rule} {
		if v != "" {
			add(col+" = ?", v)
		}
	}
	if q.Spooled {
		conds = append(conds, "spool = 1")
	}
	text := "SELECT body FROM records WHERE " + strings.Join(conds, " AND ")
	if q.Limit > 0 {
		text = "SELECT body FROM (SELECT seq, body FROM records WHERE " + strings.Join(conds, " AND ") + " ORDER BY seq DESC LIMIT ?)"
		args = append(args, q.Limit)
	}
	return text + " ORDER BY seq", args
}

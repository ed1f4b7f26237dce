package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"strings"

	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// Head returns the end of the chain.
func (s *Store) Head(ctx context.Context) (ledger.Head, error) { return s.log.Head(ctx) }

// Records yields the records that q asks for, in the order of the chain. Where
// the index cannot be brought up to date, all of the file is read.
func (s *Store) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		if err := s.catchUp(ctx); err != nil {
			if ctx.Err() != nil || errors.Is(err, ledger.ErrNewer) {
				yield(nil, err)
				return
			}
			s.log.Records(ctx, q)(yield)
			return
		}
		v, err := s.log.View()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer v.Close()
		query, args := RecordsQuery(&q)
		rows, err := s.read.QueryContext(ctx, query, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			r, err := read(rows, v)
			if errors.Is(err, logfile.ErrTrimmed) {
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// read returns the record of a row. One that was edited is shown as it is:
// verifying tells.
func read(rows *sql.Rows, v *logfile.View) (*ledger.Record, error) {
	var at int64
	if err := rows.Scan(&at); err != nil {
		return nil, err
	}
	line, err := v.LineAt(at)
	var b *ledger.Break
	if err != nil && !errors.As(err, &b) {
		return nil, err
	}
	r, err := ledger.Decode(line)
	if err == nil {
		r.Offset = at
	}
	return r, err
}

// RecordsQuery turns a query into SQL that selects offsets.
func RecordsQuery(q *ledger.Query) (string, []any) {
	conds, args := []string{"seq > ?"}, []any{int64(q.After)}
	add := func(cond string, arg any) {
		conds, args = append(conds, cond), append(args, arg)
	}
	if q.Seq > 0 {
		add("seq = ?", int64(q.Seq))
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
	text := "SELECT at FROM records WHERE " + strings.Join(conds, " AND ")
	if q.Limit > 0 {
		// A page of a span alone is read from the index of times, which ends with it; by seq, all of the span is sorted.
		order := "seq DESC"
		if q.Kind == "" && q.Agent+q.Session+q.Tool+q.Verdict+q.Rule == "" && !(q.Since.IsZero() && q.Until.IsZero()) {
			order = "time DESC, seq DESC"
		}
		text = "SELECT at FROM (SELECT seq, at FROM records WHERE " + strings.Join(conds, " AND ") + " ORDER BY " + order + " LIMIT ?)"
		args = append(args, q.Limit)
	}
	return text + " ORDER BY seq", args
}

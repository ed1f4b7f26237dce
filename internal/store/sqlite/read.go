package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"iter"
	"strings"
	"time"

	"github.com/obstat/obstat/ledger"
)

// Head returns the end of the chain.
func (s *Store) Head(context.Context) (ledger.Head, error) { return headOf(s.read) }

// Records yields the records that q asks for, in the order of the chain.
func (s *Store) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
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
		}
	}
}

// Lines yields every record as the line it was sealed as, and makes sure that
// the columns which queries look at say what the line says.
func (s *Store) Lines(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rows, err := s.read.QueryContext(ctx, "SELECT seq, time, kind, agent, session, tool, verdict, rule, spool, body FROM records ORDER BY seq")
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		var c columns
		for rows.Next() {
			line, err := c.read(rows)
			if !yield(line, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// columns are a row of the table of records.
type columns struct {
	seq                                       int64
	nanos                                     int64
	kind, agent, session, tool, verdict, rule sql.RawBytes
	spool                                     bool
	body                                      sql.RawBytes
	header                                    []byte
}

// read reads a row and returns its line; columns that say something else are
// the sign of an edit.
func (c *columns) read(rows *sql.Rows) ([]byte, error) {
	if err := rows.Scan(&c.seq, &c.nanos, &c.kind, &c.agent, &c.session, &c.tool, &c.verdict, &c.rule, &c.spool, &c.body); err != nil {
		return nil, err
	}
	c.header = ledger.AppendHeader(c.header[:0], &ledger.Record{Seq: uint64(c.seq), Time: time.Unix(0, c.nanos), Kind: ledger.Kind(c.kind), Agent: string(c.agent),
		Session: string(c.session), Tool: string(c.tool), Verdict: string(c.verdict), Rule: string(c.rule)})
	if !bytes.HasPrefix(c.body, c.header) || c.spool != ledger.FromSpool(c.body) {
		return nil, &ledger.Break{Seq: uint64(c.seq), What: "edited", Msg: "its columns do not say what it says"}
	}
	return c.body, nil
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

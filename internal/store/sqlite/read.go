package sqlite

import (
	"context"
	"iter"
	"strings"

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
	sql := "SELECT body FROM records WHERE " + strings.Join(conds, " AND ")
	if q.Limit > 0 {
		sql = "SELECT body FROM (SELECT seq, body FROM records WHERE " + strings.Join(conds, " AND ") + " ORDER BY seq DESC LIMIT ?)"
		args = append(args, q.Limit)
	}
	return sql + " ORDER BY seq", args
}

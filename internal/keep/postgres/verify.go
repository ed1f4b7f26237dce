package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/ledger"
)

// anchor writes the heads of the other chains to this one, so that a chain that is
// shortened or gone later can be told.
func (s *Store) anchor(ctx context.Context) error {
	own, _, err := s.own(ctx)
	if err != nil {
		return err
	}
	chains, err := s.chains(ctx)
	if err != nil {
		return err
	}
	a := ledger.Anchors{Chain: own, Heads: map[string]ledger.Head{}}
	for _, name := range chains {
		if name == own {
			continue
		}
		head, err := s.headOf(ctx, name)
		if err != nil {
			return err
		}
		if head.Seq > 0 {
			a.Heads[name] = head
		}
	}
	if len(a.Heads) == 0 {
		return nil
	}
	detail, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return s.Append(ctx, &ledger.Record{Time: s.Now(), Kind: ledger.Anchor, Detail: detail, Reason: fmt.Sprintf("the ends of the chains of %d other replicas", len(a.Heads))})
}

// chains returns the names of all chains that have records.
func (s *Store) chains(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT DISTINCT chain FROM obstat_records ORDER BY chain")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Verify verifies the chains of all replicas, and that each of them has the records that the
// others know of it. The head may be in any of them. The result is about this
// process's chain, or about the first where it has none, as `obstat log verify`.
func (s *Store) Verify(ctx context.Context, head ledger.Hash, known ...ledger.Head) (ledger.Verified, error) {
	own, heads := s.has(), map[string][]ledger.Head{}
	if own != "" {
		heads[own] = known
	}
	for r, err := range s.Records(ctx, ledger.Query{Kind: ledger.Anchor}) {
		if err != nil {
			return ledger.Verified{}, err
		}
		for name, h := range r.Anchors().Heads {
			heads[name] = append(heads[name], h)
		}
	}
	chains, err := s.chains(ctx)
	if err != nil {
		return ledger.Verified{}, err
	}
	for _, name := range chains {
		heads[name] = append(heads[name], ledger.Head{})
	}
	var out, total ledger.Verified
	found := head == ledger.Hash{}
	for i, name := range slices.Sorted(maps.Keys(heads)) {
		v, err := ledger.Verify(watch(s.lines(ctx, name), head, &found), ledger.Hash{}, heads[name]...)
		if err != nil {
			return v, fmt.Errorf("the chain of replica %s: %w", name, err)
		}
		if total.Add(&v); i == 0 || name == own {
			out = v
		}
	}
	out.Records, out.Foreign = total.Records, total.Foreign
	if !found {
		return out, &ledger.Break{Seq: out.Head.Seq, What: "truncated", Msg: "the record with the expected head is not there"}
	}
	return out, nil
}

// watch yields the lines, and sets found where one of them is that of the head.
func watch(lines iter.Seq2[[]byte, error], head ledger.Hash, found *bool) iter.Seq2[[]byte, error] {
	text := []byte(head.String())
	return func(yield func([]byte, error) bool) {
		for line, err := range lines {
			if err == nil && !*found && bytes.Contains(line, text) {
				r, err := ledger.Decode(line)
				*found = err == nil && r.Hash == head
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// lines yields the sealed records of a chain.
func (s *Store) lines(ctx context.Context, chain string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rows, err := s.pool.Query(ctx, "SELECT line FROM obstat_records WHERE chain = $1 ORDER BY seq", chain)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var line []byte
			if err := rows.Scan(&line); !yield(line, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

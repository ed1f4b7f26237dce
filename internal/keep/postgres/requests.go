package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// PutRequest adds a pending request, together with others that are put at the same
// time.
func (s *Store) PutRequest(ctx context.Context, r *approval.Request) error {
	return s.PutRecorded(ctx, r)
}

// PutRecorded adds a pending request and records about it, in one commit.
func (s *Store) PutRecorded(ctx context.Context, r *approval.Request, records ...*ledger.Record) error {
	j, err := newJob(records)
	if err != nil {
		return err
	}
	c := *r
	c.State = approval.Pending
	j.request = &c
	if j.body, err = json.Marshal(&c); err != nil {
		return err
	}
	return s.do(ctx, j)
}

// window is how far behind its cursor a reader looks again: rows that get their
// time first may be committed last.
const window = 5 * time.Second

// Requests returns the requests that q asks for, oldest first.
func (s *Store) Requests(ctx context.Context, q approval.Query) ([]*approval.Request, error) {
	order, where, args := "n", []string{"TRUE"}, []any(nil)
	filter := func(condition string, arg any) { // one column a question: a plan for any is slow
		args = append(args, arg)
		where = append(where, condition+" $"+strconv.Itoa(len(args)))
	}
	if q.State != "" {
		filter("state =", string(q.State))
	}
	if q.Group != "" {
		filter("grouped =", []byte(q.Group))
	}
	if q.After > 0 {
		order = "changed"
		back := window
		if q.Late > 0 {
			back = min(back, q.Late)
		}
		filter("changed >", q.After-back.Microseconds())
		filter("changed <", int64(math.MaxInt64)) // of a range without an end the planner expects a third of the table, and reads all of it
	}
	text := "WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order + " DESC"
	if q.Limit > 0 {
		args = append(args, q.Limit)
		text += " LIMIT $" + strconv.Itoa(len(args))
	}
	out, err := s.requests(ctx, q.Told, text, args...)
	slices.Reverse(out)
	return out, err
}

// requests returns rows, without those that told knows; nil: all.
func (s *Store) requests(ctx context.Context, told func(string, int) bool, where string, args ...any) (out []*approval.Request, err error) {
	rows, err := s.pool.Query(ctx, "SELECT id, changed, version, body FROM obstat_requests "+where, args...)
	if err != nil {
		return nil, err
	}
	var id, body pgtype.DriverBytes // the connection's own bytes, which hold until the next row
	var changed int64
	var version int
	_, err = pgx.ForEachRow(rows, []any{&id, &changed, &version, &body}, func() error {
		if told != nil && told(string(id), version) {
			return nil
		}
		r := new(approval.Request)
		err := json.Unmarshal(body, r)
		r.Changed, r.Version = changed, version
		out = append(out, r)
		return err
	})
	return out, err
}

// Request returns one request.
func (s *Store) Request(ctx context.Context, id string) (*approval.Request, error) {
	rs, err := s.requests(ctx, nil, "WHERE id = $1", []byte(id))
	if err == nil && len(rs) == 0 {
		err = fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return rs[0], nil
}

// Update replaces a request that is still as it was read: a conditional
// UPDATE, with its grant in the same transaction.
func (s *Store) Update(ctx context.Context, r *approval.Request, grant *approval.Grant) error {
	next := *r
	next.Version++
	body, err := json.Marshal(&next)
	if err != nil {
		return err
	}
	rows := int64(0)
	err = retry(ctx, func() (err error) {
		rows, err = s.update(ctx, &next, body, grant)
		return err
	})
	if lost(err) {
		// Whether it was committed is not known: read it again.
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		var now []byte
		if s.pool.QueryRow(again, "SELECT body FROM obstat_requests WHERE id = $1", []byte(r.ID)).Scan(&now) == nil && bytes.Equal(now, body) {
			rows, err = 1, nil
		}
	}
	switch {
	case err != nil:
		return err
	case rows == 0:
		if _, err := s.Request(ctx, r.ID); err != nil {
			return err
		}
		return fmt.Errorf("%q: %w", r.ID, approval.ErrChanged)
	}
	r.Version++
	return nil
}

// updateRequest replaces a request, and addGrant does so together with adding a grant.
const (
	updateRequest = "UPDATE obstat_requests SET state = $2, version = $3, changed = " + micros + ", body = $4 WHERE id = $1 AND version = $3 - 1"
	addGrant      = "WITH changed AS (" + updateRequest + " RETURNING id) INSERT INTO obstat_grants (id, expires, revoked, body) SELECT $5, $6, 0, $7 FROM changed"
)

// update replaces a request, and returns how many were: one or none.
func (s *Store) update(ctx context.Context, r *approval.Request, body []byte, grant *approval.Grant) (int64, error) {
	query, args := updateRequest, []any{[]byte(r.ID), string(r.State), r.Version, body}
	if grant != nil {
		text, err := json.Marshal(grant)
		if err != nil {
			return 0, err
		}
		query, args = addGrant, append(args, []byte(grant.ID), nanos(grant.Expires), text)
	}
	if r.State == approval.Approved || r.State == approval.Refused { // the asker waits for that
		return s.execTelling(ctx, query, args...)
	}
	return s.exec(ctx, query, args...)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Grants returns the grants in force at a time.
func (s *Store) Grants(ctx context.Context, now time.Time) ([]*approval.Grant, error) {
	rows, err := s.pool.Query(ctx, "SELECT body FROM obstat_grants WHERE revoked = 0 AND (expires = 0 OR expires > $1) ORDER BY n", now.UnixNano())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*approval.Grant, error) {
		g, body := new(approval.Grant), []byte(nil)
		if err := row.Scan(&body); err != nil {
			return nil, err
		}
		return g, json.Unmarshal(body, g)
	})
}

// Revoke ends a grant.
func (s *Store) Revoke(ctx context.Context, id string, now time.Time) error {
	tag, err := s.pool.Exec(ctx, "UPDATE obstat_grants SET revoked = $2 WHERE id = $1 AND revoked = 0 AND (expires = 0 OR expires > $2)", []byte(id), now.UnixNano())
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	return err
}

// Doc returns one document.
func (s *Store) Doc(ctx context.Context, kind, id string) (*docs.Doc, error) {
	d := &docs.Doc{Kind: kind, ID: id}
	err := s.pool.QueryRow(ctx, "SELECT version, body FROM obstat_docs WHERE kind = $1 AND id = $2", []byte(kind), []byte(id)).Scan(&d.Version, (*[]byte)(&d.Body))
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%s %q: %w", kind, id, docs.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Docs returns the documents of a kind, by ID.
func (s *Store) Docs(ctx context.Context, kind string) ([]*docs.Doc, error) {
	rows, err := s.pool.Query(ctx, "SELECT id, version, body FROM obstat_docs WHERE kind = $1 ORDER BY id", []byte(kind))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*docs.Doc, error) {
		d, id := &docs.Doc{Kind: kind}, []byte(nil)
		err := row.Scan(&id, &d.Version, (*[]byte)(&d.Body))
		d.ID = string(id)
		return d, err
	})
}

// PutDoc adds, replaces or deletes a document that is still as it was read.
func (s *Store) PutDoc(ctx context.Context, d *docs.Doc) error {
	query, args := "UPDATE obstat_docs SET version = version + 1, body = $4 WHERE kind = $1 AND id = $2 AND version = $3", []any{[]byte(d.Kind), []byte(d.ID), d.Version, []byte(d.Body)}
	switch {
	case d.Body == nil:
		query, args = "DELETE FROM obstat_docs WHERE kind = $1 AND id = $2 AND version = $3", args[:3]
	case d.Version == 0:
		query, args = "INSERT INTO obstat_docs (kind, id, version, body) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING", []any{args[0], args[1], args[3]}
	}
	rows := int64(0)
	err := retry(ctx, func() (err error) {
		rows, err = s.exec(ctx, query, args...)
		return err
	})
	switch {
	case err != nil:
		return err
	case rows == 0:
		return fmt.Errorf("%s %q: %w", d.Kind, d.ID, docs.ErrChanged)
	}
	d.Version++
	return nil
}

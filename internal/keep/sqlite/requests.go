package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// PutRequest adds a pending request.
func (s *Store) PutRequest(ctx context.Context, r *approval.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *r
	c.State = approval.Pending
	err := s.transact(ctx, s.write, func(tx *sql.Tx) error { return putRequest(tx, &c, "INSERT") })
	if isCode(err, codeConstraint) {
		err = fmt.Errorf("%q: %w", r.ID, approval.ErrExists)
	}
	return err
}

func putRequest(tx *sql.Tx, r *approval.Request, insert string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insert+" INTO requests (id, n, state, grouped, changed, body) VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM requests), ?, ?, "+nextChange+", ?)",
		r.ID, string(r.State), r.Group, body)
	return err
}

// nextChange is the cursor of a change: writers take turns, so that cursors are in
// the order of commits. It is above 1, which stands for the beginning.
const nextChange = "(SELECT coalesce(max(changed), 1) + 1 FROM requests)"

// Requests returns the requests that q asks for, oldest first.
func (s *Store) Requests(ctx context.Context, q approval.Query) ([]*approval.Request, error) {
	order, limit := "n", q.Limit
	if q.After > 0 {
		order = "changed"
	}
	if limit <= 0 {
		limit = -1
	}
	out, err := requests(ctx, s.read, "(? = '' OR state = ?) AND (? = '' OR grouped = ?) AND changed > ? ORDER BY "+order+" DESC LIMIT ?",
		string(q.State), string(q.State), q.Group, q.Group, q.After, limit)
	slices.Reverse(out)
	return out, err
}

// requests returns the requests that a condition is about.
func requests(ctx context.Context, db lister, where string, args ...any) (out []*approval.Request, err error) {
	err = each(ctx, db, func(rows *sql.Rows) error {
		r, body := new(approval.Request), []byte(nil)
		if err := rows.Scan(&r.Changed, &body); err != nil {
			return err
		}
		out = append(out, r)
		return json.Unmarshal(body, r)
	}, "SELECT changed, body FROM requests WHERE "+where, args...)
	return out, err
}

// A lister is a database or a transaction.
type lister interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each has the rows that a query returns read one by one.
func each(ctx context.Context, db lister, read func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Request returns one request.
func (s *Store) Request(ctx context.Context, id string) (*approval.Request, error) {
	rs, err := requests(ctx, s.read, "id = ?", id)
	if err == nil && len(rs) == 0 {
		err = fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return rs[0], nil
}

// Update replaces a request that is still as it was read, with its grant in
// the same transaction.
func (s *Store) Update(ctx context.Context, r *approval.Request, grant *approval.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.transact(ctx, s.write, func(tx *sql.Tx) error {
		rs, err := requests(ctx, tx, "id = ?", r.ID)
		switch {
		case err != nil:
			return err
		case len(rs) == 0:
			return fmt.Errorf("%q: %w", r.ID, approval.ErrNotFound)
		case rs[0].Version != r.Version:
			return fmt.Errorf("%q: %w", r.ID, approval.ErrChanged)
		}
		next := *r
		next.Version++
		return errors.Join(update(tx, &next), put(tx, grant))
	})
	if err != nil {
		return err
	}
	r.Version++
	if grant != nil {
		s.mark()
	}
	return nil
}

func update(tx *sql.Tx, r *approval.Request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE requests SET state = ?, changed = "+nextChange+", body = ? WHERE id = ?", string(r.State), body, r.ID)
	return err
}

func put(tx *sql.Tx, g *approval.Grant) error {
	if g == nil {
		return nil
	}
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO grants (id, expires, revoked, body) VALUES (?, ?, 0, ?)", g.ID, nanos(g.Expires), body)
	return err
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Grants returns the grants in force at a time.
func (s *Store) Grants(ctx context.Context, now time.Time) ([]*approval.Grant, error) {
	out, err := s.grants(ctx, now)
	if err == nil && len(out) == 0 {
		s.unmark(ctx)
	}
	return out, err
}

func (s *Store) grants(ctx context.Context, now time.Time) ([]*approval.Grant, error) {
	var out []*approval.Grant
	err := each(ctx, s.read, func(rows *sql.Rows) error {
		g, body := new(approval.Grant), []byte(nil)
		if err := rows.Scan(&body); err != nil {
			return err
		}
		out = append(out, g)
		return json.Unmarshal(body, g)
	}, "SELECT body FROM grants WHERE revoked = 0 AND (expires = 0 OR expires > ?) ORDER BY rowid", now.UnixNano())
	return out, err
}

// mark makes the file that tells of grants in the database. Where it cannot be
// made, a person is asked once more.
func (s *Store) mark() {
	if f, err := os.OpenFile(statedir.Grants(s.path), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// unmark removes it where no grant is in force any more. A process that grants
// meanwhile marks after its grant, so that one of the two looks last.
func (s *Store) unmark(ctx context.Context) {
	if _, err := os.Lstat(statedir.Grants(s.path)); err != nil {
		return
	}
	if out, err := s.grants(ctx, time.Now()); err != nil || len(out) > 0 {
		return
	}
	_ = os.Remove(statedir.Grants(s.path))
	if out, err := s.grants(ctx, time.Now()); err != nil || len(out) > 0 {
		s.mark()
	}
}

// Revoke ends a grant.
func (s *Store) Revoke(ctx context.Context, id string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	res, err := s.write.ExecContext(ctx, "UPDATE grants SET revoked = ? WHERE id = ? AND revoked = 0 AND (expires = 0 OR expires > ?)", now.UnixNano(), id, now.UnixNano())
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("%q: %w", id, approval.ErrNotFound))
	}
	s.unmark(ctx)
	return nil
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/statedir"
)

// PutRequest adds a pending request.
func (s *Store) PutRequest(ctx context.Context, r *approval.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *r
	c.State = approval.Pending
	return s.transact(ctx, s.write, func(tx *sql.Tx) error { return putRequest(tx, &c, "INSERT") })
}

func putRequest(tx *sql.Tx, r *approval.Request, insert string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insert+" INTO requests (id, n, state, body) VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM requests), ?, ?)", r.ID, string(r.State), body)
	return err
}

// Requests returns the requests in a state, oldest first.
func (s *Store) Requests(ctx context.Context, state approval.State) ([]*approval.Request, error) {
	query, args := "SELECT body FROM requests ORDER BY n", []any(nil)
	if state != "" {
		query, args = "SELECT body FROM requests WHERE state = ? ORDER BY n", []any{string(state)}
	}
	return list[approval.Request](ctx, s.read, query, args...)
}

// A lister is a database or a transaction.
type lister interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list decodes the bodies that a query returns.
func list[T any](ctx context.Context, db lister, query string, args ...any) ([]*T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*T
	for rows.Next() {
		var body []byte
		v := new(T)
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Request returns one request.
func (s *Store) Request(ctx context.Context, id string) (*approval.Request, error) {
	rs, err := list[approval.Request](ctx, s.read, "SELECT body FROM requests WHERE id = ?", id)
	if err == nil && len(rs) == 0 {
		err = fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return rs[0], nil
}

// Settle changes a pending request's state, once, with its grant in the same
// transaction.
func (s *Store) Settle(ctx context.Context, id string, to approval.State, answers []approval.Answer, grant *approval.Grant) error {
	err := s.change(ctx, id, approval.Pending, func(tx *sql.Tx, r *approval.Request) error {
		if r.State, r.Answers = to, answers; to != approval.Approved {
			r = r.Spent()
		}
		return errors.Join(update(tx, r), put(tx, grant))
	})
	if err == nil && grant != nil {
		s.mark()
	}
	return err
}

// Use returns an approved request, once.
func (s *Store) Use(ctx context.Context, id string) (whole *approval.Request, err error) {
	err = s.change(ctx, id, approval.Approved, func(tx *sql.Tx, r *approval.Request) error {
		whole = r
		spent := r.Spent()
		spent.State = approval.Used
		return update(tx, spent)
	})
	if err != nil {
		return nil, err
	}
	return whole, nil
}

// Note keeps answers to a request that stays pending.
func (s *Store) Note(ctx context.Context, id string, had int, answers []approval.Answer) error {
	return s.change(ctx, id, approval.Pending, func(tx *sql.Tx, r *approval.Request) error {
		if len(r.Answers) != had {
			return fmt.Errorf("%q: %w", id, approval.ErrSettled)
		}
		r.Answers = answers
		return update(tx, r)
	})
}

// change changes a request that is in a state, in a transaction of its own.
func (s *Store) change(ctx context.Context, id string, from approval.State, change func(*sql.Tx, *approval.Request) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transact(ctx, s.write, func(tx *sql.Tx) error {
		rs, err := list[approval.Request](ctx, tx, "SELECT body FROM requests WHERE id = ?", id)
		switch {
		case err != nil:
			return err
		case len(rs) == 0:
			return fmt.Errorf("%q: %w", id, approval.ErrNotFound)
		case rs[0].State != from:
			return fmt.Errorf("%q: %w", id, approval.ErrSettled)
		}
		return change(tx, rs[0])
	})
}

func update(tx *sql.Tx, r *approval.Request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE requests SET state = ?, body = ? WHERE id = ?", string(r.State), body, r.ID)
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
	return list[approval.Grant](ctx, s.read, "SELECT body FROM grants WHERE revoked = 0 AND (expires = 0 OR expires > ?) ORDER BY rowid", now.UnixNano())
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

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/obstat/obstat/internal/keep/docs"
)

// Doc returns one document.
func (s *Store) Doc(ctx context.Context, kind, id string) (*docs.Doc, error) {
	out, err := documents(ctx, s.read, "kind = ? AND id = ?", kind, id)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s %q: %w", kind, id, docs.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Docs returns the documents of a kind, by ID.
func (s *Store) Docs(ctx context.Context, kind string) ([]*docs.Doc, error) {
	return documents(ctx, s.read, "kind = ? ORDER BY id", kind)
}

func documents(ctx context.Context, db lister, where string, args ...any) (out []*docs.Doc, err error) {
	err = each(ctx, db, func(rows *sql.Rows) error {
		d := new(docs.Doc)
		out = append(out, d)
		return rows.Scan(&d.Kind, &d.ID, &d.Version, (*[]byte)(&d.Body))
	}, "SELECT kind, id, version, body FROM docs WHERE "+where, args...)
	return out, err
}

// PutDoc adds, replaces or deletes a document that is still as it was read.
func (s *Store) PutDoc(ctx context.Context, d *docs.Doc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.transact(ctx, s.write, func(tx *sql.Tx) error {
		now := 0
		err := tx.QueryRowContext(ctx, "SELECT version FROM docs WHERE kind = ? AND id = ?", d.Kind, d.ID).Scan(&now)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case now != d.Version:
			return fmt.Errorf("%s %q: %w", d.Kind, d.ID, docs.ErrChanged)
		case d.Body == nil:
			_, err = tx.ExecContext(ctx, "DELETE FROM docs WHERE kind = ? AND id = ?", d.Kind, d.ID)
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO docs (kind, id, version, body) VALUES (?, ?, ?, ?)", d.Kind, d.ID, now+1, []byte(d.Body))
		return err
	})
	if err == nil {
		d.Version++
	}
	return err
}

package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/obstat/obstat/internal/keep/docs"
)

// Doc returns one document.
func (s *Store) Doc(_ context.Context, kind, id string) (*docs.Doc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.docs[[2]string{kind, id}]
	if !ok {
		return nil, fmt.Errorf("%s %q: %w", kind, id, docs.ErrNotFound)
	}
	return &d, nil
}

// Docs returns the documents of a kind, by ID.
func (s *Store) Docs(_ context.Context, kind string) ([]*docs.Doc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*docs.Doc
	for _, d := range s.docs {
		if d.Kind == kind {
			out = append(out, &d)
		}
	}
	slices.SortFunc(out, func(a, b *docs.Doc) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// PutDoc adds, replaces or deletes a document that is still as it was read.
func (s *Store) PutDoc(_ context.Context, d *docs.Doc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{d.Kind, d.ID}
	if s.docs[key].Version != d.Version {
		return fmt.Errorf("%s %q: %w", d.Kind, d.ID, docs.ErrChanged)
	}
	d.Version++
	if d.Body == nil {
		delete(s.docs, key)
		return nil
	}
	if s.docs == nil {
		s.docs = map[[2]string]docs.Doc{}
	}
	c := *d
	c.Body = slices.Clone(d.Body)
	s.docs[key] = c
	return nil
}

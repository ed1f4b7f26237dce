// Package docs is the contract for what a server keeps besides requests, grants
// and records: tokens, sessions, policies and the agents it has seen, each as one
// document with a version.
//
// It owns the contract alone: the engines beside it keep documents, and the server
// says what is in them.
package docs

import (
	"context"
	"encoding/json"
	"errors"
)

// A Doc is one document, named by its kind and ID.
type Doc struct {
	Kind, ID string
	// Version counts the changes; Put compares it. A new document has zero.
	Version int
	// Body is JSON; nil deletes the document.
	Body json.RawMessage
}

// A Store keeps documents.
type Store interface {
	// Doc returns a document, or ErrNotFound.
	Doc(ctx context.Context, kind, id string) (*Doc, error)
	// Docs returns the documents of a kind, by ID.
	Docs(ctx context.Context, kind string) ([]*Doc, error)
	// PutDoc adds, replaces or, without a Body, deletes a document. It succeeds
	// where the document still has d's Version, zero meaning that there is none, and
	// counts it up; else it returns ErrChanged and leaves everything as it was.
	PutDoc(ctx context.Context, d *Doc) error
}

// The errors of a Store, wrapped.
var (
	ErrNotFound = errors.New("no such document")
	ErrChanged  = errors.New("the document was changed meanwhile")
)

// Get reads a document into a value.
func Get[T any](ctx context.Context, s Store, kind, id string) (v T, version int, err error) {
	d, err := s.Doc(ctx, kind, id)
	if err != nil {
		return v, 0, err
	}
	return v, d.Version, json.Unmarshal(d.Body, &v)
}

// Put keeps a value as a document that has the version; see [Store].PutDoc.
func Put(ctx context.Context, s Store, kind, id string, version int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.PutDoc(ctx, &Doc{Kind: kind, ID: id, Version: version, Body: body})
}

// Change changes a document by a function of what it is now, as one step. v is
// zero where there is none; an error leaves everything as it was.
func Change[T any](ctx context.Context, s Store, kind, id string, change func(v *T) error) (T, error) {
	for {
		v, version, err := Get[T](ctx, s, kind, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return v, err
		}
		if err := change(&v); err != nil {
			return v, err
		}
		if err := Put(ctx, s, kind, id, version, v); !errors.Is(err, ErrChanged) {
			return v, err
		}
	}
}

// Delete deletes a document, whatever its version.
func Delete(ctx context.Context, s Store, kind, id string) error {
	for {
		d, err := s.Doc(ctx, kind, id)
		if err != nil {
			return err
		}
		d.Body = nil
		if err := s.PutDoc(ctx, d); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

// All reads all documents of a kind into values.
func All[T any](ctx context.Context, s Store, kind string) ([]T, error) {
	list, err := s.Docs(ctx, kind)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, d := range list {
		if err := json.Unmarshal(d.Body, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Package store opens the ledger, requests and grants of a gate.
//
// It owns the choice among the engines and nothing else: packages ledger and
// approval define the contract that each engine keeps.
package store

import (
	"context"
	"strings"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// A Store keeps the ledger, requests and grants of a gate.
type Store interface {
	ledger.Store
	ledger.Trimmer
	approval.Store
	// Close ends the use of the store.
	Close() error
}

// Open opens the SQLite database at path and the ledger file beside it, and makes
// them if they are not there; "" is where the obstat command looks. Several
// processes may share them.
func Open(ctx context.Context, path string) (Store, error) {
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, err
		}
	}
	return sqlite.Open(ctx, path)
}

// A Serving is a store that a server can share with others: it keeps tokens and
// policies as well.
type Serving interface {
	Store
	docs.Store
	ledger.Verifier
	tally.Keeper
}

// Serve opens the store of a server: a SQLite database as [Open] does, or a
// PostgreSQL database that several servers share, named as postgres://... .
func Serve(ctx context.Context, name string) (Serving, error) {
	if Shared(name) {
		return postgres.Open(ctx, name, nil)
	}
	if name == "" {
		var err error
		if name, err = sqlite.DefaultPath(); err != nil {
			return nil, err
		}
	}
	return sqlite.Open(ctx, name)
}

// Shared tells whether a name is that of a PostgreSQL database.
func Shared(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// Log opens only the ledger file that belongs to the database at path, for a
// process that appends a record and ends. getenv reads the environment.
func Log(path string, getenv func(string) string) (*logfile.File, error) {
	return sqlite.Log(path, getenv)
}

// Memory returns a store that lives and dies with the process.
func Memory() Store { return inMemory{new(memory.Store)} }

type inMemory struct{ *memory.Store }

// Close does nothing: the process's end does.
func (inMemory) Close() error { return nil }

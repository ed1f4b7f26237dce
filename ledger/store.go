package ledger

import (
	"context"
	"errors"
	"iter"
	"time"
)

// An Appender writes records durably. Append seals each of them (sequence
// number, previous hash, hash) in the order given, and returns once they will
// survive a crash; on an error none of them counts as written.
type Appender interface {
	Append(ctx context.Context, records ...*Record) error
}

// A Reader reads records in the order of the chain.
type Reader interface {
	// Records yields the records that q asks for. It stops at the first error.
	Records(ctx context.Context, q Query) iter.Seq2[*Record, error]
	// Head returns the end of the chain; the zero Head if there is none.
	Head(ctx context.Context) (Head, error)
}

// A Store keeps the ledger.
type Store interface {
	Appender
	Reader
	Verifier
}

// A Trimmer is a Store that can forget: records before a time are replaced by
// one cut record that keeps the chain verifiable.
type Trimmer interface {
	Trim(ctx context.Context, before time.Time) (removed int, err error)
}

// The errors that stores return, wrapped.
var (
	// ErrNotOurs: the file or database is something else.
	ErrNotOurs = errors.New("not an obstat ledger")
	// ErrNewer: a newer obstat wrote it.
	ErrNewer = errors.New("the ledger was written by a newer obstat")
	// ErrClosed: it was closed before.
	ErrClosed = errors.New("the store is closed")
)

// A Query says which records are wanted; zero fields want all.
type Query struct {
	After   uint64    // sequence numbers above this one
	Seq     uint64    // this sequence number alone; zero is any
	Since   time.Time // by the time of taking, see [Record.TakenAt]
	Until   time.Time
	Kind    Kind
	Agent   string
	Session string
	Tool    string
	Verdict string
	Rule    string
	Limit   int // at most so many, the newest; zero is all
}

// Matches tells whether q wants r; Limit is not looked at.
func (q *Query) Matches(r *Record) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	at := r.TakenAt()
	inTime := (q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || at.Before(q.Until))
	return inTime && r.Seq > q.After && (q.Seq == 0 || q.Seq == r.Seq) &&
		is(string(q.Kind), string(r.Kind)) && is(q.Agent, r.Agent) && is(q.Session, r.Session) && is(q.Tool, r.Tool) &&
		is(q.Verdict, r.Verdict) && is(q.Rule, r.Rule)
}

// Package ledger is the audit log: every decision, answer, grant, policy change
// and start, one record each, chained by hashes so that rewriting one
// shows.
//
// It owns the form of records, their canonical bytes, the chain, the masking of
// secrets before anything is written, and the interfaces of a store. Package
// logfile keeps records on disk; other ways to keep them implement [Store].
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/obstat/obstat"
)

// A Kind is the subject of a record.
type Kind string

// The kinds of records.
const (
	Start    Kind = "start"    // a process began to write
	Decision Kind = "decision" // a call was decided
	Ask      Kind = "ask"      // a request was put to humans
	Answer   Kind = "answer"   // a person answered, or none did in time
	Grant    Kind = "grant"    // an answer is remembered, or no longer
	Policy   Kind = "policy"   // another policy is in force, or could not be
	Cut      Kind = "cut"      // older records were taken out by retention
	Pin      Kind = "pin"      // a person accepted a policy for a place
	Access   Kind = "access"   // a token or a login was made, used or ended at a server
	Outcome  Kind = "outcome"  // the agent told how a call ended that was decided
	Damage   Kind = "damage"   // the file was not as it was left: after a crash, or because of an attack
	Undo     Kind = "undo"     // changes of calls were taken back
	Anchor   Kind = "anchor"   // the ends of other replicas' chains
)

// A Hash is a link of the chain.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads a hash in hexadecimal.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*sha256.Size {
		return fmt.Errorf("a hash has %d hexadecimal digits, not %d", 2*sha256.Size, len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// Version is the version of the format that this package writes.
const Version = 1

// A Record is one entry. It is kept as a line of JSON with the fields in this
// order; the hash is made over that line up to, and without, the field hash, so
// the order of the fields is part of the format. The fields that stores have
// columns for come first, and v, which is always there, ends them.
type Record struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Rule    string `json:"rule,omitempty"`

	// V is the version of the format; zero is made [Version] when the record is
	// sealed.
	V int `json:"v"`

	User string `json:"user,omitempty"`
	Dir  string `json:"dir,omitempty"`
	// Request ties an ask, its answer and the decision together.
	Request string `json:"request,omitempty"`

	Input json.RawMessage `json:"input,omitempty"` // masked
	// Masked lists the secrets that were taken out of Input, Detail and Reason.
	Masked []Masked `json:"masked,omitempty"`
	// Call is the digest of the call as it was made, nothing masked.
	Call string `json:"call,omitempty"`

	Stage  string     `json:"stage,omitempty"`
	Pos    obstat.Pos `json:"pos,omitzero"`
	Reason string     `json:"reason,omitempty"`
	Policy string     `json:"policy,omitempty"` // digest of the policy
	Trace  string     `json:"trace,omitempty"`  // digest of the trace
	Nanos  int64      `json:"nanos,omitempty"`  // how long it took

	// Detail holds the fields that one kind alone has.
	Detail json.RawMessage `json:"detail,omitempty"`
	// World holds the facts of the machine that the decision used, so that it
	// replays.
	World *obstat.Snapshot `json:"world,omitempty"`

	// Spool is the place that the record had in the chain of the machine which has sent
	// it to a server; see [Foreign].
	Spool json.RawMessage `json:"spool,omitempty"`

	Prev Hash `json:"prev"`
	Hash Hash `json:"hash"`

	// Offset is where the record begins in the file that it was appended to or read
	// from. It is no part of the record.
	Offset int64 `json:"-"`
}

// A Masked names a value that was taken out before the record was written.
type Masked struct {
	// Field is where it was: "" is the input, else detail or reason.
	Field   string `json:"field,omitempty"`
	Pointer string `json:"pointer"` // JSON pointer into the field, "" for the whole
	Why     string `json:"why"`
	// Digest is keyed: equal values can be told, and they cannot be guessed at
	// without the key.
	Digest string `json:"digest,omitempty"`
}

// MaxRecord bounds the bytes of a sealed record.
const MaxRecord = 4 << 20

// ErrTooLarge is the error of a record that is longer than the ledger takes.
var ErrTooLarge = errors.New("the record is too large for the ledger")

// Sum returns the hash that the record should have.
func (r *Record) Sum() (Hash, error) {
	d, err := r.Draft()
	if err != nil {
		return Hash{}, err
	}
	return sha256.Sum256(d.body(nil, Head{r.Seq - 1, r.Prev})), nil
}

// Seal makes r the record after the one with the given sequence number and
// hash.
func (r *Record) Seal(seq uint64, prev Hash) error {
	d, err := r.Draft()
	if err == nil {
		d.Seal(Head{seq, prev})
	}
	return err
}

// Head returns the end of a chain whose last record is r.
func (r *Record) Head() Head { return Head{r.Seq, r.Hash} }

// Encode returns the sealed record as one line of JSON.
func (r *Record) Encode() ([]byte, error) {
	d, err := r.Draft()
	if err != nil {
		return nil, err
	}
	return append(appendHash(d.body(nil, Head{r.Seq - 1, r.Prev}), r.Hash), '\n'), nil
}

// Decode reads a record from a line of JSON.
func Decode(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	if r.V > Version {
		return nil, fmt.Errorf("%w (record format %d; this one knows %d)", ErrNewer, r.V, Version)
	}
	return r, nil
}

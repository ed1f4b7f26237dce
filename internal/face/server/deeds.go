package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/docs"
)

// deeds keeps the marks and counts of agents' sessions in the store: `200 calls per day` and `after: read secrets`
// hold across a restart, and for all replicas together.
type deeds struct{ store docs.Store }

var _ gate.Sessions = deeds{}

// A deed is the document of one session, or of one limit's count.
type deed struct {
	At    time.Time `json:"at"` // of the last change
	Marks []string  `json:"marks,omitempty"`
	Tally []byte    `json:"tally,omitempty"`
}

const (
	kindMarks = "session-marks"
	kindTally = "session-tally"
	// deedPatience bounds how long a call waits for its session's document.
	deedPatience = 10 * time.Second
	// deedLife is how long a session is remembered that does nothing.
	deedLife = 90 * 24 * time.Hour
	// maxDeed bounds the count of one key: some 200,000 calls.
	maxDeed = 8 << 20
)

// deedID names a document: a session's own name may be long, and has any letters.
func deedID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

func (s deeds) Marks(session string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deedPatience)
	defer cancel()
	d, _, err := docs.Get[deed](ctx, s.store, kindMarks, deedID(session))
	if errors.Is(err, docs.ErrNotFound) {
		return nil, nil
	}
	return d.Marks, err
}

func (s deeds) Mark(session string, marks []string) error {
	return s.change(kindMarks, session, func(d *deed) error {
		for _, m := range marks {
			if !slices.Contains(d.Marks, m) {
				d.Marks = append(d.Marks, m)
			}
		}
		return nil
	})
}

// errSame leaves a document as it is.
var errSame = errors.New("nothing changed")

func (s deeds) Tally(key string, change func(text []byte) []byte) error {
	err := s.change(kindTally, key, func(d *deed) error {
		text := change(slices.Clone(d.Tally))
		switch {
		case bytes.Equal(text, d.Tally):
			return errSame
		case len(text) > maxDeed:
			return fmt.Errorf("%d bytes of calls are more than can be counted", len(text))
		}
		d.Tally = text
		return nil
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

func (s deeds) change(kind, key string, change func(*deed) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), deedPatience)
	defer cancel()
	_, err := docs.Change(ctx, s.store, kind, deedID(key), func(d *deed) error {
		d.At = time.Now()
		return change(d)
	})
	return err
}

// forget deletes the documents of sessions that did nothing for long.
func (s deeds) forget(ctx context.Context) error {
	for _, kind := range []string{kindMarks, kindTally} {
		list, err := s.store.Docs(ctx, kind)
		if err != nil {
			return err
		}
		for _, doc := range list {
			var d deed
			if json.Unmarshal(doc.Body, &d) != nil || time.Since(d.At) < deedLife {
				continue
			}
			doc.Body = nil // one that is written meanwhile stays
			if err := s.store.PutDoc(ctx, doc); err != nil && !errors.Is(err, docs.ErrChanged) {
				return err
			}
		}
	}
	return nil
}

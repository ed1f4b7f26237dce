package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/obstat/obstat/internal/keep/docs"
)

// Sample returns a handler of logs that passes few of many equal messages on: a store that is away fails every
// request, and each of them would be a line.
func Sample(next slog.Handler) slog.Handler { return &sampler{next: next, seen: &seenMessages{}} }

// maxEqual is how many equal messages are passed on in a second.
const maxEqual = 5

type sampler struct {
	next slog.Handler
	seen *seenMessages
}

// seenMessages counts the messages of a second.
type seenMessages struct {
	mu     sync.Mutex
	second time.Time
	counts map[string]int
}

// add counts a message, and returns how many like it were dropped in the second before; pass: it is one of the first.
func (s *seenMessages) add(text string, now time.Time) (pass bool, dropped map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second) >= time.Second {
		for m, n := range s.counts {
			if n > maxEqual {
				if dropped == nil {
					dropped = map[string]int{}
				}
				dropped[m] = n - maxEqual
			}
		}
		s.second, s.counts = now, map[string]int{}
	}
	s.counts[text]++
	return s.counts[text] <= maxEqual, dropped
}

// Enabled tells whether a level is logged.
func (s *sampler) Enabled(ctx context.Context, level slog.Level) bool {
	return s.next.Enabled(ctx, level)
}

// Handle passes a message on, unless many like it came in this second.
func (s *sampler) Handle(ctx context.Context, r slog.Record) error {
	pass, dropped := s.seen.add(r.Message, r.Time)
	for text, n := range dropped {
		more := slog.NewRecord(r.Time, r.Level, text, 0)
		more.AddAttrs(slog.Int("more_like_it", n))
		if err := s.next.Handle(ctx, more); err != nil {
			return err
		}
	}
	if !pass {
		return nil
	}
	return s.next.Handle(ctx, r)
}

// WithAttrs returns a handler with attributes, which counts the same messages.
func (s *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampler{s.next.WithAttrs(attrs), s.seen}
}

// WithGroup returns a handler with a group, which counts the same messages.
func (s *sampler) WithGroup(name string) slog.Handler {
	return &sampler{s.next.WithGroup(name), s.seen}
}

// LoggedIn tells whether a person has a login, or a token to make one with.
func LoggedIn(ctx context.Context, store docs.Store) bool {
	for _, kind := range []string{sessionKind, tokenKind} {
		if list, err := store.Docs(ctx, kind); err == nil && len(list) > 0 {
			return true
		}
	}
	return false
}

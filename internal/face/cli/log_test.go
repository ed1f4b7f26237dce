package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// TestLogFollow: each record is shown once, whether the store or a hook wrote it.
func TestLogFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hook, err := store.Log(path, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	add := func(to ledger.Appender, words string) {
		t.Helper()
		if err := to.Append(t.Context(), &ledger.Record{Kind: ledger.Start, Reason: words}); err != nil {
			t.Fatal(err)
		}
	}
	add(s, "not shown: too old")
	add(s, "first")
	add(hook, "second")

	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	in, out := io.Pipe()
	o := &logOptions{Factory: newFactory(&IO{Out: out}), Store: storeOptions{Path: path}, Follow: true, Tick: tick}
	o.Limit = 2
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx, nil); out.Close() }()
	lines := bufio.NewScanner(in)
	want := func(words string) {
		t.Helper()
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), words) {
			t.Fatalf("%q, want %q", lines.Text(), words)
		}
	}
	want("first")
	want("second")
	add(s, "third")
	tick <- time.Time{}
	want("third")
	add(hook, "fourth")
	tick <- time.Time{}
	want("fourth")
	add(s, "fifth")
	tick <- time.Time{}
	want("fifth")
	cancel()
	for lines.Scan() {
		t.Errorf("more: %q", lines.Text())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLogSessions: a terminal shows the beginning of a long session's name, which --session takes, and a file the whole.
func TestLogSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const long, other = "a1b2c3d4-1111-4222-8333-444455556666", "b1b2c3d4-1111-4222-8333-444455556666"
	for _, id := range []string{long, other, "s1"} {
		if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Verdict: "allow", Tool: "Bash", Session: id}); err != nil {
			t.Fatal(err)
		}
	}
	show := func(tty bool, session string) string {
		var out strings.Builder
		o := &logOptions{Factory: newFactory(&IO{Out: &out, OutTTY: tty, Width: 40}), Store: storeOptions{Path: path}, Session: session, Limit: 9}
		if err := o.run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := show(true, ""); !strings.Contains(got, "allow  Bash · a1b2c3d4…\n") || !strings.Contains(got, "Bash · s1\n") {
		t.Error(got)
	}
	if got := show(true, "a1b2c3d4…"); !strings.Contains(got, "a1b2c3d4…") || strings.Contains(got, "b1b2") || strings.Contains(got, "s1") {
		t.Error(got)
	}
	if got := show(false, ""); !strings.Contains(got, long) || !strings.Contains(got, other) {
		t.Error(got)
	}
}

func TestReadTime(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.Local)
	for s, want := range map[string]time.Time{"": {}, "90m": now.Add(-90 * time.Minute), "3d": now.AddDate(0, 0, -3), "2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local),
		"15:04": time.Date(2026, 3, 10, 15, 4, 0, 0, time.Local), "2026-01-31T15:04": time.Date(2026, 1, 31, 15, 4, 0, 0, time.Local), "2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)} {
		if got, err := readTime("--since", s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"yesterday", "-3h", "-1d", "9999999999d", "2026-13-01", "d"} {
		if got, err := readTime("--since", s, now); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

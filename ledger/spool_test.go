package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/store/memory"
	"github.com/obstat/obstat/ledger"
)

func spoolIn(t testing.TB) *ledger.Spool {
	return &ledger.Spool{Path: filepath.Join(t.TempDir(), "obstat.db.spool")}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// verified checks store and spool together and returns how many records there
// are in both.
func verified(t testing.TB, store ledger.Store, s *ledger.Spool) int {
	t.Helper()
	v, err := ledger.VerifyStore(t.Context(), store, ledger.Hash{})
	must(t, err)
	n, err := s.Verify(t.Context(), v)
	must(t, err)
	return int(v.Records) + n
}

func TestSpoolWriters(t *testing.T) {
	s, store := spoolIn(t), new(memory.Store)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				if err := s.Append(t.Context(), record(i*10+j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			if _, err := ledger.Absorb(t.Context(), s, store); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if n := verified(t, store, s); n != 80 {
		t.Errorf("%d records, want 80", n)
	}
	if st, err := os.Stat(s.Path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

// TestSpoolCrashes kills the process at each step of appending and of taking
// in, one after another: what was acknowledged is there once, whatever else
// happened.
func TestSpoolCrashes(t *testing.T) {
	steps := map[string]bool{}
	for k := range 40 {
		path, store := filepath.Join(t.TempDir(), "s"), new(memory.Store)
		at := 0
		s := ledger.CrashingSpool(path, func(step string) bool {
			at++
			if at == k+1 {
				steps[step] = true
				return true
			}
			return false
		})
		acked := map[string]bool{}
		for i := range 3 {
			r := record(i)
			if s.Append(t.Context(), r) == nil {
				acked[r.Reason] = true
			}
			if i != 1 {
				continue
			}
			if _, err := ledger.Absorb(t.Context(), s, store); err != nil {
				verified(t, store, s)
			}
		}
		_, err := ledger.Absorb(t.Context(), s, store)
		if err != nil {
			verified(t, store, s)
			_, err = ledger.Absorb(t.Context(), s, store)
		}
		must(t, err)
		verified(t, store, s)
		seen := map[string]int{}
		for r, err := range store.Records(t.Context(), ledger.Query{}) {
			must(t, err)
			seen[r.Reason]++
		}
		for reason := range acked {
			if seen[reason] != 1 {
				t.Errorf("crash %d: %q is there %d times", k, reason, seen[reason])
			}
		}
	}
	if len(steps) < 6 {
		t.Errorf("only these steps were tried: %v", steps)
	}
}

func TestSpoolTornLine(t *testing.T) {
	s := spoolIn(t)
	must(t, s.Append(t.Context(), record(0)))
	whole, err := os.ReadFile(s.Path)
	must(t, err)
	line := whole[bytes.IndexByte(whole, '\n')+1:]
	for name, torn := range map[string][]byte{"half": line[:len(line)/2], "no newline": line[:len(line)-1], "zeros": make([]byte, 5000), "hole": append(append(line[:20:20], 0, 0, 0), line[40:]...),
		"a long one": bytes.Repeat([]byte("x"), 100_000)} {
		must(t, os.WriteFile(s.Path, append(bytes.Clone(whole), torn...), 0o600))
		must(t, s.Append(t.Context(), record(1)))
		if n, err := s.Verify(t.Context(), ledger.Verified{}); n != 3 || err != nil {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
		var note *ledger.Record
		for r, err := range s.Records(t.Context()) {
			must(t, err)
			if r.Kind == ledger.Spooled {
				note = r
			}
		}
		var d struct{ Bytes int }
		if note == nil || json.Unmarshal(note.Detail, &d) != nil || d.Bytes != len(torn) {
			t.Errorf("%s: %+v", name, note)
		}
	}
}

func TestSpoolBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(lines []string) []string // the header is the first
		want   string
	}{
		"edited":     {func(l []string) []string { l[2] = strings.Replace(l[2], "allow", "deny!", 1); return l }, "edited"},
		"last":       {func(l []string) []string { l[4] = strings.Replace(l[4], "allow", "deny!", 1); return l }, "edited"},
		"dropped":    {func(l []string) []string { return append(l[:2:2], l[3:]...) }, "dropped"},
		"reordered":  {func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, "dropped"},
		"header":     {func(l []string) []string { l[0] = strings.Replace(l[0], `"seq":2`, `"seq":0`, 1); return l }, "dropped"},
		"unreadable": {func(l []string) []string { l[2] = "what\n"; return l }, "unreadable"},
		"emptied":    {func(l []string) []string { return []string{strings.Replace(l[0], `"seq":2`, `"seq":9`, 1)} }, "dropped"},
		"gone":       {func([]string) []string { return nil }, "dropped"},
	} {
		s, store := spoolIn(t), new(memory.Store)
		must(t, s.Append(t.Context(), record(0), record(1)))
		_, err := ledger.Absorb(t.Context(), s, store)
		must(t, err)
		must(t, s.Append(t.Context(), record(2), record(3), record(4), record(5)))
		verified(t, store, s)
		text, err := os.ReadFile(s.Path)
		must(t, err)
		if lines := tt.change(strings.SplitAfter(string(text), "\n")); lines == nil {
			must(t, os.Remove(s.Path))
		} else {
			must(t, os.WriteFile(s.Path, []byte(strings.Join(lines, "")), 0o600))
		}
		v, err := ledger.VerifyStore(t.Context(), store, ledger.Hash{})
		must(t, err)
		_, err = s.Verify(t.Context(), v)
		var b *ledger.Break
		if !errors.As(err, &b) || b.What != tt.want || !b.Spool {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		// Appending goes on, and taking it in does not hide the break.
		must(t, s.Append(t.Context(), record(6)))
		_, err = ledger.Absorb(t.Context(), s, store)
		must(t, err)
		if name == "header" {
			continue // the records are all there
		}
		if _, err = ledger.VerifyStore(t.Context(), store, ledger.Hash{}); err == nil {
			t.Errorf("%s: no break is left in the store", name)
		}
	}
}

func TestSpoolBadFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"empty": {"", ledger.ErrNotOurs}, "a letter": {"Dear friend,\nhow are you?\n", ledger.ErrNotOurs}, "newer": {`{"spool":2,"seq":0}` + "\n", ledger.ErrNewer},
		"no newline": {"hello", ledger.ErrNotOurs}, "huge": {strings.Repeat("x", 20<<20), ledger.ErrNotOurs},
	} {
		s := spoolIn(t)
		must(t, os.WriteFile(s.Path, []byte(tt.text), 0o600))
		if err := s.Append(t.Context(), record(0)); !errors.Is(err, tt.want) {
			t.Errorf("%s: append: %v", name, err)
		}
		if _, err := ledger.Absorb(t.Context(), s, new(memory.Store)); !errors.Is(err, tt.want) {
			t.Errorf("%s: absorb: %v", name, err)
		}
		if text, err := os.ReadFile(s.Path); err != nil || string(text) != tt.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestSpoolLockIsWaitedFor(t *testing.T) {
	s := spoolIn(t)
	must(t, s.Append(t.Context(), record(0)))
	for range s.Records(t.Context()) { // holds the lock
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := s.Append(ctx, record(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		cancel()
	}
	must(t, s.Append(t.Context(), record(1)))
}

func TestLoadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db.key")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = ledger.LoadKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) {
			t.Errorf("%x, another process has %x", k, keys[0])
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	must(t, os.WriteFile(path, []byte("short"), 0o600))
	if _, err := ledger.LoadKey(path); err == nil {
		t.Error("a short key was taken")
	}
}

// TestVerifyWhole: how the spool ended is found while it waits and after it was
// taken in, and missed when it was cut off.
func TestVerifyWhole(t *testing.T) {
	s := &ledger.Spool{Path: filepath.Join(t.TempDir(), "x.spool")}
	store := new(memory.Store)
	for range 3 {
		if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Tool: "Bash"}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := ledger.VerifyWhole(t.Context(), store, s, ledger.Hash{})
	if err != nil || w.Waiting != 3 || w.End.Seq != 3 || w.Records != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	end := w.End.Hash
	if _, err := ledger.VerifyWhole(t.Context(), store, s, end); err != nil {
		t.Error(err)
	}
	whole, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	cut := whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1]
	if err := os.WriteFile(s.Path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	var b *ledger.Break
	if w, err := ledger.VerifyWhole(t.Context(), store, s, end); !errors.As(err, &b) || b.What != "truncated" || w.Waiting != 2 {
		t.Errorf("cut off: %+v, %v", w, err)
	}
	if err := os.WriteFile(s.Path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Absorb(t.Context(), s, store); err != nil {
		t.Fatal(err)
	}
	if w, err := ledger.VerifyWhole(t.Context(), store, s, end); err != nil || w.Records != 3 || w.Waiting != 0 {
		t.Errorf("taken in: %+v, %v", w, err)
	}
}

package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/internal/store/journal"
	"github.com/obstat/obstat/ledger"
)

func newJournal(t *testing.T, path string) *journal.Journal {
	t.Helper()
	j := journal.New(journal.Options{Path: path, Head: func() (ledger.Head, error) { return ledger.Head{}, nil }})
	t.Cleanup(j.Close)
	return j
}

func draft(t *testing.T, reason string) []*ledger.Draft {
	t.Helper()
	d, err := (&ledger.Record{Kind: ledger.Decision, Reason: reason}).Draft()
	if err != nil {
		t.Fatal(err)
	}
	return []*ledger.Draft{d}
}

func add(t *testing.T, j *journal.Journal, reason string) {
	t.Helper()
	if err := j.Append(t.Context(), draft(t, reason)); err != nil {
		t.Fatal(err)
	}
}

// reasons returns what is in the file, after verifying its chain.
func reasons(t *testing.T, path string) (out []string) {
	t.Helper()
	if _, err := ledger.VerifyLines(journal.Lines(path), ledger.Hash{}); err != nil {
		t.Error(err)
	}
	for line, err := range journal.Lines(path) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := ledger.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Fields(r.Reason)[0])
	}
	return out
}

func expect(t *testing.T, path, want string) {
	t.Helper()
	if got := strings.Join(reasons(t, path), " "); got != want {
		t.Errorf("the journal has %q, want %q", got, want)
	}
}

// TestShared: two that append to one file, as processes do, share one chain.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	a, b := newJournal(t, path), newJournal(t, path)
	var wg sync.WaitGroup
	for i := range 8 {
		j := a
		if i%2 == 1 {
			j = b
		}
		wg.Go(func() {
			for k := range 50 {
				d, err := (&ledger.Record{Kind: ledger.Decision, Reason: fmt.Sprint(i, "/", k, strings.Repeat(" x", k*40))}).Draft()
				if err == nil {
					err = j.Append(t.Context(), []*ledger.Draft{d})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(reasons(t, path)); n != 400 {
		t.Errorf("%d records, want 400", n)
	}
}

// TestLeftBehind: what a crash left behind the last record is taken out and
// written down, whatever it is, by whoever comes next or was there all along.
func TestLeftBehind(t *testing.T) {
	for name, left := range map[string][]byte{
		"half a line":                  []byte(`{"seq":3,"time":"2026`),
		"a hole in a line":             append(append([]byte(`{"seq":3,`), make([]byte, 9000)...), []byte("\"}\n")...),
		"a whole line behind a hole":   append(make([]byte, 5000), []byte("{\"seq\":9}\n")...),
		"more than is read at once":    append(bytes.Repeat([]byte("x"), 300<<10), make([]byte, 10)...),
		"something far behind a hole ": append(make([]byte, 60<<10), 'x'),
	} {
		for _, fresh := range []bool{true, false} {
			if !fresh && left[0] == 0 {
				continue // only a crash of the machine leaves such, and nobody was there all along
			}
			path := filepath.Join(t.TempDir(), "x.log")
			old := newJournal(t, path)
			add(t, old, "one")
			add(t, old, "two")
			_, end, _, err := old.End(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt(left, end)
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			j := old
			if fresh {
				j = newJournal(t, path)
			}
			add(t, j, "three")
			t.Run(name, func(t *testing.T) { expect(t, path, "one two a three") })
			data, err := os.ReadFile(path)
			if err != nil || len(bytes.TrimRight(data, "\x00")) != bytes.IndexByte(data, 0) {
				t.Errorf("%s: something stayed behind the records: %v", name, err)
			}
		}
	}
}

// TestRotate: the file is started anew behind what was taken, and others who
// have it open notice.
func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	a, b := newJournal(t, path), newJournal(t, path)
	add(t, a, "one")
	add(t, b, "two")
	in := journal.Reader{Path: path}
	err := a.Rotate(t.Context(), 1, func(id os.FileInfo, end int64, head ledger.Head) (ledger.Head, error) {
		if err := in.Open(id); err != nil {
			return head, err
		}
		lines, more, err := in.Next(end)
		if len(lines) != 2 || !more {
			t.Errorf("%d lines", len(lines))
		}
		if h, _ := ledger.HeadOf(lines[1]); h != head {
			t.Errorf("%v is not the head %v", h, head)
		}
		return head, err
	})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	add(t, b, "three")
	add(t, a, "four")
	var seqs []uint64
	for line, err := range journal.Lines(path) {
		h, herr := ledger.HeadOf(line)
		if err != nil || herr != nil {
			t.Fatal(err, herr)
		}
		seqs = append(seqs, h.Seq)
	}
	if fmt.Sprint(seqs) != "[3 4]" {
		t.Errorf("%v", seqs)
	}
}

// TestRefused: what cannot be taken over keeps the file as it is.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	j := newJournal(t, path)
	add(t, j, "one")
	no := errors.New("no")
	if err := j.Rotate(t.Context(), 1, func(_ os.FileInfo, _ int64, h ledger.Head) (ledger.Head, error) { return h, no }); !errors.Is(err, no) {
		t.Error(err)
	}
	add(t, j, "two")
	expect(t, path, "one two")
}

// TestReady: nothing is written while somebody says no.
func TestReady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	no := errors.New("no")
	j := journal.New(journal.Options{Path: path, Head: func() (ledger.Head, error) { return ledger.Head{}, nil }, Ready: func() error { return no }})
	defer j.Close()
	if err := j.Append(t.Context(), draft(t, "x")); !errors.Is(err, no) {
		t.Error(err)
	}
	no = nil
	add(t, j, "y")
	expect(t, path, "y")
	j.Close()
	if err := j.Append(t.Context(), draft(t, "z")); !errors.Is(err, journal.ErrClosed) {
		t.Error(err)
	}
}

// TestStrangeFiles: a file that is no journal, or one of the future, is not
// written to.
func TestStrangeFiles(t *testing.T) {
	newer, err := json.Marshal(map[string]any{"log": 99})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{
		"": ledger.ErrNotOurs, "hello": ledger.ErrNotOurs, "hello\n": ledger.ErrNotOurs, "\x00\x00\n": ledger.ErrNotOurs, "{\"log\":0}\n": ledger.ErrNotOurs,
		string(newer) + "\n": ledger.ErrNewer,
	} {
		path := filepath.Join(t.TempDir(), "x.log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := newJournal(t, path).Append(t.Context(), draft(t, "x")); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%q became %q: %v", text, data, err)
		}
	}
}

// TestLong: a record may be longer than any buffer.
func TestLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	j := newJournal(t, path)
	add(t, j, "one")
	add(t, j, "long "+strings.Repeat("é", 1<<20))
	again := newJournal(t, path)
	add(t, again, "two")
	expect(t, path, "one long two")
	id, end, _, err := again.End(t.Context())
	in := journal.Reader{Path: path}
	if err := errors.Join(err, in.Open(id)); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n := 0
	for {
		lines, more, err := in.Next(end)
		if err != nil {
			t.Fatal(err)
		}
		if n += len(lines); !more {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d lines read", n)
	}
}

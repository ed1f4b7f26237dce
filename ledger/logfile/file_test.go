package logfile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// TestMain lets the test binary be a process that appends: OBSTAT_APPEND names
// the file, OBSTAT_COUNT how many records.
func TestMain(m *testing.M) {
	if path := os.Getenv("OBSTAT_APPEND"); path != "" {
		n := 0
		fmt.Sscan(os.Getenv("OBSTAT_COUNT"), &n)
		for i := range n {
			// As a hook does: open, append one, end.
			f := logfile.New(path)
			if err := f.Append(context.Background(), record(i)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			f.Close()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func record(i int) *ledger.Record {
	return &ledger.Record{Time: start.Add(time.Duration(i) * time.Second), Kind: ledger.Decision, Agent: "a", Session: fmt.Sprint("s", i%3), Tool: "Bash",
		Input: json.RawMessage(`{"command":"make test && ls <x"}`), Verdict: "allow", Rule: "Bash(make *)", Pos: obstat.Pos{File: "p.json", Line: 3},
		Reason: fmt.Sprint("record ", i), Nanos: 1200}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all returns the records of a file that q asks for.
func all(t testing.TB, f *logfile.File, q ledger.Query) (out []*ledger.Record) {
	t.Helper()
	for r, err := range f.Records(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// readAt reads the record at an offset of a file.
func readAt(f *logfile.File, offset int64) (*ledger.Record, error) {
	v, err := f.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	line, err := v.LineAt(offset)
	if err != nil {
		return nil, err
	}
	return ledger.Decode(line)
}

func appendAll(t testing.TB, f *logfile.File, n int) (out []*ledger.Record) {
	t.Helper()
	for i := range n {
		r := record(i)
		if err := f.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func newFile(t testing.TB, heads ...string) *logfile.File {
	t.Helper()
	f := logfile.New(filepath.Join(t.TempDir(), "obstat.ledger"), heads...)
	t.Cleanup(func() { f.Close() })
	return f
}

func holds(t *testing.T, f *logfile.File, want int) {
	t.Helper()
	v, err := f.Verify(t.Context(), ledger.Hash{})
	if err != nil || int(v.Records) != want {
		t.Fatalf("%d records, want %d: %v", v.Records, want, err)
	}
}

func TestFileRoundTrip(t *testing.T) {
	f := newFile(t)
	if h, err := f.Head(t.Context()); err != nil || h != (ledger.Head{}) {
		t.Fatalf("no file: %v %v", h, err)
	}
	rs := appendAll(t, f, 50)
	long := record(50)
	long.Reason = strings.Repeat("long ", 100_000)
	if err := f.Append(t.Context(), long, record(51)); err != nil {
		t.Fatal(err)
	}
	rs = append(rs, long)
	again := logfile.New(f.Path()) // as another process sees it
	for _, r := range rs {
		got, err := readAt(again, r.Offset)
		if err != nil || got.Hash != r.Hash || got.Seq != r.Seq || got.Reason != r.Reason {
			t.Fatalf("%d: %+v %v", r.Offset, got, err)
		}
	}
	for _, at := range []int64{0, 1, rs[3].Offset + 1, rs[3].Offset - 1, 1 << 40} {
		if r, err := readAt(again, at); err == nil {
			t.Errorf("a record at %d: %+v", at, r)
		}
	}
	if got := all(t, again, ledger.Query{After: 9}); len(got) != 43 || got[0].Seq != 10 || got[0].Offset != rs[9].Offset {
		t.Errorf("%d records", len(got))
	}
	if got := all(t, again, ledger.Query{Limit: 7}); len(got) != 7 || got[0].Seq != 46 || got[6].Seq != 52 {
		t.Errorf("%d newest records", len(got))
	}
}

func TestFileConcurrent(t *testing.T) {
	f := newFile(t)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := range 10 {
				if err := f.Append(t.Context(), record(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	holds(t, f, 640)
}

// TestFileProcesses: processes that start at once, on a file that is not there
// yet, make one chain.
func TestFileProcesses(t *testing.T) {
	f := newFile(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "OBSTAT_APPEND="+f.Path(), "OBSTAT_COUNT=20")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Go(func() { appendAll(t, f, 100) })
	wg.Wait()
	holds(t, f, 260)
	if _, end, err := f.End(t.Context()); err != nil || end == 0 {
		t.Error(end, err)
	}
}

// reseal writes lines anew as an attacker does who knows how hashes are made.
func reseal(t *testing.T, lines [][]byte) []byte {
	t.Helper()
	var head ledger.Head
	var out []byte
	for _, l := range lines {
		r, err := ledger.Decode(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Seal(head.Seq, head.Hash); err != nil {
			t.Fatal(err)
		}
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		line, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line...)
	}
	return out
}

// TestFileAttacks: an attacker who can write the file and knows how hashes are
// made changes it. Verifying tells, before and after the next record is written.
func TestFileAttacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		attack func(t *testing.T, header []byte, lines [][]byte) []byte // nil deletes the file
		what   string
	}{
		{"edited", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[2] = bytes.Replace(l[2], []byte("record 2"), []byte("record Z"), 1)
			return append(h, bytes.Join(l, nil)...)
		}, "edited"},
		{"dropped", func(t *testing.T, h []byte, l [][]byte) []byte {
			return append(h, bytes.Join(append(l[:2:2], l[3:]...), nil)...)
		}, "dropped"},
		{"reordered", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[2], l[3] = l[3], l[2]
			return append(h, bytes.Join(l, nil)...)
		}, "dropped"},
		{"edited, hashes made anew", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[2] = bytes.Replace(l[2], []byte("record 2"), []byte("record Z"), 1)
			return append(h, reseal(t, l)...)
		}, "edited"},
		{"last one edited, hash made anew", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[5] = bytes.Replace(l[5], []byte("record 5"), []byte("record Z"), 1)
			return append(h, reseal(t, l)...)
		}, "edited"},
		{"edited and one more, hashes made anew", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[2] = bytes.Replace(l[2], []byte("record 2"), []byte("record Z"), 1)
			return append(h, reseal(t, append(l, l[0]))...)
		}, "edited"},
		{"dropped, hashes made anew", func(t *testing.T, h []byte, l [][]byte) []byte {
			return append(h, reseal(t, append(l[:2:2], l[3:]...))...)
		}, "truncated"},
		{"reordered, hashes made anew", func(t *testing.T, h []byte, l [][]byte) []byte {
			l[2], l[3] = l[3], l[2]
			return append(h, reseal(t, l)...)
		}, "edited"},
		{"shortened", func(t *testing.T, h []byte, l [][]byte) []byte { return append(h, bytes.Join(l[:4], nil)...) }, "truncated"},
		{"emptied", func(t *testing.T, h []byte, l [][]byte) []byte { return h }, "truncated"},
		{"front cut off", func(t *testing.T, h []byte, l [][]byte) []byte { return append(h, bytes.Join(l[2:], nil)...) }, "edited"},
		{"deleted", func(*testing.T, []byte, [][]byte) []byte { return nil }, "truncated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFile(t)
			appendAll(t, f, 6)
			f.Close()
			data, err := os.ReadFile(f.Path())
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(bytes.TrimRight(data, "\x00"), []byte("\n"))
			if data = tt.attack(t, lines[0], lines[1:7]); data == nil {
				err = os.Remove(f.Path())
			} else {
				err = os.WriteFile(f.Path(), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			var b *ledger.Break
			if _, err := f.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) || b.What != tt.what {
				t.Errorf("%v, want %s", err, tt.what)
			}
			next := logfile.New(f.Path())
			defer next.Close()
			appendAll(t, next, 9)
			if _, err := next.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) {
				t.Errorf("after the next records: %v", err)
			}
		})
	}
}

// TestFileRewound: the file and the head beside it are put back together. The
// head that is kept elsewhere tells; so does a process that saw the records.
func TestFileRewound(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "not", "there", "yet", "head")
	f := newFile(t, elsewhere)
	appendAll(t, f, 3)
	var was [2][]byte
	for i, path := range f.Files()[:2] {
		var err error
		if was[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	appendAll(t, f, 3)
	for i, path := range f.Files()[:2] {
		if err := os.WriteFile(path, was[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b *ledger.Break
	other := logfile.New(f.Path(), elsewhere)
	if _, err := other.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) || b.What != "truncated" {
		t.Errorf("%v", err)
	}
	appendAll(t, f, 1) // the process that wrote them
	if _, err := logfile.New(f.Path()).Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) {
		t.Errorf("after the next record: %v", err)
	}
}

// TestFileHeadGone: without the kept head nobody could tell that records are
// missing, so its absence is told.
func TestFileHeadGone(t *testing.T) {
	for _, content := range []string{"", "garbage", "gone"} {
		f := newFile(t)
		appendAll(t, f, 3)
		f.Close()
		head := f.Files()[1]
		err := os.Remove(head)
		if content != "gone" {
			err = os.WriteFile(head, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var b *ledger.Break
		if _, err := f.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) {
			t.Errorf("%q: %v", content, err)
		}
		next := logfile.New(f.Path())
		appendAll(t, next, 1)
		if _, err := next.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) {
			t.Errorf("%q, after the next record: %v", content, err)
		}
	}
}

// TestFileHeadLags: after a power failure the kept head may be an earlier one;
// that is no damage.
func TestFileHeadLags(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 2)
	head, err := os.ReadFile(f.Files()[1])
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, f, 2)
	f.Close()
	if err := os.WriteFile(f.Files()[1], head, 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, f, 4)
	next := logfile.New(f.Path())
	appendAll(t, next, 1)
	holds(t, next, 5)
}

// TestFileTorn: what a crash leaves of a record that was never acknowledged is
// cut off, and a record says so.
func TestFileTorn(t *testing.T) {
	for name, torn := range map[string]string{"part": `{"seq":4,"time":"20`, "hole": "{\"seq\":4,\x00\x00\x00\"tool\":\"Bash\"}\n", "no newline": `{"seq":4}`} {
		f := newFile(t)
		appendAll(t, f, 3)
		_, end, err := f.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		raw, err := os.OpenFile(f.Path(), os.O_RDWR, 0)
		if err == nil {
			_, err = raw.WriteAt([]byte(torn), end)
		}
		if err != nil {
			t.Fatal(err)
		}
		raw.Close()
		holds(t, f, 3)
		next := logfile.New(f.Path())
		appendAll(t, next, 1)
		holds(t, next, 5)
		var kinds []string
		for _, r := range all(t, next, ledger.Query{}) {
			kinds = append(kinds, string(r.Kind))
		}
		if strings.Join(kinds, " ") != "decision decision decision damage decision" {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

// TestFileNotOurs: other files, files of a newer version and files that cannot be
// opened are errors that say so, and stay as they are.
func TestFileNotOurs(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		content string
		want    error
	}{
		"text":     {"Dear friend,\n", ledger.ErrNotOurs},
		"empty":    {"", ledger.ErrNotOurs},
		"newer":    {`{"ledger":2,"seq":0}` + "\n", ledger.ErrNewer},
		"no hash":  {`{"ledger":1,"seq":0,"hash":"","base":0}` + "\n", ledger.ErrNotOurs},
		"no end":   {`{"ledger":1,"seq":0,"hash":"` + ledger.Hash{}.String() + `","base":0`, ledger.ErrNotOurs},
		"only {":   {`{"ledger":`, ledger.ErrNotOurs},
		"huge seq": {`{"ledger":1,"seq":99999999999999999999999,"hash":"` + ledger.Hash{}.String() + `","base":0}` + "\n", ledger.ErrNotOurs},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := logfile.New(path)
		if err := f.Append(t.Context(), record(0)); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.Verify(t.Context(), ledger.Hash{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tt.content {
			t.Errorf("%s was changed: %q %v", name, got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "d"), filepath.Join(dir, "none", "f")} {
		if err := logfile.New(path).Append(t.Context(), record(0)); err == nil {
			t.Errorf("%s was written to", path)
		}
	}
}

// TestFileNewerRecord: nothing is written behind a record of a newer version.
func TestFileNewerRecord(t *testing.T) {
	f := newFile(t)
	r := record(0)
	r.V = 99
	if err := f.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := logfile.New(f.Path()).Append(t.Context(), record(1)); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("%v", err)
	}
}

// TestRecent: of the newest records those with a text are read, and of huge ones only
// the last megabyte.
func TestRecent(t *testing.T) {
	f := logfile.New(filepath.Join(t.TempDir(), "l"))
	defer f.Close()
	var want []string
	for i := range 40 {
		reason := fmt.Sprint("record ", i)
		if i%3 == 0 {
			reason += " with the text"
		}
		if i == 20 {
			reason += strings.Repeat("x", 1<<20)
		}
		if err := f.Append(t.Context(), &ledger.Record{Kind: ledger.Start, Reason: reason}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && i > 20 {
			want = append([]string{reason}, want...)
		}
	}
	for n, want := range map[int][]string{100: want, 40: want, 4: want[:2], 0: nil} {
		var got []string
		for r, err := range f.Recent(n, "with the text") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Reason)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of the newest %d: %q, want %q", n, got, want)
		}
	}
}

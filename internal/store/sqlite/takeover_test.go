package sqlite_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
)

// before unpacks a ledger that the version before made: ten records in the
// database, three of them from the spool; four in the journal alone; three in the
// spool; a grant, and a pending request.
func before(t *testing.T) (path string) {
	t.Helper()
	f, err := os.Open("testdata/before.tar.gz")
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	dir := t.TempDir()
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "obstat.db")
		}
		must(t, err)
		data, err := io.ReadAll(in)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, h.Name), data, 0o600))
	}
}

// reasons returns what each record is about, and checks that all of them are in
// one chain.
func reasons(t *testing.T, path string) (out []string) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	if err := verified(t, s); err != nil {
		t.Error(err)
	}
	for r, err := range s.Records(t.Context(), ledger.Query{}) {
		must(t, err)
		out = append(out, r.Reason)
	}
	return out
}

const taken = "store 1|store 2|store 3|store 4|store 5|spool 6|spool 7|spool 8|store 9|store 10|journal 11|journal 12|journal 13|journal 14|waiting 15|waiting 16|waiting 17|a ledger of before was taken over: 17 records"

func TestTakeOver(t *testing.T) {
	path := before(t)
	old, err := os.ReadFile(path + ".log")
	must(t, err)
	if got := strings.Join(reasons(t, path), "|"); got != taken {
		t.Error(got)
	}
	for _, f := range []string{".log", ".spool"} {
		if _, err := os.Stat(path + f); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there", f)
		}
	}
	s := open(t, path)
	defer s.Close()
	// The chain goes on: lines are the bytes they were.
	now, err := os.ReadFile(s.File().Path())
	must(t, err)
	for _, line := range bytes.Split(bytes.TrimRight(old, "\x00"), []byte("\n"))[1:] {
		if !bytes.Contains(now, line) {
			t.Errorf("%s is not there", line)
		}
	}
	gs, err := s.Grants(t.Context(), time.Now())
	if err != nil || len(gs) != 1 || gs[0].ID != "grant_1" {
		t.Errorf("%+v %v", gs, err)
	}
	if r, err := s.Request(t.Context(), "req_2"); err != nil || r.State != "pending" || string(r.Call.Input) != `{"command":"make"}` {
		t.Errorf("%+v %v", r, err)
	}
}

// TestTakeOverByHook: a hook comes first, and several at once.
func TestTakeOverByHook(t *testing.T) {
	path := before(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			f, err := sqlite.Log(t.Context(), path, os.Getenv)
			if err == nil {
				err = f.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "hook"})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := strings.Join(reasons(t, path), "|"); got != taken+strings.Repeat("|hook", 8) {
		t.Error(got)
	}
}

// TestTakeOverParts: hooks alone have no database; a process of before may write
// once more; a crash may leave files that were taken over.
func TestTakeOverParts(t *testing.T) {
	path := before(t)
	spool, err := os.ReadFile(path + ".spool")
	must(t, err)
	journal, err := os.ReadFile(path + ".log")
	must(t, err)
	for _, f := range []string{"", ".log"} {
		must(t, os.Remove(path+f))
	}
	if got := strings.Join(reasons(t, path), "|"); got != "waiting 15|waiting 16|waiting 17|a ledger of before was taken over: 3 records" {
		t.Error("hooks alone:", got)
	}
	path = before(t)
	reasons(t, path)
	must(t, os.WriteFile(path+".spool", spool, 0o600))
	must(t, os.WriteFile(path+".log", journal, 0o600))
	if got := strings.Join(reasons(t, path), "|"); got != taken {
		t.Error("after a crash:", got)
	}
	line := bytes.Split(spool, []byte("\n"))[3]
	r, err := ledger.Decode(line)
	must(t, err)
	r.Reason = "late"
	must(t, r.Seal(r.Seq, r.Hash))
	late, err := r.Encode()
	must(t, err)
	must(t, os.WriteFile(path+".spool", append(spool, late...), 0o600))
	if got := strings.Join(reasons(t, path), "|"); got != taken+"|late" {
		t.Error("written by a process of before:", got)
	}
}

// TestTakeOverLate: a process that knows nothing of ledgers of before made the file
// first. What was kept before is sealed behind its records.
func TestTakeOverLate(t *testing.T) {
	path := before(t)
	f := ledger.NewFile(strings.TrimSuffix(path, ".db") + ".ledger")
	must(t, f.Append(t.Context(), &ledger.Record{Kind: ledger.Pin, Reason: "pin"}))
	must(t, f.Close())
	want := "pin|" + strings.TrimSuffix(taken, "|a ledger of before was taken over: 17 records")
	for range 2 {
		if got := strings.Join(reasons(t, path), "|"); got != want {
			t.Error(got)
		}
	}
}

// TestTakeOverBroken: records that were edited before they were taken over are
// kept, and verifying tells.
func TestTakeOverBroken(t *testing.T) {
	for _, tt := range []struct{ file, from, to string }{
		{".log", `"reason":"journal 12"`, `"reason":"journal zz"`}, {".spool", `"reason":"waiting 16"`, `"reason":"waiting zz"`}, {".spool", `{"seq":5,`, `{"qes":5,`},
	} {
		path := before(t)
		data, err := os.ReadFile(path + tt.file)
		must(t, err)
		must(t, os.WriteFile(path+tt.file, bytes.Replace(data, []byte(tt.from), []byte(tt.to), 1), 0o600))
		s := open(t, path)
		var b *ledger.Break
		if err := verified(t, s); !errors.As(err, &b) {
			t.Errorf("%s: %v", tt.to, err)
		}
		n := 0
		for _, err := range s.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
			must(t, err)
			n++
		}
		if n < 16 {
			t.Errorf("%s: %d records are left", tt.to, n)
		}
		s.Close()
	}
	path := filepath.Join(t.TempDir(), "obstat.db")
	must(t, os.WriteFile(path+".spool", []byte("a letter to a friend\n"), 0o600))
	s := open(t, path)
	var b *ledger.Break
	if err := verified(t, s); !errors.As(err, &b) || !strings.Contains(err.Error(), "not an obstat ledger") {
		t.Errorf("a letter: %v", err)
	}
	add(t, s, "one")
	if data, err := os.ReadFile(path + ".spool.unreadable"); err != nil || string(data) != "a letter to a friend\n" {
		t.Errorf("%q %v", data, err)
	}
	path = before(t)
	must(t, os.WriteFile(path+".spool", []byte(`{"spool":2}`+"\n"), 0o600))
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("a newer spool: %v", err)
	}
}

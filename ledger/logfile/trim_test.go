package logfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

// TestFileTrim: what is left keeps its offset, the chain verifies, and processes
// that had the file open go on with the new one.
func TestFileTrim(t *testing.T) {
	f := newFile(t)
	rs := appendAll(t, f, 10)
	other := logfile.New(f.Path())
	defer other.Close()
	must(t, other.Append(t.Context(), record(10)))
	view, err := f.View()
	must(t, err)
	defer view.Close()
	n, err := f.Trim(t.Context(), start.Add(4*time.Second))
	if n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := readAt(f, rs[2].Offset); !errors.Is(err, logfile.ErrTrimmed) {
		t.Errorf("a record that was taken out: %v", err)
	}
	if r, err := view.LineAt(rs[2].Offset); err != nil || !strings.HasPrefix(string(r), `{"seq":3,`) {
		t.Errorf("as it was opened: %s %v", r, err)
	}
	for _, r := range rs[4:] {
		if got, err := readAt(other, r.Offset); err != nil || got.Hash != r.Hash {
			t.Errorf("%d: %v", r.Seq, err)
		}
	}
	after := record(11)
	must(t, other.Append(t.Context(), after))
	must(t, f.Append(t.Context(), record(12)))
	if got, err := readAt(f, after.Offset); err != nil || got.Seq != 13 {
		t.Errorf("%+v %v", got, err)
	}
	holds(t, f, 10) // 5 to 11, the cut, and two
	if n, err := f.Trim(t.Context(), start); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := logfile.New(filepath.Join(t.TempDir(), "none")).Trim(t.Context(), start); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestFileTrimCarries: pins and grants that hold are in the file afterwards.
func TestFileTrimCarries(t *testing.T) {
	f := newFile(t)
	pin := func(dir, words string) *ledger.Record {
		return &ledger.Record{Time: start, Kind: ledger.Pin, Dir: dir, Reason: words}
	}
	grant := func(id, verdict string, expires time.Time) *ledger.Record {
		detail, err := json.Marshal(map[string]any{"id": id, "expires": expires})
		must(t, err)
		return &ledger.Record{Time: start, Kind: ledger.Grant, Verdict: verdict, Detail: detail, Reason: id}
	}
	must(t, f.Append(t.Context(), pin("/a", "a, old"), pin("/b", "b"), pin("/a", "a"), pin("/c", "c, old"), grant("kept", "granted", time.Time{}),
		grant("back", "granted", time.Time{}), grant("over", "granted", start), grant("back", "revoked", time.Time{}), record(0)))
	late := pin("/c", "c")
	late.Time = start.Add(time.Hour)
	must(t, f.Append(t.Context(), late))
	n, err := f.Trim(t.Context(), start.Add(time.Minute))
	must(t, err)
	var got []string
	for _, r := range all(t, f, ledger.Query{}) {
		got = append(got, r.Reason)
	}
	if left := strings.Join(got, "|"); n != 9 || left != "c|records were taken out by retention|kept|a|b" {
		t.Errorf("%d taken out, left: %s", n, left)
	}
	holds(t, f, 5)
}

// TestFileOlderRecordsCutOff: an attacker takes the oldest records off and makes
// header and head fit. Without the record that retention writes it shows.
func TestFileOlderRecordsCutOff(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 5)
	f.Close()
	data, err := os.ReadFile(f.Path())
	must(t, err)
	lines := strings.SplitAfter(strings.TrimRight(string(data), "\x00"), "\n")
	third, err := ledger.Decode([]byte(lines[3]))
	must(t, err)
	base := len(lines[1]) + len(lines[2])
	header := fmt.Sprintf(`{"ledger":1,"seq":2,"hash":"%s","base":"%019d"}`+"\n", third.Prev, base)
	must(t, os.WriteFile(f.Path(), []byte(header+strings.Join(lines[3:], "")), 0o600))
	var b *ledger.Break
	if _, err := f.Verify(t.Context(), ledger.Hash{}); !errors.As(err, &b) || b.What != "dropped" || b.Seq != 3 {
		t.Error(err)
	}
}

// TestFilePlaces: a state directory that is a link, one that cannot be written,
// and head files that cannot.
func TestFilePlaces(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	linked := logfile.New(filepath.Join(dir, "link", "l"), filepath.Join(dir, "real", "file", "head"))
	must(t, os.WriteFile(filepath.Join(dir, "real", "file"), nil, 0o600)) // no head fits there
	appendAll(t, linked, 2)
	real := logfile.New(filepath.Join(dir, "real", "l"))
	appendAll(t, real, 2)
	appendAll(t, linked, 1)
	holds(t, real, 5)
	linked.Close()
	real.Close()

	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, os.Mkdir(filepath.Join(dir, "dirhead"), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "dirhead", "l.head"), 0o700))
	for _, path := range []string{filepath.Join(dir, "loop", "l"), filepath.Join(dir, "real", "file", "l"), filepath.Join(dir, "dirhead", "l"), "/proc/obstat/l"} {
		if err := logfile.New(path).Append(t.Context(), record(0)); err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFileClosed: appending after Close is an error; reading is not.
func TestFileClosed(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 1)
	must(t, f.Close())
	if err := f.Append(t.Context(), record(1)); !errors.Is(err, ledger.ErrClosed) {
		t.Error(err)
	}
	holds(t, f, 1)
}

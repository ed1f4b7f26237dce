package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func record(i int) *ledger.Record {
	return &ledger.Record{Time: start.Add(time.Duration(i) * time.Second), Kind: ledger.Decision, Agent: "a", Session: fmt.Sprint("s", i%3), Tool: "Bash",
		Input: json.RawMessage(`{"command":"make test && ls <x"}`), Verdict: "allow", Rule: "Bash(make *)", Pos: obstat.Pos{File: "p.json", Line: 3},
		Reason: fmt.Sprint("record ", i), Nanos: 1200}
}

// chain returns n sealed lines, without newlines.
func chain(t testing.TB, n int) [][]byte {
	t.Helper()
	var head ledger.Head
	lines := make([][]byte, n)
	for i := range lines {
		r := record(i)
		d, err := r.Draft()
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = d.Seal(head)
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
	}
	return lines
}

func each(lines [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func TestVerifyFindsTheFirstBreak(t *testing.T) {
	whole := chain(t, 6)
	last, err := ledger.Decode(whole[5])
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func([][]byte) [][]byte
		want   string // "" holds
		seq    uint64
	}{
		{"whole", func(l [][]byte) [][]byte { return l }, "", 0},
		{"edited", func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("record 2"), []byte("record 7"), 1)
			return l
		}, "edited", 3},
		{"edited and resealed", func(l [][]byte) [][]byte {
			r, _ := ledger.Decode(l[2])
			r.Verdict = "deny"
			if err := r.Seal(2, r.Prev); err != nil {
				t.Fatal(err)
			}
			l[2], _ = r.Encode()
			return l
		}, "edited", 4},
		{"dropped", func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, "dropped", 3},
		{"reordered", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, "dropped", 3},
		{"twice", func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[2]) }, "reordered", 3},
		{"beginning gone", func(l [][]byte) [][]byte { return l[2:] }, "dropped", 3},
		{"truncated", func(l [][]byte) [][]byte { return l[:4] }, "truncated", 4},
		{"garbage", func(l [][]byte) [][]byte { l[1] = []byte("{}"); return l }, "unreadable", 2},
		{"hash in capitals", func(l [][]byte) [][]byte { l[1] = bytes.ToUpper(l[1]); return l }, "unreadable", 2},
	} {
		v, err := ledger.Verify(each(tt.change(slices.Clone(whole))), last.Hash)
		var b *ledger.Break
		switch {
		case tt.want == "":
			if err != nil || v.Records != 6 || v.Head.Hash != last.Hash {
				t.Errorf("%s: %+v %v", tt.name, v, err)
			}
		case !errors.As(err, &b) || b.What != tt.want || b.Seq != tt.seq:
			t.Errorf("%s: %v, want record %d %s", tt.name, err, tt.seq, tt.want)
		}
	}
}

// Any change of any byte of a chain is found.
func TestVerifyFindsAnyByte(t *testing.T) {
	whole := chain(t, 3)
	for i := range whole {
		for j := range whole[i] {
			lines := slices.Clone(whole)
			lines[i] = slices.Clone(whole[i])
			lines[i][j] ^= 1
			if _, err := ledger.Verify(each(lines), ledger.Hash{}); err == nil {
				t.Fatalf("record %d, byte %d (%q): not found", i+1, j, whole[i][j])
			}
		}
	}
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a<b>&", "\xff\x00\u2028", `","v":1`}))
}

// A record survives its line, and its line's beginning has its columns.
func TestLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &ledger.Record{Time: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")), Kind: ledger.Kind(text().Draw(t, "kind")),
			Agent: text().Draw(t, "agent"), Session: text().Draw(t, "session"), Tool: text().Draw(t, "tool"), Verdict: text().Draw(t, "verdict"), Rule: text().Draw(t, "rule"),
			User: text().Draw(t, "user"), Reason: text().Draw(t, "reason")}
		if rapid.Bool().Draw(t, "spool") {
			r.Spool = json.RawMessage(fmt.Sprintf(`{"seq":%d,"prev":"","hash":""}`, rapid.Uint64().Draw(t, "spool seq")))
		}
		if rapid.Bool().Draw(t, "detail") {
			r.Detail = json.RawMessage(` {"a": "<",  "spool":{"seq":1,"prev":"","hash":""}} `)
		}
		d, err := r.Draft()
		if err != nil {
			t.Fatal(err)
		}
		line := d.Seal(ledger.Head{Seq: rapid.Uint64Range(0, 1<<40).Draw(t, "seq")})
		back, err := ledger.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		header := *rapid.SampledFrom([]*ledger.Record{{}, back, {Agent: "other", Session: back.Agent, Rule: back.Tool}}).Draw(t, "before")
		if err := ledger.ReadHeader(&header, line); err != nil || header.Seq != back.Seq || !header.Time.Equal(back.Time) || header.Kind != back.Kind || header.Agent != back.Agent ||
			header.Session != back.Session || header.Tool != back.Tool || header.Verdict != back.Verdict || header.Rule != back.Rule || header.Hash != back.Hash {
			t.Fatalf("%s\nbegins with\n%+v %v", line, header, err)
		}
		var whole map[string]json.RawMessage
		if err := json.Unmarshal(line, &whole); err != nil {
			t.Fatal(err)
		}
		for name, value := range ledger.Members(line) {
			if string(whole[string(name)]) != string(value) {
				t.Fatalf("%s\n%s is %s", line, name, value)
			}
			delete(whole, string(name))
		}
		if len(whole) > 0 {
			t.Fatalf("%s\nis read without %v", line, whole)
		}
		again, err := back.Encode()
		if err != nil || string(again) != string(line)+"\n" {
			t.Fatalf("%s\nbecomes\n%s %v", line, again, err)
		}
		if sum, err := back.Sum(); err != nil || sum != r.Hash {
			t.Fatalf("%v, want %v (%v)", sum, r.Hash, err)
		}
	})
}

// TestBrokenMembers: no cut of a line makes its members unreadable in another way than ending early.
func TestBrokenMembers(t *testing.T) {
	line := chain(t, 1)[0]
	for i := range line {
		n := 0
		for range ledger.Members(line[:i]) {
			n++
		}
		if n > bytes.Count(line[:i], []byte(`":`)) {
			t.Fatalf("%s has %d members", line[:i], n)
		}
	}
}

func TestNewerRecord(t *testing.T) {
	line := bytes.Replace(chain(t, 1)[0], []byte(`"v":1`), []byte(`"v":2`), 1)
	if _, err := ledger.Decode(line); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("a record from the future: %v", err)
	}
}

// TestHeaderAgain: the header of a record like the one before is read without copying its texts.
func TestHeaderAgain(t *testing.T) {
	line := chain(t, 2)[1]
	var header ledger.Record
	if err := ledger.ReadHeader(&header, line); err != nil || header.Agent == "" || header.Rule == "" {
		t.Fatalf("%+v %v", header, err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = ledger.ReadHeader(&header, line) }); n > 1 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkDraft(b *testing.B) {
	r := record(1)
	for b.Loop() {
		if _, err := r.Draft(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyLines(b *testing.B) {
	lines := chain(b, 1000)
	for b.Loop() {
		if _, err := ledger.Verify(each(lines), ledger.Hash{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "records/s")
}

package ledger_test

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// TestVerifyExport: a file with the chains of several replicas verifies, whichever record comes
// first, and what is wrong with one of them is found.
func TestVerifyExport(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1_700_000_000, 0)
	write := func(s *memory.Store, n int) {
		for range n {
			now = now.Add(time.Second)
			check(s.Append(t.Context(), &ledger.Record{Time: now, Kind: ledger.Decision, Tool: "bash"}))
		}
	}
	anchor := func(s *memory.Store, name string, others map[string]*memory.Store) {
		a := ledger.Anchors{Chain: name, Heads: map[string]ledger.Head{}}
		for name, o := range others {
			head, err := o.Head(t.Context())
			check(err)
			a.Heads[name] = head
		}
		detail, err := json.Marshal(a)
		check(err)
		check(s.Append(t.Context(), &ledger.Record{Kind: ledger.Anchor, Detail: detail}))
	}
	linesOf := func(s *memory.Store) (out []string) {
		for r, err := range s.Records(t.Context(), ledger.Query{}) {
			check(err)
			line, err := r.Encode()
			check(err)
			out = append(out, string(line))
		}
		return out
	}
	one, two, alone := new(memory.Store), new(memory.Store), new(memory.Store)
	write(one, 4)
	write(two, 2)
	anchor(two, "two", map[string]*memory.Store{"one": one})
	write(one, 2)
	anchor(one, "one", map[string]*memory.Store{"two": two})
	write(two, 3)
	write(alone, 3)
	a, b := linesOf(one), linesOf(two)
	var mixed []string
	for i := range max(len(a), len(b)) {
		if i < len(b) {
			mixed = append(mixed, b[i])
		}
		if i < len(a) {
			mixed = append(mixed, a[i])
		}
	}
	verify := func(lines []string) (ledger.Verified, error) {
		return ledger.Export(func() iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				for _, l := range lines {
					if !yield([]byte(l), nil) {
						return
					}
				}
			}
		}).Verify(ledger.Hash{})
	}
	without := func(gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(mixed), func(l string) bool { return slices.Contains(gone, l) })
	}
	for name, lines := range map[string][]string{"mixed": mixed, "one after the other": append(slices.Clone(a), b...), "one chain": linesOf(alone)} {
		if v, err := verify(lines); err != nil || v.Records != uint64(len(lines)) {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
	for name, lines := range map[string][]string{
		"a record is missing":              without(a[2]),
		"a chain's beginning is missing":   without(a[0], a[1]),
		"a chain is shorter than is known": without(a[3:]...),
		"a chain is gone":                  without(a...),
		"a chain of somebody else":         append(slices.Clone(mixed), linesOf(alone)...),
		"a record twice":                   append(slices.Clone(mixed), a[len(a)-1]),
		"two records of a chain exchanged": append(append(slices.Clone(b), a[1], a[0]), a[2:]...),
	} {
		if v, err := verify(lines); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
	// A chain without anchors of its own that retention has shortened excuses no other chain.
	short := new(memory.Store)
	write(short, 20)
	if n, err := short.Trim(t.Context(), now); err != nil || n != 19 {
		t.Fatal(n, err)
	}
	anchor(one, "one", map[string]*memory.Store{"two": two, "short": short})
	three := slices.Concat(linesOf(one), b, linesOf(short))
	if v, err := verify(three); err != nil || v.Records != uint64(len(three)) {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := verify(slices.Concat(linesOf(one), linesOf(short))); err == nil {
		t.Errorf("a chain is gone beside one that was shortened: %+v", v)
	}
	edited := slices.Clone(mixed)
	i := slices.Index(edited, a[1])
	edited[i] = strings.Replace(edited[i], "bash", "dash", 1)
	if v, err := verify(edited); err == nil {
		t.Errorf("an edited record: %+v", v)
	}
}

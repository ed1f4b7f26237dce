package jiuwen

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
)

type testCase struct {
	ID    string
	Files map[string]json.RawMessage
	Call  struct {
		Tool, Dir, Channel string
		Input              json.RawMessage
		Roots              []string
	}
	World obstat.Snapshot
	Floor string
	Want  *struct {
		Verdict obstat.Verdict
		Matched *string
	}
	Never *obstat.Verdict
}

// run returns the verdict and the matched rule; a configuration that is refused
// denies.
func (c *testCase) run(t *testing.T) (obstat.Verdict, string) {
	t.Helper()
	in := &dialect.Input{Options: map[string]string{"floor": c.Floor}}
	for name, data := range c.Files {
		in.Files = append(in.Files, dialect.File{Name: name, Data: data})
	}
	l, err := dialect.Load(Dialect{}, in)
	if err != nil {
		t.Logf("%s: refused: %v", c.ID, err)
		return obstat.Deny, ""
	}
	call := &obstat.Call{Tool: c.Call.Tool, Input: c.Call.Input, Dir: c.Call.Dir, Roots: c.Call.Roots, Channel: c.Call.Channel}
	d, trace := l.Policy.Explain(call, &c.World)
	return d.Verdict, Dialect{}.Matched(&d, trace)
}

// runCases runs a file of recorded answers and returns how many there are and
// the ids of those that come out differently.
func runCases(t *testing.T, name string) (n int, differ []string) {
	t.Helper()
	for _, c := range jsonltest.All[testCase](t, "testdata/"+name) {
		n++
		v, matched := c.run(t)
		switch {
		case c.Never != nil:
			if v == *c.Never {
				t.Errorf("%s: %v", c.ID, v)
				differ = append(differ, c.ID)
			}
		case v != c.Want.Verdict || c.Want.Matched != nil && matched != *c.Want.Matched:
			want := "?"
			if c.Want.Matched != nil {
				want = *c.Want.Matched
			}
			t.Logf("%s: got %v %s, want %v %s", c.ID, v, matched, c.Want.Verdict, want)
			differ = append(differ, c.ID)
		}
	}
	return n, differ
}

// TestDocument runs what the document decides, or leaves to the original.
func TestDocument(t *testing.T) {
	if n, differ := runCases(t, "jiuwen-document.jsonl.gz"); len(differ) > 0 || n != 692 {
		t.Errorf("%d of %d differ: %v", len(differ), n, differ)
	}
}

// TestUnsafe runs what the original allowed although it does harm, or crashed on.
func TestUnsafe(t *testing.T) {
	if n, differ := runCases(t, "jiuwen-unsafe.jsonl.gz"); len(differ) > 0 || n != 13 {
		t.Errorf("%d of %d are allowed: %v", len(differ), n, differ)
	}
}

// TestParser runs what hung on the original's own shell parser; the document
// looks at the whole command instead.
func TestParser(t *testing.T) {
	if n, differ := runCases(t, "jiuwen-parser.jsonl.gz"); len(differ) > 0 || n != 302 {
		t.Errorf("%d of %d differ: %v", len(differ), n, differ)
	}
}

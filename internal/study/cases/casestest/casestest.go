// Package casestest holds a dialect to files of recorded answers, in tests.
//
// It owns the counting and comparing; the form of a case and its running are package cases's.
package casestest

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/study/cases"
)

// Each loads the configuration of each case of a file, by the dialects that find knows, and
// hands both on.
func Each(t testing.TB, find func(name string) (dialect.Dialect, error), file string,
	do func(c *cases.Case, l *dialect.Loaded)) {
	t.Helper()
	r := cases.Runner{Find: find}
	jsonltest.Lines(t, file, func(line int, data []byte) {
		c, err := cases.Parse(file, line, data)
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Load(c)
		if err != nil {
			t.Fatal(err)
		}
		do(c, l)
	})
}

// Differing runs the n cases of a file and returns those whose answer is another
// one, by their id.
func Differing(t testing.TB, d dialect.Dialect, file string, n int) map[string]cases.Result {
	t.Helper()
	r := cases.Runner{Find: func(string) (dialect.Dialect, error) { return d, nil }}
	ran, out := 0, map[string]cases.Result{}
	jsonltest.Lines(t, file, func(line int, data []byte) {
		c, err := cases.Parse(file, line, data)
		if err != nil {
			t.Fatal(err)
		}
		ran++
		if res := r.Run(c); !res.Pass {
			res.Reason = fmt.Sprintf("%s: %s", c.Call.Input, res.Reason)
			out[c.ID] = res
		}
	})
	if ran != n {
		t.Fatalf("%s: %d cases, want %d", file, ran, n)
	}
	return out
}

// Check runs the n cases of a file: those that are known to differ, with a reason
// each, differ, and no others. A case that is known but not in the file is no
// error: several files may share a list.
func Check(t testing.TB, d dialect.Dialect, file string, n int, known map[string]string) {
	t.Helper()
	differing := Differing(t, d, file, n)
	for id, res := range differing {
		if known[id] == "" {
			t.Errorf("%s: wanted %s, got %s: %s", id, res.Wanted, res.Got, res.Reason)
		}
	}
	jsonltest.Lines(t, file, func(line int, data []byte) {
		if c, err := cases.Parse(file, line, data); err == nil && known[c.ID] != "" {
			if _, differs := differing[c.ID]; !differs {
				t.Errorf("%s agrees; take it off the list of differences", c.ID)
			}
		}
	})
}

package agentscope_test

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/internal/cases"
	"github.com/obstat/obstat/internal/jsonl"
)

//go:embed testdata
var testdata embed.FS

func find(string) (dialect.Dialect, error) { return &agentscope.Dialect{}, nil }

// differences reads the list of cases that are known to differ.
func differences(t *testing.T) map[string]string {
	t.Helper()
	text, err := testdata.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if id, why, ok := strings.Cut(sc.Text(), "\t"); ok {
			out[id] = why
		}
	}
	return out
}

// TestCases runs the recorded answers of the original.
func TestCases(t *testing.T) {
	known := differences(t)
	for _, tt := range []struct {
		file string
		// share is how many of a hundred must agree; strict files must agree in
		// every case that the list does not name.
		share int
	}{{"document", 99}, {"parser", 90}, {"unsafe", 100}, {"shelldanger", 100}, {"shellreadonly", 80}} {
		t.Run(tt.file, func(t *testing.T) {
			total, same := runCases(t, tt.file, known)
			if total == 0 || same*100 < total*tt.share {
				t.Errorf("%d of %d agree; at least %d %% must", same, total, tt.share)
			}
		})
	}
}

func runCases(t *testing.T, file string, known map[string]string) (total, same int) {
	data, err := testdata.ReadFile("testdata/" + file + ".jsonl.gz")
	if err != nil {
		data, err = testdata.ReadFile("testdata/" + file + ".jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	r, runner := jsonl.NewReader(bytes.NewReader(data)), cases.Runner{Find: find}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return total, same
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := cases.Parse(file, r.Line(), line)
		if err != nil {
			t.Fatal(err)
		}
		total++
		res := runner.Run(c)
		_, listed := known[c.ID]
		switch {
		case res.Pass:
			same++
			if listed {
				t.Errorf("%s agrees; take it off the list of differences", c.ID)
			}
		case !listed:
			t.Errorf("%s\nwant %s\ngot  %s (%s)", c.ID, res.Wanted, res.Got, res.Reason)
		}
	}
}

// TestGolden runs the document's own flowcharts and tables, one file each; every
// case cites the row it comes from.
func TestGolden(t *testing.T) {
	files, err := testdata.ReadDir("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			if total, same := runCases(t, "golden/"+strings.TrimSuffix(f.Name(), ".jsonl"), nil); total == 0 || total != same {
				t.Errorf("%d of %d pass", same, total)
			}
		})
	}
}

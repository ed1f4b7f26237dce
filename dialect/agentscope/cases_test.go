package agentscope_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// differences reads the list of cases that are known to differ.
func differences(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if id, why, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			out[id] = why
		}
	}
	return out
}

// TestCases runs the recorded answers of the original.
func TestCases(t *testing.T) {
	known := differences(t)
	for file, n := range map[string]int{"document": 2802, "parser": 1090, "unsafe": 211, "shelldanger": 511, "shellreadonly": 245} {
		casestest.Check(t, &agentscope.Dialect{}, "testdata/"+file+".jsonl.gz", n, known)
	}
}

// TestGolden runs the document's own flowcharts and tables, one file each; every
// case cites the row it comes from.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		casestest.Check(t, &agentscope.Dialect{}, file, strings.Count(string(text), "\n"), nil)
	}
}

package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/cases"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
)

func find(string) (dialect.Dialect, error) { return Dialect{}, nil }

// runCases runs a file and returns the cases that differ.
func runCases(t *testing.T, name string, want int) map[string]cases.Result {
	t.Helper()
	r := cases.Runner{Find: find}
	n, failed := 0, map[string]cases.Result{}
	jsonltest.Lines(t, filepath.Join("testdata", name), func(line int, data []byte) {
		c, err := cases.Parse(name, line, data)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if res := r.Run(c); !res.Pass {
			res.Reason = fmt.Sprintf("%s: %s", c.Call.Input, res.Reason)
			failed[c.ID] = res
		}
	})
	if n != want {
		t.Fatalf("%d cases, want %d", n, want)
	}
	return failed
}

func TestDocumentCases(t *testing.T) {
	for id, res := range runCases(t, "opencode-document.jsonl.gz", 484) {
		t.Errorf("%s: wanted %s, got %s: %s", id, res.Wanted, res.Got, res.Reason)
	}
}

func TestProgramCases(t *testing.T) {
	for id, res := range runCases(t, "opencode-program.jsonl.gz", 484) {
		t.Errorf("%s: wanted %s, got %s: %s", id, res.Wanted, res.Got, res.Reason)
	}
}

func TestUnsafeCases(t *testing.T) {
	for id, res := range runCases(t, "opencode-unsafe.jsonl.gz", 31) {
		t.Errorf("%s: wanted %s, got %s: %s", id, res.Wanted, res.Got, res.Reason)
	}
}

// departures are the reasons of parser-departures.txt.
var departures = map[string]string{
	"redirect": "a redirect outside the project writes there, whatever it is attached to",
	"program":  "the program changes or copies what lies outside the project, and is none of the twelve that the original knows",
	"spelling": "one of the twelve under another spelling",
	"home":     "$HOME is known, and lies outside",
	"keyword":  "time, coproc and ! are not commands: what runs is the command after them",
	"eval":     "eval runs its text",
	"workdir":  "the original answered for a call with a workdir, which the recorded one has not",
}

// looser are the departures that allow more than the original did.
var looser = map[string]bool{"keyword": true, "workdir": true}

// TestParserCases holds the answers against those that hang on the original's
// own parser. Every departure is listed, and none is looser on anything that
// does harm.
func TestParserCases(t *testing.T) {
	const total = 398
	listed, err := os.ReadFile(filepath.Join("testdata", "parser-departures.txt"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" {
			reasons["opencode/bash-decision-"+f[0]] = f[1]
		}
	}
	failed := runCases(t, "opencode-parser.jsonl.gz", total)
	for id, res := range failed {
		switch why := reasons[id]; {
		case departures[why] == "":
			t.Errorf("%s: wanted %s, got %s: %s", id, res.Wanted, res.Got, res.Reason)
		case res.Got == "allow" && !looser[why]:
			t.Errorf("%s is looser than the original: %s", id, res.Reason)
		}
		delete(reasons, id)
	}
	for id := range reasons {
		t.Errorf("%s is listed as a departure and is none", id)
	}
	if got := float64(total-len(failed)) / total; got < 0.9 {
		t.Errorf("%.1f %% are equal", 100*got)
	}
	t.Logf("%d of %d are equal", total-len(failed), total)
}

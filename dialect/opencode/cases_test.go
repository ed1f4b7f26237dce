package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// TestCases runs the document's answers, the program's, and what the program
// allowed although it does harm.
func TestCases(t *testing.T) {
	for file, n := range map[string]int{"document": 484, "program": 484, "unsafe": 31} {
		casestest.Check(t, Dialect{}, "testdata/opencode-"+file+".jsonl.gz", n, nil)
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
	failed := casestest.Differing(t, Dialect{}, "testdata/opencode-parser.jsonl.gz", total)
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

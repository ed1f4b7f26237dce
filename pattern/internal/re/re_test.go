package re

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
)

// TestRemembering: programs answer as CPython 3.11 did, also where they remember from their first
// step on which ways have failed.
func TestRemembering(t *testing.T) {
	file, err := os.Open("../../testdata/re.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<24)
	answers := 0
	for in.Scan() {
		var row struct {
			P, Error string
			T        [][3]any
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		for i, full := range []bool{true, false} {
			tree, groups, err := Read(row.P, full)
			if err != nil || row.Error != "" {
				continue // package pattern compares refusals
			}
			prog := Compile(tree, groups, full)
			if prog == nil {
				continue
			}
			prog.short = -1
			for _, c := range row.T {
				text, want := c[0].(string), c[i+1].(float64) != 0
				answers++
				if got, err := prog.Match(text); got != want || err != nil {
					t.Errorf("%q on %q, full %t: %t %v, python says %t", row.P, text, full, got, err, want)
				}
			}
		}
	}
	if in.Err() != nil || answers < 10_000 {
		t.Fatalf("%d answers, %v", answers, in.Err())
	}
}

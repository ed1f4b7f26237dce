package adkfluent_test

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/internal/jsonl"
)

// lines calls f with every line of a gzipped file of testdata.
func lines(t *testing.T, name string, f func(line []byte)) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := jsonl.NewReader(file)
	for {
		line, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(line)
	}
}

type testCase struct {
	ID     string
	Policy json.RawMessage
	Layers []json.RawMessage
	Call   obstat.Call
	Floor  string
	Want   struct {
		Verdict obstat.Verdict
		Error   bool
	}
}

func (c *testCase) load() (*dialect.Loaded, error) {
	in := &dialect.Input{Options: map[string]string{"floor": c.Floor}}
	for _, l := range append(c.Layers, c.Policy) {
		if l != nil {
			in.Files = append(in.Files, dialect.File{Name: "permissions.json", Data: l})
		}
	}
	return dialect.Load(adkfluent.Dialect{}, in)
}

// The answers that the real system gave to 885 calls.
func TestRecordedAnswers(t *testing.T) {
	n := 0
	lines(t, "document.jsonl.gz", func(line []byte) {
		var c testCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		l, err := c.load()
		if (err != nil) != c.Want.Error {
			t.Errorf("%s: error %v, want error: %v", c.ID, err, c.Want.Error)
			return
		}
		if err != nil {
			return
		}
		d := l.Policy.Decide(&c.Call, &obstat.Snapshot{})
		if d.Verdict != c.Want.Verdict {
			t.Errorf("%s: %s, want %s (%s)", c.ID, d.Verdict, c.Want.Verdict, d.Reason())
		}
	})
	if n != 885 {
		t.Errorf("%d cases, want 885", n)
	}
}

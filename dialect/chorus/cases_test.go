package chorus_test

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
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

// load reads one file, agent.json unless it is named otherwise.
func load(data string, options map[string]string) (*dialect.Loaded, error) {
	return dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "chorus.json", Data: []byte(data)}}, Options: options})
}

func policy(t testing.TB, data string) *obstat.Policy {
	t.Helper()
	l, err := load(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l.Policy
}

// The answers that the real matcher gave to 390 action strings.
func TestRecordedAnswers(t *testing.T) {
	n := 0
	lines(t, "document.jsonl.gz", func(line []byte) {
		var c struct {
			ID     string
			Policy json.RawMessage
			Call   obstat.Call
			Floor  string
			Want   struct {
				Verdict obstat.Verdict
				Error   bool
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		l, err := load(string(c.Policy), map[string]string{"floor": c.Floor})
		if (err != nil) != c.Want.Error {
			t.Errorf("%s: error %v, want error: %v", c.ID, err, c.Want.Error)
			return
		}
		if err != nil {
			if es, ok := err.(obstat.Errors); !ok || es[0].Pos.Line == 0 {
				t.Errorf("%s: %v has no position", c.ID, err)
			}
			return
		}
		if d := l.Policy.Decide(&c.Call, nil); d.Verdict != c.Want.Verdict {
			t.Errorf("%s: %s, want %s (%s)", c.ID, d.Verdict, c.Want.Verdict, d.Reason())
		}
	})
	if n != 390 {
		t.Errorf("%d cases, want 390", n)
	}
}

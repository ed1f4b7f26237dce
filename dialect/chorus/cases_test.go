package chorus_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
)

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
	type testCase struct {
		ID     string
		Policy json.RawMessage
		Call   obstat.Call
		Floor  string
		Want   struct {
			Verdict obstat.Verdict
			Error   bool
		}
	}
	all := jsonltest.All[testCase](t, "testdata/document.jsonl.gz")
	for i := range all {
		c := &all[i]
		l, err := load(string(c.Policy), map[string]string{"floor": c.Floor})
		if (err != nil) != c.Want.Error {
			t.Errorf("%s: error %v, want error: %v", c.ID, err, c.Want.Error)
			continue
		}
		if err != nil {
			if es, ok := err.(obstat.Errors); !ok || es[0].Pos.Line == 0 {
				t.Errorf("%s: %v has no position", c.ID, err)
			}
			continue
		}
		if d := l.Policy.Decide(&c.Call, nil); d.Verdict != c.Want.Verdict {
			t.Errorf("%s: %s, want %s (%s)", c.ID, d.Verdict, c.Want.Verdict, d.Reason())
		}
	}
	if len(all) != 390 {
		t.Errorf("%d cases, want 390", len(all))
	}
}

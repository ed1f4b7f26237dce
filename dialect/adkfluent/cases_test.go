package adkfluent_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/internal/jsonl/jsonltest"
)

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
	all := jsonltest.All[testCase](t, "testdata/document.jsonl.gz")
	for i := range all {
		c := &all[i]
		l, err := c.load()
		if (err != nil) != c.Want.Error {
			t.Errorf("%s: error %v, want error: %v", c.ID, err, c.Want.Error)
			continue
		}
		if err != nil {
			continue
		}
		d := l.Policy.Decide(&c.Call, &obstat.Snapshot{})
		if d.Verdict != c.Want.Verdict {
			t.Errorf("%s: %s, want %s (%s)", c.ID, d.Verdict, c.Want.Verdict, d.Reason())
		}
	}
	if len(all) != 885 {
		t.Errorf("%d cases, want 885", len(all))
	}
}

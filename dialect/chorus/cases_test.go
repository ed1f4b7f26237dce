package chorus_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/internal/study/cases/casestest"
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
	casestest.Check(t, chorus.Dialect{}, "testdata/document.jsonl.gz", 390, nil)
}

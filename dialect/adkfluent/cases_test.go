package adkfluent_test

import (
	"testing"

	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// The answers that the real system gave to 885 calls.
func TestRecordedAnswers(t *testing.T) {
	casestest.Check(t, adkfluent.Dialect{}, "testdata/document.jsonl.gz", 885, nil)
}

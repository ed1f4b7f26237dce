package jiuwen

import (
	"testing"

	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// TestRecorded runs what the document decides, or leaves to the original; what
// the original allowed although it does harm, or crashed on; and what hung on the
// original's own shell parser: the document looks at the whole command instead.
func TestRecorded(t *testing.T) {
	for file, n := range map[string]int{"document": 692, "unsafe": 13, "parser": 302} {
		casestest.Check(t, Dialect{}, "testdata/jiuwen-"+file+".jsonl.gz", n, nil)
	}
}

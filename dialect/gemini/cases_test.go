package gemini_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/gemini"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// stricter are the cases in which the answer is not the real policy engine's, with the floor
// off.
var stricter = map[string]string{
	"gemini/program-0372": "echo `git push` runs git push: it is no safe command, although echo is one",
	"gemini/program-0675": "a safe command with a redirect is asked about in every mode",
}

// dropped are the cases with an allow rule whose expression Gemini CLI takes for too slow: it tells so, drops the rule
// and goes on with the others, as obstat does; the recorder wrote down that it was told.
func dropped() map[string]string {
	out := maps.Clone(stricter)
	for i := 753; i <= 760; i++ {
		out[fmt.Sprintf("gemini/program-%04d", i)] = "the rest of the file counts"
	}
	return out
}

// TestProgram: the answers of the real policy engine to generated pairs of policies and calls.
func TestProgram(t *testing.T) {
	casestest.Check(t, gemini.Dialect{}, recorded, pairs, dropped())
}

// TestFloor: with the floor on, no answer is looser than the real policy engine's.
func TestFloor(t *testing.T) {
	r := cases.Runner{Find: func(string) (dialect.Dialect, error) { return gemini.Dialect{}, nil }}
	n := 0
	jsonltest.Lines(t, recorded, func(line int, data []byte) {
		c, err := cases.Parse(recorded, line, data)
		if err != nil {
			t.Fatal(err)
		}
		c.Config.Options[dialect.FloorOption] = "on"
		l, err := r.Load(c)
		if err != nil || c.Want.Error {
			return
		}
		d := l.Policy.Decide(&c.Call, &c.World)
		if d.Verdict > *c.Want.Verdict {
			t.Errorf("%s: %s: %v, the program says %v: %s", c.ID, c.Call.Input, d.Verdict, *c.Want.Verdict, d.Reason())
		}
		if d.Verdict < *c.Want.Verdict {
			n++
			t.Logf("%s: %s: %v, the program says %v: %s", c.ID, c.Call.Input, d.Verdict, *c.Want.Verdict, d.Reason())
		}
	})
	t.Logf("%d of %d are stricter", n, pairs)
}

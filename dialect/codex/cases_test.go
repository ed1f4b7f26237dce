package codex_test

import (
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/codex"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/cases/casestest"
)

// TestProgram: the answers of the real program to generated pairs of rules and commands,
// and whether a rule gave them.
func TestProgram(t *testing.T) {
	casestest.Check(t, codex.Dialect{}, recorded, pairs, nil)
	withFloor(t, "off", func(c *cases.Case, l *dialect.Loaded) {
		if d := l.Policy.Decide(&c.Call, &c.World); (d.Rule == nil) != (c.Note == noRule) {
			t.Errorf("%s: %s: the program: %q, obstat: %v by %v", c.ID, c.Call.Input, c.Note, d.Verdict, d.Rule)
		}
	})
}

// TestFloor: with the floor on, no answer is looser than the program's, and what is stricter
// is so by a rule.
func TestFloor(t *testing.T) {
	stricter := 0
	withFloor(t, "on", func(c *cases.Case, l *dialect.Loaded) {
		d := l.Policy.Decide(&c.Call, &c.World)
		if d.Verdict > *c.Want.Verdict {
			t.Errorf("%s: %s: %v, the program says %v: %s", c.ID, c.Call.Input, d.Verdict, *c.Want.Verdict, d.Reason())
		}
		if d.Verdict < *c.Want.Verdict {
			if stricter++; d.Rule == nil && d.Stage != "floor" {
				t.Errorf("%s: %s: %v without a rule: %s", c.ID, c.Call.Input, d.Verdict, d.Reason())
			}
			t.Logf("%s: %s: %v, the program says %v: %s", c.ID, c.Call.Input, d.Verdict, *c.Want.Verdict, d.Reason())
		}
	})
	t.Logf("%d of %d are stricter", stricter, pairs)
}

// withFloor loads the configuration of each recorded case that is not refused.
func withFloor(t *testing.T, floor string, do func(c *cases.Case, l *dialect.Loaded)) {
	t.Helper()
	r := cases.Runner{Find: func(string) (dialect.Dialect, error) { return codex.Dialect{}, nil }}
	jsonltest.Lines(t, recorded, func(line int, data []byte) {
		c, err := cases.Parse(recorded, line, data)
		if err != nil {
			t.Fatal(err)
		}
		c.Config.Options[dialect.FloorOption] = floor
		if l, err := r.Load(c); err == nil {
			do(c, l)
		}
	})
}

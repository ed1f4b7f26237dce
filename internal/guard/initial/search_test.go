package initial_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/internal/guard/initial"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// TestSearches: an exception that reaches further than the original is mended as one, and not by a rule for each
// file that a search comes upon: `*.env.example` of obstat.yaml is also all that is in a directory of that name.
func TestSearches(t *testing.T) {
	was, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Home: diff.Home, Files: []dialect.File{{Name: "opencode.json",
		Data: []byte(`{"permission": {"read": {"*": "allow", "*.env.*": "deny", "*.env.example": "allow"},
			"bash": {"*": "ask", "git log*": "allow"}, "doom_loop": "ask"}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []initial.Line
	said, _ := convert.Sentences(was)
	for _, s := range said {
		lines = append(lines, initial.Line{List: s.Verdict.String(), Sentence: s.Text, Own: true, From: s.From})
	}
	searches, made := 0, &diff.Made{}
	d, err := initial.Write("balanced", nil, lines, &initial.Check{Home: diff.Home,
		Loosened: func(l *dialect.Loaded) ([]diff.Region, error) {
			searches++
			return diff.Loosened(&diff.Draft{Was: []*obstat.Policy{was.Policy}, Now: l.Policy, Made: made}), nil
		}})
	if err != nil || len(d.Looser) > 0 || searches > 3 {
		t.Errorf("%d searches, %d looser, %v\n%s", searches, len(d.Looser), err, d.Text)
	}
}

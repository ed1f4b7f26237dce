package dialect_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/pattern"
)

// TestBroadWildcard: a wildcard is broad where a bare interpreter, shell or wrapper stands before it.
func TestBroadWildcard(t *testing.T) {
	for text, want := range map[string]bool{
		"/bin/rm *": false, "python /srv/x.py *": false, "python *": true, "python /srv/*": false,
		"sh /srv/x.sh": false, "/usr/bin/env *": true, "git push *": false, "*": true, "": false,
	} {
		r := &obstat.Rule{Tool: obstat.Is("bash"), Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: text}, Verdict: obstat.Allow}
		if got := dialect.Broad(r); got != want {
			t.Errorf("%q: %v", text, got)
		}
		r.Tool = obstat.Text{Flavour: pattern.Full, Text: "Bash|Monitor"}
		if got := dialect.Broad(r); got != want {
			t.Errorf("%q of tools that a pattern names: %v", text, got)
		}
		r.Tool.Text = "Read|Grep"
		if dialect.Broad(r) {
			t.Errorf("%q of tools without commands", text)
		}
	}
}

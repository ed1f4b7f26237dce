package effect

import (
	"strings"
	"testing"
)

// Every block of the knowledge base is understood, with all its subcommands, and no program
// has two.
func TestKnowledgeBaseCompiles(t *testing.T) {
	b := kb()
	seen := map[string]bool{}
	for i := range b.entries {
		e := &b.entries[i]
		for name := range strings.FieldsSeq(e.head) {
			if seen[name] {
				t.Errorf("%s:%d: %s is listed twice", e.file, e.line, name)
			}
			seen[name] = true
			if b.find(name) != e {
				t.Errorf("%s:%d: %s is not found", e.file, e.line, name)
			}
		}
		s, err := compile(e.text)
		if err != nil {
			t.Errorf("%s:%d: %v", e.file, e.line, err)
		}
		for _, sub := range append(subsOf(s), s.wild...) {
			if sub.ready().err != nil {
				t.Errorf("%s:%d: %v: %v", e.file, e.line, sub.names, sub.err)
			}
		}
		if !s.hasSubs() && s.does == nil && !runs(s.args[len(s.args)-1].role) {
			t.Errorf("%s:%d: does nothing", e.file, e.line)
		}
	}
	if len(seen) < 400 {
		t.Errorf("%d programs, want 400", len(seen))
	}
	t.Logf("%d programs", len(seen))
}

func subsOf(s *spec) []*spec {
	var out []*spec
	for _, list := range s.subs {
		out = append(out, list...)
	}
	return out
}

package effect

import (
	"testing"
)

// Every block of the knowledge base is understood, with all its subcommands.
func TestKnowledgeBaseCompiles(t *testing.T) {
	b := kb()
	for name, e := range b.programs {
		s, err := compile(e.text)
		if err != nil {
			t.Errorf("%s:%d: %s: %v", e.file, e.line, name, err)
		}
		check := func(list []*spec) {
			for _, sub := range list {
				if sub.ready().err != nil {
					t.Errorf("%s:%d: %s %v: %v", e.file, e.line, name, sub.names, sub.err)
				}
			}
		}
		for _, list := range s.subs {
			check(list)
		}
		check(s.wild)
		if !s.hasSubs() && s.does == nil && !runs(s.args[len(s.args)-1].role) {
			t.Errorf("%s:%d: %s does nothing", e.file, e.line, name)
		}
	}
	if len(b.twice) > 0 {
		t.Errorf("listed twice: %v", b.twice)
	}
	t.Logf("%d programs", len(b.programs))
}

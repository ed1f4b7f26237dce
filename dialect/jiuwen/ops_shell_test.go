package jiuwen

import (
	"path"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// shellParseDepartures are commands that the original's parser names otherwise
// than the shell does.
var shellParseDepartures = map[string]string{
	"jwop-00029": "a continued line: the program is ls, not ls and a line break",
	"jwop-00115": "an assignment before a command is not the program",
	"jwop-00119": "an assignment before a command is not the program",
	"jwop-00161": "time is a word of the shell; the program is ls",
	"jwop-00471": "an empty name runs nothing",
	"jwop-00943": "$'rm' is rm",
	"jwop-01083": "$'reboot' is reboot",
}

// TestOpsShellParse: the document matches the whole command, so the parser of
// later versions has no part in the policy; what a command runs is the floor's
// business. What has to hold of it: every program that the original's parser
// finds in a command is found here, too. Of what the original calls too complex
// it says nothing to compare.
func TestOpsShellParse(t *testing.T) {
	compared := 0
	for _, o := range ops(t, "shell_parse", 324) {
		var in struct{ Command string }
		var want struct {
			Kind        string
			Subcommands []struct{ Argv []string }
		}
		o.in(t, &in)
		o.out(t, &want)
		if want.Kind != "simple" || shellParseDepartures[o.ID] != "" {
			continue
		}
		compared++
		a := (&obstat.Facts{Call: shellCall(t, "bash", in.Command)}).Analysis()
		have := map[string]bool{}
		for i := range a.Commands {
			have[a.Commands[i].Program] = true
		}
		for _, s := range want.Subcommands {
			if name := path.Base(strings.Trim(strings.Join(s.Argv[:min(1, len(s.Argv))], ""), `"'`)); !have[name] && !hides(&obstat.Facts{Call: shellCall(t, "bash", in.Command)}) {
				t.Errorf("%s: %q runs %s, and only %v is seen", o.ID, in.Command, name, have)
			}
		}
	}
	if compared < 250 {
		t.Errorf("only %d commands were compared", compared)
	}
}

// hides tells whether the analysis says that it cannot see what runs.
func hides(f *obstat.Facts) bool {
	for _, g := range f.Analysis().Gaps {
		if g.Hides {
			return true
		}
	}
	return false
}

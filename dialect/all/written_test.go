package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// Code that a call writes and then runs is held to the rules as the call itself is: a line of the file begins with a minus if
// it does what is denied, with a plus if not. `\n` is the end of a line.
func TestWrittenCode(t *testing.T) {
	for _, name := range pathDialects {
		p := load(t, name, "**/.env")
		for _, line := range lines(t, "written.txt") {
			c := strings.ReplaceAll(line[2:], `\n`, "\n")
			d := decide(p, c, world)
			if line[0] == '+' && d.Verdict != obstat.Allow || line[0] == '-' && d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: %v: %s", name, line, d.Verdict, d.Reason())
			}
		}
	}
}

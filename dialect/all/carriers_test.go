package all_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// carried returns a command as one of carriers.txt has it run: <C> is the command, <Q> the command as
// one word of the shell, <S> that word for a shell that begins elsewhere, <J> a string of a program.
func carried(carrier, command string) string {
	word := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }
	text, _ := json.Marshal(command)
	return strings.NewReplacer(`\n`, "\n", "<C>", command, "<Q>", word(command), "<S>", word("cd "+dir+"; "+command), "<J>", string(text)).Replace(carrier)
}

// What is not allowed by itself is not allowed in any other construct of the shell, through another program, from a
// file that is written first, or through two of these. Each command meets some of the carriers in one dialect or
// another, and in the end every carrier some hundred commands.
func TestCarriers(t *testing.T) {
	carriers := lines(t, "carriers.txt")
	for k, name := range pathDialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := load(t, name, "**/.env")
			for i, c := range lines(t, "attacks.txt") {
				for j := range 4 {
					if !*long && j != (i+k)%4 {
						continue
					}
					at := 7*i + 11*j + k
					w := carried(carriers[at%len(carriers)], c)
					if j == 3 {
						w = carried(carriers[(at/3)%len(carriers)], w)
					}
					if d := decide(p, w, world); d.Verdict == obstat.Allow {
						t.Errorf("%q is allowed: %s", w, d.Reason())
					}
				}
			}
		})
	}
}

// What is allowed by itself is allowed between harmless words, too.
func TestEverydayCarriers(t *testing.T) {
	frames := []string{"<C>\ntrue", "true; <C>", "cd . && <C>", "( <C>\n)", "{ <C>\n}", "{ <C>\n} 2>&1 | tail -20", "# first\n<C>", "pwd; <C>", "  <C>  ", "set -e\n<C>",
		"if true; then <C>\nfi", "echo \"$( <C>\n)\"", "f() { <C>\n}; f", "<C>\necho \"exit: $?\"", "bash -c <Q>"}
	for k, name := range pathDialects {
		p := load(t, name, "**/.env")
		for i, c := range lines(t, "everyday.txt") {
			for j := range 3 {
				w := carried(frames[(i+5*j+k)%len(frames)], c)
				if d := decide(p, w, world); d.Verdict != obstat.Allow && !strings.Contains(d.Reason(), "statically analyzed") {
					t.Errorf("%s: %q: %v: %s", name, w, d.Verdict, d.Reason())
				}
			}
		}
	}
}

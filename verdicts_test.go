package obstat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// verdictPolicies decide the commands of testdata/verdicts.txt, in the order of its columns.
var verdictPolicies = []string{"claudecode", "claudecode-narrow", "native", "opencode", "program", "floor"}

// TestVerdicts: each command of testdata/verdicts.txt gets the answers of its columns: `dkKaaa` is a
// denial, two asks and three allows; the second ask, a capital, is the floor's.
func TestVerdicts(t *testing.T) {
	const name = "testdata/verdicts.txt"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var policies []*dialect.Loaded
	for _, p := range verdictPolicies {
		file, err := os.ReadFile("testdata/decisions/" + p + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(file), "\n---\n")
		policies = append(policies, loadLab(t, head))
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(text)) {
		want, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		input, err := json.Marshal(map[string]string{"command": strings.ReplaceAll(command, `\n`, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		letters := ""
		for i, l := range policies {
			tool := "Bash"
			if verdictPolicies[i] == "opencode" {
				tool = "bash"
			}
			d := l.Policy.Decide(&obstat.Call{Tool: tool, Input: input, Dir: "/home/u/project", Roots: []string{"/home/u/project"}}, lab())
			letter := map[obstat.Verdict]string{obstat.Deny: "d", obstat.Ask: "k", obstat.Allow: "a"}[d.Verdict]
			if d.By.Kind == obstat.ByFloor {
				letter = strings.ToUpper(letter)
			}
			letters += letter
		}
		if fmt.Fprintf(&got, "%s\t%s\n", letters, command); letters != want && !*update {
			t.Errorf("%s, was %s: %s", letters, want, command)
		}
	}
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

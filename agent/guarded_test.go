package agent

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// guardedName is self-protection's table of the agents' settings.
const guardedName = "../internal/guard/protect/agents.txt"

const guardedHead = `# The agents' settings, made from package agent: go test ./agent -run Table -update
`

// guardedTable returns the table: a line for every place that an agent reads hooks
// from, in the form of internal/guard/protect/guarded.txt, and for every program, flag and
// variable that can take its hooks away.
func guardedTable() string {
	var lines []string
	for _, a := range All() {
		for kind, list := range map[string]string{"agent": a.guards.programs, "bare": a.guards.bare, "moves": a.guards.moves, "off": a.guards.off, "hook": a.guards.paths} {
			for word := range strings.FieldsSeq(list) {
				lines = append(lines, kind+" "+word)
			}
		}
		for _, p := range a.places {
			end := ""
			if p.dir {
				end = "/"
			}
			switch p.scope {
			case Managed:
				for _, dir := range []string{p.machine.linux, p.machine.mac, strings.ReplaceAll(p.machine.windows, `\`, "/")} {
					lines = append(lines, "hook "+dir+"/")
				}
			case User:
				lines = append(lines, "hook "+path.Join(p.under, p.path)+end)
				if p.env != "" {
					lines = append(lines, "moved "+p.env+" "+p.path+end, "moves "+p.env)
				}
			default:
				lines = append(lines, "hook "+p.path+end)
			}
		}
	}
	slices.Sort(lines)
	return guardedHead + strings.Join(slices.Compact(lines), "\n") + "\n"
}

// personName is the table of the agents' processes for internal/guard/person.
const personName = "../internal/guard/person/agents.txt"

// personTable returns the names of the agents' own processes, and the variables by which
// their commands are marked.
func personTable() string {
	var lines []string
	for _, a := range All() {
		for kind, list := range map[string]string{"process": a.guards.process, "marks": a.guards.marks} {
			for word := range strings.FieldsSeq(list) {
				lines = append(lines, kind+" "+word)
			}
		}
	}
	slices.Sort(lines)
	return guardedHead + strings.Join(slices.Compact(lines), "\n") + "\n"
}

// TestPersonTable: adding an agent makes its commands known as its own.
func TestPersonTable(t *testing.T) {
	want := personTable()
	if *update {
		if err := os.WriteFile(personName, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(personName); err != nil || string(got) != want {
		t.Errorf("%s is not what the agents' files say (%v); run with -update", personName, err)
	}
}

// TestGuardedTable: self-protection guards every place that an agent reads hooks
// from, so that adding an agent adds them.
func TestGuardedTable(t *testing.T) {
	want := guardedTable()
	if *update {
		if err := os.WriteFile(guardedName, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(guardedName); err != nil || string(got) != want {
		t.Errorf("%s is not what the agents' settings say (%v); run with -update", guardedName, err)
	}
}

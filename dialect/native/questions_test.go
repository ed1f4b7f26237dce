package native_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/dialect/native"
)

var update = flag.Bool("update", false, "write the golden files")

// rulesFor holds a rule for each field that the view has, so that each is asked about.
const rulesFor = `version: 1
places:
  locked: [src/locked, vendor/**]
  tokens: [~/tokens, "*.token"]
allow:
  - read workspace
  - write workspace except .git/**, .env*, locked
  - run exactly npm test
  - run git status, git log, find, xargs
  - connect github.com, "*.example.com", localhost, registries
  - tool mcp__db__query where input.table in [users, orders] and input.limit <= 100
  - delete moved
ask:
  - run git push
  - delete workspace
  - rule: write docs
    when: {branch: main}
deny:
  - read secrets, tokens
  - write settings
  - write outside workspace
  - run sudo
  - system
  - rule: connect anywhere
    after: read tokens
`

// questionCalls returns the calls of the golden file: those of the engine's own tests, and
// some of the everyday commands and of the attacks.
func questionCalls(t *testing.T) (out []*obstat.Call) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/decisions/native.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, calls, _ := strings.Cut(string(text), "\n---\n")
	calls, _, _ = strings.Cut(calls, "\n# ") // behind a note are the calls of another list
	for line := range strings.Lines(calls) {
		if line[0] == '\t' {
			continue
		}
		c := &obstat.Call{Dir: "/home/u/project", Roots: []string{"/home/u/project"}}
		if err := json.Unmarshal([]byte(line), c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	for _, name := range []string{"everyday", "attacks", "writes", "locked"} {
		text, err := os.ReadFile("../all/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i := 0; i < len(lines); i += len(lines)/40 + 1 {
			input, err := json.Marshal(map[string]string{"command": strings.ReplaceAll(lines[i], `\n`, "\n")})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/project", Roots: []string{"/home/u/project", "/srv/other"}})
		}
	}
	return out
}

// TestQuestions: what the view asks about many calls, how that is answered and which rules
// are offered, are those of the golden file.
func TestQuestions(t *testing.T) {
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/project", "/home/u/project/src"},
		Links: map[string]string{"/home/u/project/envlink": ".env", "/home/u/project/ssh": "/home/u/.ssh"}}
	var out bytes.Buffer
	for _, text := range []string{rulesFor, "version: 1\n", native.Preset(native.Balanced)} {
		l := load(t, text)
		for _, c := range questionCalls(t) {
			fmt.Fprintf(&out, "%s %s\n", c.Tool, c.Input)
			d, tr := l.Policy.Explain(c, world)
			fmt.Fprintf(&out, "\t%s %s\n", d.Verdict, strings.ReplaceAll(d.Reason(), "\n", `\n`))
			if text != rulesFor {
				tr.Questions = nil
			}
			if text == rulesFor {
				for _, o := range (native.Dialect{}).Targets(c, world) {
					fmt.Fprintf(&out, "\ttarget %s in %s\n", o.Text, o.List)
				}
			}
			for i := range tr.Questions {
				fmt.Fprintf(&out, "\t? %s %q\n", tr.Questions[i].Question.Tool, tr.Questions[i].Question.Subjects)
			}
			for _, o := range l.Offers(c, world, &d) {
				fmt.Fprintf(&out, "\toffer %s in %s: %s\n", o.Text, o.List, o.Rule.String())
			}
		}
	}
	golden(t, "testdata/questions.golden", out.Bytes())
}

// TestOutlines: the questions of any call to a tool.
func TestOutlines(t *testing.T) {
	var out bytes.Buffer
	p := load(t, rulesFor).Program
	v, err := native.Dialect{}.Library().Views[p.View](p.Params)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Bash", "run_shell_command", "Read", "Write", "Edit", "Grep", "LS", "WebFetch", "WebSearch", "mcp__db__query",
		"apply_patch", "read", "write", "delete", "run", "connect", "code", "system", "tool", "Task", ""} {
		fmt.Fprintf(&out, "%s\n", tool)
		for _, q := range v.(kit.Outliner).Outline(tool) {
			fmt.Fprintf(&out, "\t%s %q\n", q.Tool, q.Subjects)
		}
	}
	golden(t, "testdata/outlines.golden", out.Bytes())
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("go test . -update writes %s; look at each line that changes\n%s", name, diff)
	}
}

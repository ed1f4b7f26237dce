package obstat_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
)

var update = flag.Bool("update", false, "write the answers of testdata/decisions")

// labOf returns the machine that a call of testdata/decisions is made on: one with "world":"linked" has the project
// behind a link, and of one with "world":"none" nothing is known.
func labOf(t *testing.T, line string) obstat.World {
	t.Helper()
	var of struct{ World string }
	if err := json.Unmarshal([]byte(line), &of); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	switch of.World {
	case "none":
		return nil
	case "linked":
		return &obstat.Snapshot{HomeDir: "/home/u", Links: map[string]string{"/home/u/project": "/data/p"},
			Dirs: []string{"/data/p", "/data/p/src", "/data/p/certs"}, Files: []string{"/data/p/certs/server.pem"}}
	}
	return lab()
}

// lab is the machine that most calls of testdata/decisions are made on.
func lab() *obstat.Snapshot {
	return &obstat.Snapshot{
		HomeDir: "/home/u", Homes: map[string]string{"root": "/root"},
		Links: map[string]string{"/home/u/project/envlink": ".env", "/home/u/project/up": "..", "/home/u/project/ssh": "/home/u/.ssh"},
		Dirs:  []string{"/", "/home", "/home/u", "/home/u/project", "/home/u/project/src", "/home/u/project/src/locked", "/home/u/.ssh", "/etc", "/tmp"},
		Files: []string{"/home/u/project/.env", "/home/u/project/a.txt"},
	}
}

// loadLab loads the policy that a file of testdata/decisions begins with: the dialect and the name of
// its file in the first line, its text up to `---`; a preset of obstat's has no text.
func loadLab(t *testing.T, head string) *dialect.Loaded {
	t.Helper()
	line, text, _ := strings.Cut(head, "\n")
	name, file, _ := strings.Cut(line, " ")
	if text == "" {
		text = native.Preset(strings.TrimSuffix(file, ".yaml"))
	}
	d, err := all.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Home: "/home/u", Files: []dialect.File{{Name: file, Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// labCall reads a call; one without a directory is made in the project.
func labCall(t *testing.T, line string) *obstat.Call {
	t.Helper()
	c := &obstat.Call{Dir: "/home/u/project", Roots: []string{"/home/u/project"}}
	if err := json.Unmarshal([]byte(line), c); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c
}

// TestDecisions: the answers to many calls under each dialect are those of testdata/decisions,
// with the reason, and with the way through the stages for the first of each file.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/decisions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(want), "\n---\n")
			l := loadLab(t, head)
			var got bytes.Buffer
			fmt.Fprintf(&got, "%s\n---\n", head)
			n := 0
			for line := range strings.Lines(rest) {
				if line[0] == '\t' {
					continue
				}
				got.WriteString(line)
				if line[0] == '#' { // says what the calls below it show
					continue
				}
				answers(&got, l, labCall(t, line), labOf(t, line), n < 10)
				n++
			}
			if *update {
				err = os.WriteFile(name, got.Bytes(), 0o644)
			} else if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("go test . -update writes the answers; look at each that changes\n%s", diff)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// answers writes the decision of a call, a line for each thing that is not empty.
func answers(out *bytes.Buffer, l *dialect.Loaded, c *obstat.Call, world obstat.World, traced bool) {
	d, tr := l.Policy.Explain(c, world)
	fmt.Fprintf(out, "\t%s by %s at %s: %s\n", d.Verdict, d.By.Kind, d.Stage, oneLine(d.Reason()))
	line := func(name string, value any) {
		if v := reflect.ValueOf(value); !v.IsZero() {
			fmt.Fprintf(out, "\t%s: %s\n", name, oneLine(fmt.Sprint(value)))
		}
	}
	line("safety", d.Safety)
	line("only unknown", d.OnlyUnknown)
	line("partly", d.Partly)
	line("part", d.Part)
	line("over", d.Over)
	line("marks", strings.Join(d.Marks, " "))
	line("input", string(d.Input))
	line("rule matched", l.Policy.PartOf(c, world, &d))
	for _, as := range l.Policy.AsOwn(c, world) {
		line("as", as.Tool+" "+string(as.Input))
	}
	if !traced {
		return
	}
	for i := range tr.Questions {
		q := &tr.Questions[i]
		part := ""
		if q.Part != nil {
			part = oneLine(fmt.Sprintf(" of part %+v", *q.Part))
		}
		fmt.Fprintf(out, "\t? %s %q%s\n", q.Question.Tool, q.Question.Subjects, part)
		steps(out, q.Steps)
	}
	steps(out, tr.Amend)
}

// oneLine writes the ends of lines as `\n`.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }

// steps writes the stages that had something to say.
func steps(out *bytes.Buffer, list []obstat.StepTrace) {
	for i := range list {
		s := &list[i]
		if s.Silent || len(s.Hits) == 0 && !s.Settled && s.Note == "" {
			continue
		}
		fmt.Fprintf(out, "\t\t%s %s", s.Kind, s.Stage)
		for _, hit := range s.Hits {
			fmt.Fprintf(out, " hit %s;", hit)
		}
		if s.Rule != nil {
			fmt.Fprintf(out, " picked %s;", s.Rule)
		}
		fmt.Fprintf(out, " settled %t %s safety %t skipped %t %s\n", s.Settled, s.Verdict, s.Safety, s.Skipped, oneLine(s.Note))
	}
}

// eachLabCall calls f with the calls of testdata/decisions and the policy of each.
func eachLabCall(t *testing.T, f func(t *testing.T, l *dialect.Loaded, c *obstat.Call)) {
	files, _ := filepath.Glob("testdata/decisions/*.txt")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(text), "\n---\n")
			l := loadLab(t, head)
			for line := range strings.Lines(rest) {
				if line[0] == '{' {
					f(t, l, labCall(t, line))
				}
			}
		})
	}
}

// same compares two decisions but for the rules' addresses.
func same(a, b *obstat.Decision) bool {
	x, y := *a, *b
	if x.Rule != nil && y.Rule != nil {
		if !x.Rule.Same(y.Rule) {
			return false
		}
		x.Rule, y.Rule = nil, nil
	}
	return reflect.DeepEqual(x, y)
}

// TestDecisionsAgree: a call gets the same answer with and without a trace, from a machine
// that is recorded and from the record, and by the Program that was printed and read again;
// and it is within the tool's reach.
func TestDecisionsAgree(t *testing.T) {
	var of *dialect.Loaded
	var again *obstat.Policy
	eachLabCall(t, func(t *testing.T, l *dialect.Loaded, c *obstat.Call) {
		if of != l {
			of, again = l, reread(t, l)
		}
		d := l.Policy.Decide(c, lab())
		if e, _ := l.Policy.Explain(c, lab()); !same(&d, &e) {
			t.Errorf("%s: %+v with a trace, %+v without", c.Input, e, d)
		}
		rec := &obstat.Recorder{Of: lab()}
		if r := l.Policy.Decide(c, rec); !same(&d, &r) {
			t.Errorf("%s: %+v recorded, %+v not", c.Input, r, d)
		}
		seen := rec.Seen()
		if seen == nil {
			t.Fatalf("%s: nothing seen", c.Input)
		}
		if r := l.Policy.Decide(c, seen); !same(&d, &r) {
			t.Errorf("%s: %+v by the record %+v, %+v at first", c.Input, r, seen, d)
		}
		if p := again.Decide(c, lab()); !same(&d, &p) {
			t.Errorf("%s: %+v printed and read, %+v at first", c.Input, p, d)
		}
		if reach := l.Policy.Reach(c.Tool, c.Mode); c.Agent == "" && len(d.Faults) == 0 && len(c.Subjects) == 0 &&
			(d.Verdict < reach.Strictest || d.Verdict > reach.Loosest) {
			t.Errorf("%s %s: %s, reach %+v", c.Tool, c.Input, d.Verdict, reach)
		}
	})
}

// reread prints the policy's Program and reads it again.
func reread(t *testing.T, l *dialect.Loaded) *obstat.Policy {
	t.Helper()
	text, err := json.Marshal(l.Policy.Program())
	if err != nil {
		t.Fatal(err)
	}
	var p obstat.Program
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	pol, err := obstat.Compile(&p, &obstat.Options{Library: dialect.LibraryFor(l.Dialect, &p)})
	if err != nil {
		t.Fatal(err)
	}
	if pol.Digest() != l.Policy.Digest() {
		t.Errorf("digest %s, was %s", pol.Digest(), l.Policy.Digest())
	}
	return pol
}

// TestReachOfTools: the strictest and the loosest answer that each tool can get.
func TestReachOfTools(t *testing.T) {
	files, _ := filepath.Glob("testdata/decisions/*.txt")
	tools := []string{"Bash", "Read", "Write", "Edit", "WebFetch", "run_shell_command", "mcp__db__query", "Unknown"}
	var got []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\n---\n")
		l := loadLab(t, head)
		modes := []obstat.Mode{"", "none"}
		for m := range l.Policy.Program().Pipelines {
			modes = append(modes, m)
		}
		slices.Sort(modes)
		for _, mode := range modes {
			for _, tool := range tools {
				r := l.Policy.Reach(tool, mode)
				got = append(got, fmt.Sprintf("%s %q %s: %s to %s\n", filepath.Base(name), mode, tool, r.Strictest, r.Loosest))
			}
		}
	}
	golden := "testdata/reach.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.SplitAfter(string(want), "\n"), append(got, "")); diff != "" {
		t.Error(diff)
	}
}

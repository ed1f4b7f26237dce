package obstat_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestFloorBelow: a directory that a call touches as a whole gets the verdict of the rule for all that
// is in it, also where that asks; of a search tool, which passes by files that it may not read, only
// such a rule counts; and a call that is denied stays so.
func TestFloorBelow(t *testing.T) {
	on := func(v obstat.Verdict, tool, glob string) obstat.Rule {
		return obstat.Rule{Tool: obstat.Is(tool), Field: "file_path", Pattern: obstat.Text{Flavour: pattern.Minimatch, Text: glob}, Verdict: v}
	}
	grep := on(obstat.Ask, "Grep", "asked/**")
	grep.Field = "path"
	pol := mustCompile(t, &obstat.Program{
		Mode:  "m",
		Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "file_path"}, obstat.FaceDelete: {Tool: "Delete", Field: "file_path"}},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Allow,
			Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules", Pick: obstat.Strictest}}}},
		Rules: map[string][]obstat.Rule{"rules": {on(obstat.Ask, "Read", "asked/**"), on(obstat.Deny, "Read", "closed/**"),
			on(obstat.Ask, "Read", "mixed/key.pem"), on(obstat.Allow, "Read", "mixed/**"), on(obstat.Ask, "Delete", "asked/**"), grep}},
	})
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p", "/home/u/p/asked", "/home/u/p/closed", "/home/u/p/mixed", "/home/u/p/free"}}
	for _, tt := range []struct {
		tool, input string
		want        obstat.Verdict
		why         string
	}{
		{"Bash", `{"command":"cp -r asked /tmp/x"}`, obstat.Ask, "it would read all that is in"},
		{"Bash", `{"command":"cp -r closed /tmp/x"}`, obstat.Deny, "it would read all that is in"},
		{"Bash", `{"command":"cp -r mixed /tmp/x"}`, obstat.Ask, "it may read"},
		{"Bash", `{"command":"cp -r free /tmp/x"}`, obstat.Allow, ""},
		{"Bash", `{"command":"rm -r asked"}`, obstat.Ask, "it would delete all that is in"},
		{"Bash", `{"command":"cp -r asked /tmp/x; cp -r closed /tmp/y"}`, obstat.Deny, "it would read all that is in"},
		{"Bash", `{"command":"cp -r closed /tmp/x; cp -r asked /tmp/y"}`, obstat.Deny, "it would read all that is in"},
		{"Grep", `{"pattern":"x","path":"asked"}`, obstat.Ask, "all that is in"},
		{"Grep", `{"pattern":"x","path":"mixed"}`, obstat.Allow, ""},
		{"Grep", `{"pattern":"x","path":"free"}`, obstat.Allow, ""},
	} {
		call := &obstat.Call{Tool: tt.tool, Input: []byte(tt.input), Dir: "/home/u/p", Roots: []string{"/home/u/p"}}
		if d := pol.Decide(call, world); d.Verdict != tt.want || !strings.Contains(d.Reason(), tt.why) {
			t.Errorf("%s %s: %v, want %v: %s", tt.tool, tt.input, d.Verdict, tt.want, d.Reason())
		}
	}
}

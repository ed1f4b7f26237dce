package agentscope_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
)

// The floor's path rules under this dialect: links, patterns, other users' homes and files that
// are read as scripts.
func TestFloorPaths(t *testing.T) {
	world := &obstat.Snapshot{HomeDir: "/home/u", Homes: map[string]string{"root": "/root"}, Links: map[string]string{"/home/u/project/link-etc": "/etc", "/home/u/p2": "/data/p2"},
		Dirs: []string{"/home/u", "/home/u/project", "/home/u/.ssh", "/etc", "/root", "/data/p2"}}
	allow := func(tool, content string) string {
		return `"allow_rules":{"` + tool + `":[{"tool_name":"` + tool + `","rule_content":` + content + `,"behavior":"allow","source":"userSettings"}]}`
	}
	deny := func(tool, content string) string {
		return `"deny_rules":{"` + tool + `":[{"tool_name":"` + tool + `","rule_content":"` + content + `","behavior":"deny","source":"userSettings"}]}`
	}
	const project = `"/home/u/project/**"`
	for _, tc := range []struct {
		mode, rules, tool, arg string
		want                   obstat.Verdict
		safety                 bool
	}{
		{"default", allow("Write", project), "Write", "/home/u/project/link-etc/passwd", obstat.Ask, false},
		{"default", allow("Write", project), "Write", "link-etc/passwd", obstat.Ask, false},
		{"default", allow("Read", project), "Read", "/home/u/project/link-etc/passwd", obstat.Ask, false},
		{"default", allow("Edit", project), "Edit", "/home/u/project/link-etc/passwd", obstat.Ask, false},
		{"default", allow("Write", project), "Write", "/home/u/project/a", obstat.Allow, false},
		{"default", allow("Write", `"/home/u/p2/**"`), "Write", "/home/u/p2/a", obstat.Allow, false}, // the project itself is behind a link
		{"bypass", deny("Write", "**/.bashrc"), "Bash", "tee ~/.bashr?", obstat.Ask, false},
		{"bypass", deny("Write", "**/.bashrc"), "Bash", "tee ~/.bashrc", obstat.Deny, false},
		{"bypass", deny("Read", "**/.env"), "Bash", "source .env", obstat.Deny, false},
		{"bypass", deny("Read", "**/.env"), "Bash", ". ./.env", obstat.Deny, false},
		{"bypass", deny("Read", "**/.env"), "Bash", "bash .env", obstat.Deny, false},
		{"bypass", deny("Read", "**/.env"), "Bash", "set -a; source .e*", obstat.Ask, false},
		{"bypass", deny("Read", "**/.env"), "Bash", "source venv/bin/activate", obstat.Allow, false},
		{"default", allow("Bash", "null"), "Bash", "rm ~root/.bashrc", obstat.Ask, true},
		{"default", allow("Bash", "null"), "Bash", "rm ~other/.bashrc", obstat.Ask, true},
		{"default", allow("Bash", "null"), "Bash", "rm ~/.bashr?", obstat.Ask, true},
		{"default", allow("Bash", "null"), "Bash", "cp key ~/.ss?/", obstat.Ask, true},
		{"default", allow("Bash", "null"), "Bash", "rm src/*.o", obstat.Allow, false},
	} {
		doc := `{"mode":"` + tc.mode + `",` + tc.rules + `}`
		loaded, err := load(doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		field := "file_path"
		if tc.tool == "Bash" {
			field = "command"
		}
		input, _ := json.Marshal(map[string]string{field: tc.arg})
		dir := "/home/u/project"
		if tc.arg == "/home/u/p2/a" {
			dir = "/home/u/p2"
		}
		d := loaded.Policy.Decide(&obstat.Call{Tool: tc.tool, Input: input, Dir: dir}, world)
		if d.Verdict != tc.want || d.Safety != tc.safety {
			t.Errorf("%s: %s %s: %v, safety %v: %s", tc.rules, tc.tool, tc.arg, d.Verdict, d.Safety, d.Reason())
		}
	}
}

package initial_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/initial"
)

var project = fstest.MapFS{
	"package.json":   {Data: []byte(`{"scripts": {"test": "jest", "lint:fix": "eslint --fix", "deploy": "x", "weird name": "y", "build:prod": "z", "story": "s"}}`)},
	"pnpm-lock.yaml": {Data: []byte("")},
	"Makefile":       {Data: []byte("VERSION := 1\nall: build\nbuild: x\n\tgo build\ntest:\n\tgo test\n.PHONY: all\nrelease: build\n%.o: %.c\n")},
	"go.mod":         {Data: []byte("module x\n")},
}

// TestWrite: each preset takes the rules of a project, loads, and says each rule once, under its reason.
func TestWrite(t *testing.T) {
	for _, preset := range native.Presets() {
		d, err := initial.Write(preset, []string{"A policy.", ""}, append(initial.Look(project), initial.Line{List: "deny", Sentence: "read secrets"}, initial.Line{List: "deny", Sentence: "raed x"}))
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		if !strings.HasPrefix(d.Text, "# A policy.\n#\nversion: 1\n") || len(d.Skipped) == 0 {
			t.Errorf("%s: %v\n%s", preset, d.Skipped, d.Text)
		}
		want := []string{"\n  - run pnpm run test\n", "\n  - run pnpm run lint:fix\n", "\n  - run make test\n", "\n  - run go test\n", "\n  # Go: go.mod.\n"}
		if preset != native.Trusting {
			want = append(want, "\n  - run pnpm run deploy\n", "\n  - run make release\n", "\n  - run pnpm run build:prod\n")
		}
		for _, line := range want {
			if preset == native.Careful && !strings.Contains(line, "#") && !strings.Contains(line, "deploy") && !strings.Contains(line, "release") && !strings.Contains(line, "prod") {
				line = strings.Replace(line, "  - ", "  # - ", 1)
			}
			if strings.Count(d.Text, line) != 1 {
				t.Errorf("%s: %q is there %d times:\n%s", preset, line, strings.Count(d.Text, line), d.Text)
			}
		}
		if strings.Contains(d.Text, "weird") || strings.Contains(d.Text, "story") {
			t.Errorf("%s: a script that nobody knows is in it:\n%s", preset, d.Text)
		}
	}
	if _, err := initial.Write("bold", nil, nil); err == nil {
		t.Error("a preset that is not there")
	}
}

// TestCarry: denials of Claude Code's settings hold in the draft, and what cannot be said is listed.
func TestCarry(t *testing.T) {
	l, err := dialect.Load(claudecode.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "settings.json", Data: []byte(`{"permissions": {"allow": ["Bash(make *)"],
		"deny": ["Bash(rm *)", "Bash(curl:*)", "Read(./.env)", "Read(~/.ssh/**)", "Edit(/src/gen/**)", "WebFetch(domain:evil.example)", "mcp__db", "Agent(x)"], "ask": ["Bash(git push *)"]}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	lines, left := initial.Carry(l.Program, ".claude/settings.json")
	if len(left) != 1 || !strings.Contains(left[0], "Agent(x)") {
		t.Errorf("left %q", left)
	}
	d, err := initial.Write(native.Balanced, nil, lines)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(d.Text)}}})
	if err != nil {
		t.Fatal(err)
	}
	world := &obstat.Snapshot{HomeDir: "/home/u"}
	for input, tool := range map[string]string{`{"command":"rm x"}`: "Bash", `{"command":"env curl x.example"}`: "Bash", `{"file_path":"/p/.env"}`: "Read", `{"command":"cat ~/.ssh/config"}`: "Bash",
		`{"file_path":"/p/src/gen/a.go"}`: "Write", `{"url":"https://evil.example/"}`: "WebFetch", `{"x":1}`: "mcp__db__drop"} {
		c := &obstat.Call{Tool: tool, Input: []byte(input), Dir: "/p", Roots: []string{"/p"}}
		if v := draft.Policy.Decide(c, world).Verdict; v != obstat.Deny {
			t.Errorf("%s %s: %s\n%s", tool, input, v, d.Text)
		}
	}
}

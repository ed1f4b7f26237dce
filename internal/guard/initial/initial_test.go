package initial_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/guard/initial"
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
		d, err := initial.Write(preset, []string{"A policy.", ""}, append(initial.Look(project), initial.Line{List: "deny", Sentence: "read secrets"}, initial.Line{List: "deny", Sentence: "raed x", Own: true}), nil)
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		if !strings.HasPrefix(d.Text, "# A policy.\n#\nversion: 1\n") || len(d.Skipped) == 0 {
			t.Errorf("%s: %v\n%s", preset, d.Skipped, d.Text)
		}
		want := []string{"\n  - run pnpm run test\n", "\n  - run pnpm run lint:fix\n", "\n  - run make test\n", "\n  - run go test\n", "\n  # Go: go.mod.\n"}
		if preset == native.Unattended { // tests and builds run confined, and the others are denied
			want = nil
		}
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
	if _, err := initial.Write("bold", nil, nil, nil); err == nil {
		t.Error("a preset that is not there")
	}
}

// TestGivesWay: what a person allows is allowed, though the preset allows it under a condition or asks about it.
func TestGivesWay(t *testing.T) {
	const asks = "\n  - delete anything except moved\n"
	for sentence, stays := range map[string]bool{"run kill": true, "run rm": false, "run git clean": false,
		"run exactly rm x": true, "run find": true, "read anything": true} {
		d, err := initial.Write("balanced", nil, []initial.Line{{List: "allow", Sentence: sentence, Own: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if sentence != "read anything" && !strings.Contains(d.Text, "\n  - "+sentence+"\n") {
			t.Errorf("%s is missing: %v\n%s", sentence, d.Skipped, d.Text)
		}
		if strings.Contains(d.Text, asks) != stays {
			t.Errorf("%s: the question about deleting stays: %v", sentence, !stays)
		}
	}
	lines := initial.Line{List: "allow", Sentence: "run exactly \"node -e 'a\n  b'\"", Own: true}
	if d, err := initial.Write("balanced", nil, []initial.Line{lines}, nil); err != nil || len(d.Skipped) > 0 ||
		!strings.Contains(d.Text, `"run exactly \"node -e 'a\n  b'\""`) {
		t.Errorf("a command of several lines: %v %v\n%s", err, d.Skipped, d.Text)
	}
	d, err := initial.Write("unattended", nil, []initial.Line{{List: "allow", Sentence: "run rm", Own: true}}, nil)
	if err != nil || !strings.Contains(d.Text, "delete") {
		t.Errorf("unattended: %v\n%s", err, d.Text)
	}
}

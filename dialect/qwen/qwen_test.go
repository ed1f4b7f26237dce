package qwen_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestRules: rules with Qwen Code's own names decide calls of its own tools, and of others.
func TestRules(t *testing.T) {
	files := []dialect.File{{Name: "/p/.qwen/settings.json", Data: []byte(`{
		// written by Qwen Code
		"permissions": {
			"allow": ["Bash(npm test *)", "run_shell_command(make)", "write_file(docs/**)", "WebFetch(flowpipe.io)", "Skill(review)", "Bash(do)"],
			"ask": ["Shell(git push *)"],
			"deny": ["ReadFile(./.env)", "run_shell_command(rm *)", "web_fetch(domain:evil.example)"]},
		"tools": {"exclude": ["save_memory"], "approvalMode": "default"},
		"$version": 3}`)}}
	d, err := all.Of("", files)
	if err != nil || d.Name() != "qwen" {
		t.Fatal(d, err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, field, value string
		want               obstat.Verdict
	}{
		{"run_shell_command", "command", "npm test x", obstat.Allow},
		{"run_shell_command", "command", "make", obstat.Allow},
		{"run_shell_command", "command", "make install", obstat.Ask},
		{"Bash", "command", "make", obstat.Allow},
		{"run_shell_command", "command", "ls -la", obstat.Allow},
		{"run_shell_command", "command", "git push origin x", obstat.Ask},
		{"run_shell_command", "command", "true && rm x", obstat.Deny},
		{"run_shell_command", "command", "cat .env", obstat.Deny},
		{"read_file", "file_path", "/p/.env", obstat.Deny},
		{"read_file", "file_path", "/p/a.go", obstat.Allow},
		{"write_file", "file_path", "/p/docs/a.md", obstat.Allow},
		{"edit", "file_path", "/p/docs/a.md", obstat.Allow},
		{"write_file", "file_path", "/p/src/a.go", obstat.Ask},
		{"web_fetch", "url", "https://flowpipe.io/x", obstat.Allow},
		{"web_fetch", "url", "https://evil.example/x", obstat.Deny},
		{"skill", "skill", "review", obstat.Allow},
		{"save_memory", "fact", "x", obstat.Deny},
	} {
		c := &obstat.Call{Tool: tt.tool, Input: []byte(`{"` + tt.field + `":"` + tt.value + `"}`), Dir: "/p", Roots: []string{"/p"}}
		if d := l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p"}}); d.Verdict != tt.want {
			t.Errorf("%s %s: %s, want %s: %s", tt.tool, tt.value, d.Verdict, tt.want, d.Reason())
		}
	}
}

// TestModes: the approval mode of the settings is the one in force, and settings without rules leave the decision.
func TestModes(t *testing.T) {
	for text, want := range map[string]string{`{"tools": {"approvalMode": "yolo"}}`: "bypassPermissions",
		`{"tools": {"approvalMode": "auto-edit"}}`: "acceptEdits", `{"mcpServers": {}}`: "default"} {
		files := []dialect.File{{Name: ".qwen/settings.json", Data: []byte(text)}}
		d, err := all.Of("", files)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: files})
		if err != nil || string(l.Program.Mode) != want {
			t.Errorf("%s: %v, %v", text, l, err)
		}
		if dialect.Speaks(d, &files[0]) {
			t.Errorf("%s has rules", text)
		}
	}
}

// TestLint: names that only Qwen Code has are not called unknown.
func TestLint(t *testing.T) {
	files := []dialect.File{{Name: ".qwen/settings.json", Data: []byte(`{"permissions": {"allow": ["task", "edit", "glob"]}}`)}}
	d, err := all.Of("", files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	if got := append(l.Warnings, dialect.Lint(l)...); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

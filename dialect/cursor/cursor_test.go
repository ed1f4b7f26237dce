package cursor_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/cursor"
)

func load(t *testing.T, name, text string) *dialect.Loaded {
	t.Helper()
	files := []dialect.File{{Name: name, Data: []byte(text)}}
	d, err := all.Of("", files)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "cursor" {
		t.Fatalf("%s is a file of %s", name, d.Name())
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type call struct{ tool, field, value string }

func (c call) in(l *dialect.Loaded) obstat.Decision {
	call := &obstat.Call{Tool: c.tool, Input: []byte(`{"` + c.field + `":"` + c.value + `"}`), Dir: "/p", Roots: []string{"/p"}}
	return l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p"}})
}

// TestCLI: the permissions of cli.json, each as Cursor's page on them says, and as people write them.
func TestCLI(t *testing.T) {
	l := load(t, "/p/.cursor/cli.json", `{"version": 1, "permissions": {
		"allow": ["Shell(git)", "Shell(npm:run *)", "Shell(docker compose up:*)", "Shell(npm test)", "Shell(vitest run *)",
			"Read(src/**/*.ts)", "Write(src/**)", "Write(package.json)", "WebFetch(docs.example.com)", "Mcp(gh:list_*)", "Mcp(jira, get)", "Task(**)"],
		"deny": ["Shell(rm)", "Shell(git:push*)", "Shell(curl:*)", "Read(.env*)", "Read(/etc/passwd)", "Write(**/*.key)", "Mcp(db:*)", "WebFetch(evil.example)"]}}`)
	for c, want := range map[call]obstat.Verdict{
		{"Shell", "command", "git commit -m x"}:                        obstat.Allow,
		{"Shell", "command", "git push origin main"}:                   obstat.Deny,
		{"Shell", "command", "env git push"}:                           obstat.Deny,
		{"Shell", "command", "npm run build"}:                          obstat.Allow,
		{"Shell", "command", "npm install x"}:                          obstat.Ask,
		{"Shell", "command", "docker compose up -d"}:                   obstat.Allow,
		{"Shell", "command", "npm test -- --watch"}:                    obstat.Allow,
		{"Shell", "command", "vitest run a.ts"}:                        obstat.Allow,
		{"Shell", "command", "git status; rm -rf x"}:                   obstat.Deny,
		{"Shell", "command", "bash -c 'curl x.example'"}:               obstat.Deny,
		{"Shell", "command", "cat .env"}:                               obstat.Deny,
		{"Shell", "command", "make"}:                                   obstat.Ask,
		{"Read", "file_path", "/p/.env.local"}:                         obstat.Deny,
		{"Read", "file_path", "/etc/passwd"}:                           obstat.Deny,
		{"Write", "file_path", "/p/src/a/b.go"}:                        obstat.Allow,
		{"Write", "file_path", "/p/package.json"}:                      obstat.Allow,
		{"Write", "file_path", "/p/docs/a.md"}:                         obstat.Ask,
		{"Write", "file_path", "/p/src/a.key"}:                         obstat.Deny,
		{"WebFetch", "url", "https://docs.example.com/x"}:              obstat.Allow,
		{"WebFetch", "url", "https://evil.example/x"}:                  obstat.Deny,
		{"WebFetch", "url", "https://other.example/x"}:                 obstat.Ask,
		{"mcp__gh__list_issues", "x", "1"}:                             obstat.Allow,
		{"mcp__gh__create_issue", "x", "1"}:                            obstat.Ask,
		{"mcp__jira__get", "x", "1"}:                                   obstat.Allow,
		{"mcp__db__drop", "x", "1"}:                                    obstat.Deny,
		{"run_terminal_cmd", "command", "git commit -m y && git push"}: obstat.Deny,
	} {
		if d := c.in(l); d.Verdict != want {
			t.Errorf("%v: %s, want %s: %s", c, d.Verdict, want, d.Reason())
		}
	}
	if len(l.Warnings) != 1 || l.Warnings[0].Pos.Line != 3 {
		t.Errorf("warnings %v", l.Warnings)
	}
}

// TestLists: the editor's allowlists, with comments; instructions for its reviewer are no rules.
func TestLists(t *testing.T) {
	l := load(t, "/p/.cursor/permissions.json", `{
		// what runs without a question
		"terminalAllowlist": ["git status", "npm run test:unit", "ls", "python *",],
		"mcpAllowlist": ["docs:*"],
		"autoRun": {"block_instructions": ["never push"]},
	}`)
	for c, want := range map[call]obstat.Verdict{
		{"Shell", "command", "git status --short"}:  obstat.Allow,
		{"Shell", "command", "npm run test:unit"}:   obstat.Allow,
		{"Shell", "command", "npm run test unit"}:   obstat.Ask,
		{"Shell", "command", "python scripts/a.py"}: obstat.Allow,
		{"Shell", "command", "git push"}:            obstat.Ask,
		{"Shell", "command", "ls; git push"}:        obstat.Ask,
		{"mcp__docs__find", "x", "1"}:               obstat.Allow,
		{"mcp__other__find", "x", "1"}:              obstat.Ask,
	} {
		if d := c.in(l); d.Verdict != want {
			t.Errorf("%v: %s, want %s: %s", c, d.Verdict, want, d.Reason())
		}
	}
}

// TestBad: a denial that cannot be read is an error with its place; an allow rule is skipped; no rules are valid.
func TestBad(t *testing.T) {
	for text, fatal := range map[string]bool{
		`{"permissions": {"deny": ["Shell(rm"]}}`:  true,
		`{"permissions": {"deny": ["Flub(x)"]}}`:   true,
		`{"permissions": {"allow": ["Shell(rm"]}}`: false,
		`{"permissions": {"allow": ["Mcp(*:*)"]}}`: false,
		`{"sandbox": {"mode": "disabled"}}`:        false,
	} {
		files := []dialect.File{{Name: ".cursor/cli.json", Data: []byte(text)}}
		d, err := all.Of("", files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dialect.Load(d, &dialect.Input{Files: files}); (err != nil) != fatal {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWorkspace: a glob for everything allows the workspace alone, and a denial of what lies above it holds there.
func TestWorkspace(t *testing.T) {
	l := load(t, "/p/.cursor/cli.json", `{"permissions": {"allow": ["Read(**)", "Write(**)"], "deny": ["Read(../**)", "Write(.env)"]}}`)
	for c, want := range map[call]obstat.Verdict{
		{"Read", "file_path", "/p/a/b.go"}:     obstat.Allow,
		{"Write", "file_path", "/p/a/b.go"}:    obstat.Allow,
		{"Write", "file_path", "/p/.env"}:      obstat.Deny,
		{"Read", "file_path", "/other/x"}:      obstat.Deny,
		{"Read", "file_path", "../deep/f.txt"}: obstat.Deny,
		{"Grep", "path", ".."}:                 obstat.Deny,
		{"Write", "file_path", "/other/x"}:     obstat.Deny,
		{"Shell", "command", "cat /other/x"}:   obstat.Deny,
		{"Shell", "command", "cat ../other/x"}: obstat.Deny,
		{"Shell", "command", "cat < ../x"}:     obstat.Deny,
		{"Shell", "command", "cat a/b.go"}:     obstat.Allow,
	} {
		if d := c.in(l); d.Verdict != want {
			t.Errorf("%v: %s, want %s: %s", c, d.Verdict, want, d.Reason())
		}
	}
}

// TestDotfiles: the files are known where people keep them with their dotfiles, too.
func TestDotfiles(t *testing.T) {
	for name, want := range map[string]dialect.Confidence{"dot_cursor/cli-config.json": dialect.Sure,
		"x/cursor/cli.json": dialect.Sure, "cli-config.json": dialect.Sure, "dot_cursor/permissions.json": dialect.Sure,
		"x/cli.json": dialect.No, "claude/permissions.json": dialect.No} {
		f := &dialect.File{Name: name, Data: []byte(`{"permissions": {"allow": ["Shell(ls)"], "deny": []}}`)}
		if got := (cursor.Dialect{}).Detect(f); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

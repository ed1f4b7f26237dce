package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	projects, err := parse(commandsText)
	if err != nil {
		t.Fatal(err)
	}
	n, seen := 0, map[string]bool{}
	for _, p := range projects {
		if p.setup == "" || len(p.commands) == 0 || seen[p.name] {
			t.Errorf("project %s has no setup, no commands, or is there twice", p.name)
		}
		seen[p.name] = true
		n += len(p.commands)
	}
	if n < 100 {
		t.Errorf("%d commands", n)
	}
	for _, bad := range []string{"$ x", "project a\n= x", "project a\n$ x\nwhere y"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestReport(t *testing.T) {
	rows := []row{{project: "p", command: "a", way: "confined"}, {project: "p", command: "b", way: "confined", confined: result{exit: 1}},
		{project: "p", command: "c", way: "ask"}, {project: "p", command: "d", missing: "x"}}
	var b strings.Builder
	if report(&b, rows) {
		t.Error("one of two works, and that was enough")
	}
	for _, want := range []string{"| p | 2 | 1 |", "differs: p: b: exit 0, confined 1", "ask: p: c", "x is not installed: p: d"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if report(&b, nil) {
		t.Error("nothing was run, and that was enough")
	}
}

// TestShort runs the projects that need nothing but a system; `make test-ordinary` runs all.
func TestShort(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no directory of the user's own: %v", err)
	}
	dir, err := os.MkdirTemp(cache, "obstat-ordinary-")
	if err != nil {
		t.Skipf("no directory of the user's own: %v", err)
	}
	defer os.RemoveAll(dir)
	l := &lab{dir: dir, only: "shell,make", verbose: true}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(l.obstat, "run", "-C", dir, "--explain", "-c", "true").CombinedOutput()
	if err != nil {
		t.Skipf("this machine cannot confine commands: %s", text)
	}
	rows, err := l.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if ok := report(&b, rows); !ok {
		t.Error(b.String())
	}
}

package git

import (
	"testing"

	"github.com/obstat/obstat/shell"
)

func words(cmd string) []shell.Word {
	return shell.Parse(cmd, &shell.Options{}).Commands[0].Words
}

func TestHistory(t *testing.T) {
	for cmd, want := range map[string]bool{
		"git log -p": true, "git log -p -20": false, "git log -5": false, "git log -n 1000": true, "git log --since=2019-01-01": true, "git log --since=2025-01-01": false,
		"git log --since '3 years ago'": true, "git log v1..HEAD": false, "git log ^main": false, "git log -L 1,5:f": false, "git log --max-parents=0": true, "git log --no-walk": false,
		"git rev-list --all": true, "git log --max-count=5": false, "git status": false,
	} {
		if got := ListsHistory(words(cmd), false); got != want {
			t.Errorf("%s lists all history: %v", cmd, got)
		}
	}
	if ListsHistory(words("git rev-list --all"), true) || !ListsHistory(words("git rev-list --all --reverse"), true) {
		t.Error("head takes the last commits, unless they are reversed")
	}
}

func TestAddsAll(t *testing.T) {
	for cmd, want := range map[string]bool{
		"git add -A": true, "git add .": true, "git add src/..": true, "git add -vf x": true, "git add *": true, "git add x.go": false, "git add -u": false,
		`git add "$PWD"`: true, "git stage :/": true, "git add": false, "git commit -A": false,
	} {
		if got := AddsAll(words(cmd)); got != want {
			t.Errorf("%s adds all: %v", cmd, got)
		}
	}
}

func TestSettings(t *testing.T) {
	for name, runs := range map[string]bool{"core.editor": true, "alias.x": true, "diff.foo.textconv": true, "merge.x.driver": true, "user.name": false, "core.abbrev": false, "x.cmd": true} {
		if Runs(name) != runs {
			t.Errorf("%s runs a program: %v", name, !runs)
		}
	}
	for name, ok := range map[string]bool{"color.ui": true, "core.pager": false, "user.email": true, "diff.renamelimit": false, "diff.renames": true, "core.hookspath": false} {
		if Harmless(name, "x") != ok {
			t.Errorf("%s is harmless: %v", name, !ok)
		}
	}
	if !Harmless("core.hookspath", "/dev/null") {
		t.Error("no hooks are harmless")
	}
}

func TestPathspec(t *testing.T) {
	for text, want := range map[string]Pathspec{
		"a":                {Text: "a"},
		":/a":              {Text: "a", Top: true},
		":!a":              {Text: "a", Exclude: true},
		":^/a":             {Text: "a", Exclude: true, Top: true},
		":(top,icase)a":    {Text: "a", Top: true, Fold: true},
		":(literal)*":      {Text: "*", Literal: true},
		":(exclude,top)x":  {Text: "x", Top: true, Exclude: true},
		":(nosuch,topx)y":  {Text: "y"},
		"HEAD:config/x.py": {Text: "HEAD:config/x.py"},
	} {
		if got, magic := ReadPathspec(text); got != want || magic != (text[0] == ':') {
			t.Errorf("%s: %+v (magic %v), want %+v", text, got, magic, want)
		}
	}
}

func TestPatches(t *testing.T) {
	for cmd, want := range map[string]bool{"git log": false, "git log -p": true, "git log --stat": false, "git log -U3": true, "git log --patch": true, "git log $x": true, "git log --oneline": false} {
		w := words(cmd)
		if got := Patches(w[1].Text, w[2:]); got != want {
			t.Errorf("%s shows patches: %v", cmd, got)
		}
	}
	if !ListsBranches(words("git branch --merged main")) || ListsBranches(words("git branch x")) || ListsBranches(words("git branch -D x")) {
		t.Error("branches")
	}
}

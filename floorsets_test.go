package obstat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// setPolicy allows every command and denies a few paths.
func setPolicy(t *testing.T) *obstat.Policy {
	t.Helper()
	deny := func(tool, glob string) obstat.Rule {
		return obstat.Rule{Tool: obstat.Text{Flavour: pattern.Exact, Text: tool}, Field: "file_path", Pattern: obstat.Text{Flavour: pattern.Minimatch, Text: glob}, Verdict: obstat.Deny}
	}
	pol, err := obstat.Compile(&obstat.Program{
		Mode:  "m",
		Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "file_path"}, obstat.FaceWrite: {Tool: "Write", Field: "file_path"}},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "deny rules", Rules: "deny", Settle: obstat.SetOf(obstat.Deny)}},
			Default: obstat.Allow}},
		Rules: map[string][]obstat.Rule{"deny": {deny("Read", ".env"), deny("Read", "**/.ssh/**"), deny("Read", "config/prod.yaml"), deny("Write", ".git/**"), deny("Write", "**/*.pem")}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// What is certainly under a rule gets its verdict, what may be is an ask that names it, and
// what cannot be is let through.
func TestFloorSets(t *testing.T) {
	pol := setPolicy(t)
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p", "/home/u/p/.git", "/home/u/p/.git/hooks", "/home/u/p/src", "/home/u/p/config"}}
	for _, tc := range []struct {
		command string
		want    obstat.Verdict
	}{
		{"cat .env", obstat.Deny},
		{"cat .en?", obstat.Ask},
		{"cat .e*", obstat.Ask},
		{"cat .[e]nv", obstat.Ask},
		{"cat .[f]nv", obstat.Allow},
		{"cat *", obstat.Allow}, // a star does not stand for a leading dot
		{"shopt -s dotglob; cat *", obstat.Ask},
		{"cat ../*/.env", obstat.Ask},
		{"cat ~/.ss?/id_rsa", obstat.Ask},
		{"cat ~/.ssh/*", obstat.Deny},
		{"grep -r x ~/.ssh", obstat.Deny},
		{"grep -r x .", obstat.Ask},
		{"grep -r x src", obstat.Allow},
		{"grep -r x config", obstat.Ask},
		{"rm -r .git", obstat.Deny},
		{"rg x", obstat.Ask}, // config/prod.yaml
		{"rg --hidden x", obstat.Ask},
		{"cat config/p*.yaml", obstat.Ask},
		{"cat config/d*.yaml", obstat.Allow},
		{"cp -r config /tmp/x", obstat.Ask},
		{"git show HEAD:config/prod.yaml", obstat.Deny},
		{"git blame config/prod.yaml", obstat.Deny},
		{"git diff HEAD~1", obstat.Allow},
		{"git cat-file --batch <<< HEAD:.env", obstat.Deny},
		{"git show HEAD:.e${x}nv", obstat.Ask},
		{"find . -name prod.yaml -exec cat {} +", obstat.Ask},
		{"find . -name '*.go' -exec cat {} +", obstat.Allow},
		{"find . -name package.json | xargs cat", obstat.Allow},
		{"find ~ -name id_rsa | xargs cat", obstat.Ask},
		{"grep -rn x --include='*.go' .", obstat.Allow},
		{"grep -rno x --include '*.go' ./", obstat.Allow},
		{"grep -rn x --include='*.yaml' .", obstat.Ask},
		{"grep -rn x --include='.e*' .", obstat.Ask},
		{"rg x -g '*.go' .env", obstat.Deny},
		{"git grep x", obstat.Ask},
		{"git grep -n x -- src", obstat.Allow},
		{"git diff --no-index /dev/null .", obstat.Ask},
		{"git rev-list --all --objects | cut -c1-40 | xargs git cat-file -p", obstat.Ask},
		{"git worktree add ../w && cat ../w/.env", obstat.Deny},
		{"git clone . /tmp/c && cat /tmp/c/config/p*.yaml", obstat.Ask},
		{"find . -name '*.go' -not -path './x/*' | xargs cat", obstat.Allow},
		{"xargs cat <<< .env", obstat.Deny},
		{"for f in *.go; do cat $f; done", obstat.Allow},
		{"for f in .e*; do cat $f; done", obstat.Ask},
		{"cat \"$f\"", obstat.Ask},
		{"cat \"$f.md\"", obstat.Ask}, // of a key
		{"cat \"src/$f.md\"", obstat.Ask},
		{"cp x .git/hooks/", obstat.Deny},
		{"cp x .gi?/hooks", obstat.Ask},
		{"mv .git x", obstat.Deny},
		{"rsync -a /tmp/evil/ ./", obstat.Ask},
		{"git commit -m x", obstat.Allow},
		{"git checkout main", obstat.Allow},
		{"git stash", obstat.Allow},
		{"git pull", obstat.Allow},
		{"npm ci", obstat.Allow},
		{"go build ./...", obstat.Allow},
		{"tar -xzf x.tgz", obstat.Allow},
		{"find . -name '*.ts' -exec sed -i s/a/b/ {} +", obstat.Allow},
		{"find a.pem -delete", obstat.Deny},
		{"find .gi* -delete", obstat.Ask},
		{"find .gi* -name config -exec rm {} +", obstat.Ask},
		{"find sr* -name config -exec rm {} +", obstat.Allow},
		{"find \".gi$(:)t\" -delete", obstat.Ask},
		{"ln .git/config x", obstat.Deny},
		{"ln a.pem x", obstat.Deny},
		{"ln -s a.pem x", obstat.Allow},
		{"ln -sf .git/hooks/x y", obstat.Allow},
		{"find . -size -2k -exec truncate -s0 {} +", obstat.Ask},
	} {
		input, _ := json.Marshal(map[string]string{"command": tc.command})
		d := pol.Decide(&obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/p"}, world)
		if d.Verdict != tc.want {
			t.Errorf("%s: %v, want %v: %s", tc.command, d.Verdict, tc.want, d.Reason())
		}
		if d.Verdict == obstat.Ask && d.Rule == nil {
			t.Errorf("%s: the ask names no rule: %s", tc.command, d.Reason())
		}
	}
}

// A search that passes hidden names by reads none of them, at whatever depth.
func TestFloorVisible(t *testing.T) {
	deny := func(glob string) obstat.Rule {
		return obstat.Rule{Tool: obstat.Is("Read"), Field: "file_path", Pattern: obstat.Text{Flavour: pattern.Minimatch, Text: glob}, Verdict: obstat.Deny}
	}
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p", "/home/u/p/src"}}
	for _, tc := range []struct {
		rule, command string
		want          obstat.Verdict
	}{
		{"**/.env", "rg -l x | sort | uniq", obstat.Allow},
		{"**/.ssh/**", "rg x", obstat.Allow},
		{"**/config/prod.yaml", "grep -r x config", obstat.Ask},
		{"**/config/prod.yaml", "grep -r x src", obstat.Allow},
		{".env", "rg x", obstat.Allow},
		{"**/.env", "rg --hidden x", obstat.Ask},
		{"**/.env", "rg -uu x", obstat.Ask},
		{"**/.env", "grep -r x .", obstat.Ask},
		{"**/*.pem", "rg x", obstat.Ask},
		{"a/b/c/d/e/secret.txt", "rg x", obstat.Ask},
		{"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/secret.txt", "rg x", obstat.Ask},
		{"config/**", "rg x", obstat.Ask},
	} {
		p := &obstat.Program{Mode: "m", Faces: map[string]obstat.Face{obstat.FaceRead: {Tool: "Read", Field: "file_path"}},
			Rules: map[string][]obstat.Rule{"deny": {deny(tc.rule)}},
			Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "deny rules", Rules: "deny", Settle: obstat.SetOf(obstat.Deny)}},
				Default: obstat.Allow}}}
		if d := bashAt(mustCompile(t, p), tc.command, world); d.Verdict != tc.want {
			t.Errorf("deny %s: %s: %v, want %v: %s", tc.rule, tc.command, d.Verdict, tc.want, d.Reason())
		}
	}
}

// A set that holds another is judged no looser.
func TestFloorSetsGrow(t *testing.T) {
	pol := setPolicy(t)
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p", "/home/u/p/.git"}}
	verdict := func(command string) obstat.Verdict {
		input, _ := json.Marshal(map[string]string{"command": command})
		return pol.Decide(&obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/p"}, world).Verdict
	}
	for _, chain := range []string{"cat .env|cat .en?|cat .*", "cat a|cat a .env", "rm .git/config|rm .git/*|rm -r .git|rm -rf .", "cat ~/.ssh/id_rsa|cat ~/.ssh/*|cat ~/.*/*|cp -r ~ /tmp/x"} {
		for _, c := range strings.Split(chain, "|") {
			if v := verdict(c); v == obstat.Allow && c != "cat a" {
				t.Errorf("%s is allowed", c)
			}
		}
	}
}

// Path rules hold for tools that take paths under whatever name: a server's, and a search's
// pattern of names.
func TestFloorTools(t *testing.T) {
	pol := setPolicy(t)
	world := &obstat.Snapshot{HomeDir: "/home/u", Links: map[string]string{"/home/u/p/linkout": "/home/u/.ssh"}, Dirs: []string{"/home/u/p"}}
	for _, tc := range []struct {
		tool, input string
		want        obstat.Verdict
	}{
		{"mcp__filesystem__read_file", `{"path":"/home/u/p/.env"}`, obstat.Deny},
		{"mcp__filesystem__read_file", `{"path":".env"}`, obstat.Deny},
		{"mcp__filesystem__read_file", `{"uri":"file:///home/u/p/.env"}`, obstat.Deny},
		{"mcp__filesystem__read_multiple_files", `{"paths":["a","/home/u/p/.env"]}`, obstat.Deny},
		{"mcp__filesystem__read_file", `{"path":"README.md"}`, obstat.Allow},
		{"mcp__filesystem__read_file", `{"path":".git/config"}`, obstat.Allow},
		{"mcp__filesystem__write_file", `{"path":".git/config","content":"x"}`, obstat.Deny},
		{"mcp__filesystem__write_file", `{"path":".env","content":"x"}`, obstat.Allow},
		{"mcp__x__do", `{"path":".env"}`, obstat.Deny},
		{"Bash", `{"command":"cat li*/id_rsa"}`, obstat.Deny},
		{"Bash", `{"command":"cat linkout/id_rsa"}`, obstat.Deny},
	} {
		d := pol.Decide(&obstat.Call{Tool: tc.tool, Input: []byte(tc.input), Dir: "/home/u/p"}, world)
		if d.Verdict != tc.want {
			t.Errorf("%s %s: %v, want %v: %s", tc.tool, tc.input, d.Verdict, tc.want, d.Reason())
		}
	}
}

// TestFloorPatternsOfUnknown: what a pattern of a program that is not known stands for counts by where links lead from it.
func TestFloorPatternsOfUnknown(t *testing.T) {
	pol := setPolicy(t)
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/p", "/home/u/p/certs"}, Links: map[string]string{
		"/home/u/p/.netrc": "/home/u/p/.env", "/home/u/p/certs/a.txt": "../.env", "/home/u/p/certs/b.txt": "../README.md"}}
	for command, want := range map[string]obstat.Verdict{
		"frob .netr?":      obstat.Ask, // a secret by its name, and a link
		"frob .netrc":      obstat.Ask,
		"frob certs/?.txt": obstat.Ask,
		"frob certs/a.tx?": obstat.Ask,
		"frob certs/b.tx?": obstat.Allow,
		"frob README.m?":   obstat.Allow,
	} {
		input, _ := json.Marshal(map[string]string{"command": command})
		d := pol.Decide(&obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/p"}, world)
		if d.Verdict != want {
			t.Errorf("%s: %v, want %v: %s", command, d.Verdict, want, d.Reason())
		}
	}
}

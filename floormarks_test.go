package obstat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestPossibleMarks: a call gets the mark of a rule about files that it may read, not of one about files whose names it
// lists, or which it makes.
func TestPossibleMarks(t *testing.T) {
	on := func(id, tool string, f pattern.Flavour, text string) obstat.Rule {
		return obstat.Rule{ID: id, Tool: obstat.Is(tool), Field: "file_path", Pattern: obstat.Text{Flavour: f, Text: text}, Verdict: obstat.Ask}
	}
	p := shellProgram(obstat.Allow)
	p.Rules["marks"] = []obstat.Rule{on("env", "Read", pattern.Minimatch, ".env"), on("keys", "Read", pattern.Minimatch, "~/.ssh/**"), on("hooks", "Write", pattern.Minimatch, ".git/**"),
		on("deep", "Read", pattern.Minimatch, "**/deep/key")}
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow, Amend: p.Pipelines["default"].Amend, Stages: []obstat.Stage{obstat.Mark{Name: "marks", Rules: "marks"}}}
	pol := mustCompile(t, p)
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/home/u/proj", "/home/u/proj/src", "/home/u/proj/.git"}}
	for cmd, want := range map[string]string{
		"cat .env":         "env",
		"cat .en?":         "env",
		"cat .e*":          "env",
		"cat ./.e$x":       "deep env keys", // $x may lead anywhere
		`cat "$x"`:         "deep env keys",
		"cat a.txt":        "",
		"cat a*":           "",
		"ls .e*":           "",
		"ls -R .":          "",
		"cat ~/.ssh/id":    "keys",
		"cat ~/.ss?/id":    "keys",
		"cat ~/.s*/*":      "keys",
		"cp -r ~/.ssh x":   "keys",
		"grep -r x .":      "deep env keys", // a rule from home may be about a directory `~` here
		"grep -r x src":    "",              // a directory inside is read without a question
		"echo x > .git/a":  "hooks",
		"echo x > .gi?/a":  "hooks",
		"rm -r .git":       "hooks",
		"echo x > .en?":    "",
		"tar xf x.tgz":     "",
		"git commit -m x":  "",
		"cat src/deep/key": "deep",
		"cat src/d*/key":   "deep",
		"cat src/e*/key":   "",
	} {
		d := pol.Decide(bashAtProj(cmd), world)
		if got := strings.Join(slices.Sorted(slices.Values(d.Marks)), " "); got != want || d.Verdict != obstat.Allow {
			t.Errorf("%s: %q, want %q; %s", cmd, got, want, d.Reason())
		}
	}
}

func bashAtProj(cmd string) *obstat.Call {
	c := bashCall(cmd)
	c.Roots = []string{c.Dir}
	return c
}

// TestUnseenPaths: a file tool's path that cannot be seen is not allowed by a rule for some paths, and words told to a
// program at places of which nothing is known are looked at up to a bound.
func TestUnseenPaths(t *testing.T) {
	narrow, noEnv := rule(obstat.Allow, "Write", "file_path", "*x"), rule(obstat.Deny, "Read", "file_path", "*.env")
	file := func(input string) *obstat.Call {
		return &obstat.Call{Tool: "Write", Input: []byte(input), Dir: "/home/u/proj"}
	}
	for _, tt := range []struct {
		name  string
		rules []obstat.Rule
		call  *obstat.Call
		want  obstat.Verdict
	}{
		{"a path", []obstat.Rule{narrow}, file(`{"file_path":"/home/u/x"}`), obstat.Allow},
		{"of a user that is not known", []obstat.Rule{narrow}, file(`{"file_path":"~nobody/x"}`), obstat.Ask},
		{"of a user that is not known, all allowed", []obstat.Rule{rule(obstat.Allow, "Write", "", "")}, file(`{"file_path":"~nobody/x"}`), obstat.Allow},
		{"of a user that is not known, all allowed but some", []obstat.Rule{rule(obstat.Allow, "Write", "", ""), rule(obstat.Deny, "Write", "file_path", "/etc/*")},
			file(`{"file_path":"~nobody/x"}`), obstat.Ask},
		{"a word behind a flag", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("last -f .env"), obstat.Deny},
		{"a word with a prefix", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("jo x=%.env"), obstat.Ask},
		{"other words", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("jo x=%.enw"), obstat.Allow},
		{"many words", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("jo" + strings.Repeat(" x", 900)), obstat.Allow},
		{"very many words", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("jo" + strings.Repeat(" x=%y", 1100)), obstat.Ask},
		{"a name elsewhere in the call", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("declare -A m=([k]=.env); shar ${m[k]}"), obstat.Ask},
		{"another name elsewhere in the call", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("declare -A m=([k]=.enw); shar ${m[k]}"), obstat.Allow},
		{"a pattern", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("haml .en?"), obstat.Ask},
		{"another pattern", []obstat.Rule{rule(obstat.Allow, "Bash", "", ""), noEnv}, bashCall("haml .go?"), obstat.Allow},
	} {
		if d := mustCompile(t, shellProgram(obstat.Deny, tt.rules...)).Decide(tt.call, testWorld); d.Verdict != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, d.Verdict, tt.want, d.Reason())
		}
	}
}

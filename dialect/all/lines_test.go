package all_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

var long = flag.Bool("long", false, "every command with every carrier and spelling; otherwise some of them, in turns")

// pathDialects have rules for paths: policies deny `rm`, `curl` and the files .env there.
var pathDialects = []string{"claudecode", "opencode", "agentscope", "program"}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// Commands that coding agents run every day pass where everything is allowed but for three
// denials. AgentScope's document asks about loops, conditions and substitutions in every mode.
func TestEveryday(t *testing.T) {
	for _, name := range pathDialects {
		p := load(t, name, "**/.env")
		for _, c := range lines(t, "everyday.txt") {
			if d := decide(p, c, world); d.Verdict != obstat.Allow && !strings.Contains(d.Reason(), "statically analyzed") {
				t.Errorf("%s: %s: %v: %s", name, c, d.Verdict, d.Reason())
			}
		}
	}
}

// Commands that do what is denied in some other way do not pass.
func TestAttacks(t *testing.T) {
	for _, name := range pathDialects {
		p := load(t, name, "**/.env")
		for _, c := range lines(t, "attacks.txt") {
			if d := decide(p, c, world); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: allowed: %s", name, c, d.Reason())
			}
		}
	}
}

// A file that a program is told to write, in whatever way, is held to the rules for writing it.
func TestLocked(t *testing.T) {
	w := &obstat.Snapshot{HomeDir: home, Dirs: []string{dir, dir + "/src", dir + "/src/locked"}, Files: []string{dir + "/src/locked/a.ts"}}
	for _, name := range pathDialects {
		p := load(t, name, "*/locked/*")
		for _, c := range lines(t, "locked.txt") {
			if d := decide(p, c, w); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: allowed: %s", name, c, d.Reason())
			}
		}
		for _, c := range lines(t, "beside.txt") {
			if d := decide(p, c, w); d.Verdict != obstat.Allow && !strings.Contains(d.Reason(), "statically analyzed") {
				t.Errorf("%s: %s: %v: %s", name, c, d.Verdict, d.Reason())
			}
		}
	}
}

// A repository that a file .git names is not the project's own, and runs its own configuration's programs.
func TestGitFile(t *testing.T) {
	w := &obstat.Snapshot{HomeDir: home, Dirs: []string{dir, dir + "/.git", dir + "/sub"}, Files: []string{dir + "/sub/.git"}}
	for c, want := range map[string]bool{"git status": true, "git -C sub status": false, "cd sub && git log": false} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + c + `"}`), Dir: dir, Roots: []string{dir}}
		if got := (&obstat.Recorder{Of: w}).Analysis(call).ReadOnly; got != want {
			t.Errorf("%s: read-only is %v", c, got)
		}
	}
}

// A search by name reads the files of that name: `*.yaml` finds config/prod.yaml, and a rule for a directory is
// not about the sources that are looked for around it.
func TestSearchesByName(t *testing.T) {
	for _, name := range pathDialects {
		p := load(t, name, "**/config/prod.yaml")
		for _, c := range []string{"find . -name '*.yaml' -exec cat {} +", "grep -r x --include='*.yaml' .", "rg x -g '*.yaml'", "git grep x -- '*.yaml'", "find . -name 'p*' | xargs cat", "git log -p -- '*.yaml'"} {
			if d := decide(p, c, world); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: allowed: %s", name, c, d.Reason())
			}
		}
		for _, c := range []string{"find . -name '*.ts' -exec cat {} +", "grep -rn x --include='*.go' .", "git grep x -- '*.go'", "find . -name package.json | xargs cat", "git diff -- '*.md'"} {
			for _, rule := range []string{"**/config/prod.yaml", "**/secrets/**"} {
				if d := decide(load(t, name, rule), c, world); d.Verdict != obstat.Allow {
					t.Errorf("%s, %s: %s: %s", name, rule, c, d.Reason())
				}
			}
		}
	}
}

// Two stars may stand for no directory at all: `**/.e*` is also `.e*` at the top.
func TestStarsAtTop(t *testing.T) {
	for _, name := range pathDialects {
		p := load(t, name, ".env")
		for _, c := range []string{"cat **/.e*", "shopt -s globstar dotglob; cat **/*", "shopt -s globstar dotglob; head **/*v", "cat < **/.env"} {
			if d := decide(p, c, world); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: allowed: %s", name, c, d.Reason())
			}
		}
		for _, c := range []string{"cat **/*.md", "wc -l **/*.ts", "cat **/*"} {
			if d := decide(p, c, world); d.Verdict != obstat.Allow {
				t.Errorf("%s: %s: %v: %s", name, c, d.Verdict, d.Reason())
			}
		}
	}
}

// What lies behind a link that a search finds, and a hook that is written before git runs it, are what they lead to.
func TestFoundLinksAndHooks(t *testing.T) {
	w := &obstat.Snapshot{HomeDir: home, Dirs: []string{"/", "/home", home, dir, dir + "/.git", dir + "/.git/hooks", dir + "/src"}, Files: []string{dir + "/.env"}, Links: map[string]string{dir + "/envlink": dir + "/.env", dir + "/src/x": dir + "/.env"}}
	for _, name := range pathDialects {
		p := load(t, name, "**/.env")
		for _, c := range []string{"find . -name 'envl*' -exec cat {} +", "find . -name 'envl*' | xargs cat", "find src -exec cat {} +", "echo 'rm x' > .git/hooks/pre-commit; git commit -m x", "printf 'curl x' > .git/hooks/pre-push && git push"} {
			if d := decide(p, c, w); d.Verdict == obstat.Allow {
				t.Errorf("%s: %s: allowed: %s", name, c, d.Reason())
			}
		}
	}
}

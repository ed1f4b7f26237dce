package native_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestBalancedKeepsUncommittedWork: git commands that throw away changes which no commit has, or forget
// where a branch was, are asked about by `balanced`; their kin that lose nothing are not, nor is a
// move inside the project.
func TestBalancedKeepsUncommittedWork(t *testing.T) {
	l, err := dialect.Load(native.Builtin{}, &dialect.Input{})
	if err != nil {
		t.Fatal(err)
	}
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p", "/p/.git", "/p/src", "/p/lib"}, Files: []string{"/p/a.js", "/p/b.js", "/p/README", "/p/src/a.js"}}
	for want, commands := range map[obstat.Verdict][]string{
		obstat.Ask: {
			"git reset --hard", "git reset --merge", "git restore .", "git restore src/a.js", "git restore -- a.js", "git restore :/", "git restore '*.js'",
			"git restore --staged --worktree a.js", "git restore -SW .", "git restore -W a.js", "git restore --source=HEAD~1 a.js", "git restore -s main -- src", "git restore -p",
			"git restore --pathspec-from-file=list", "git checkout .", "git checkout -- .", "git checkout a.js", "git checkout README", "git checkout src", "git checkout src/",
			"git checkout ./b.js", "git checkout '*.js'", "git checkout -- b.js", "git checkout HEAD -- b.js", "git checkout HEAD a.js", "git checkout HEAD~2 -- src lib", "git checkout -q -- .",
			"git checkout --ours .", "git checkout --theirs a.js", "git checkout --no-overlay main -- src", "git checkout -p", "git checkout -f", "git checkout -f main", "git checkout --force main",
			"git checkout -qf main", "git checkout -fq", "git switch -qf main", "git checkout --forc main", "git switch --disc main", "git switch -f main", "git switch --force main", "git switch --discard-changes main", "git switch -C x", "git switch -C x main", "git switch --force-create x",
			"git checkout -B x", "git checkout -B x origin/main", "git branch -f x HEAD~3", "git branch --force x main", "git branch -M x", "git branch -M a b", "git branch -C a b", "git branch -D x",
			"git tag -f v1", "git update-ref refs/heads/main HEAD~1", "git worktree add -B x ../w", "git checkout-index -f -a", "git read-tree --reset -u HEAD", "git stash drop", "git clean -fd",
			"cd src && git checkout a.js", "git -C src restore a.js", "sh -c 'git restore .'", "git status; git checkout a.js", "env X=1 git checkout -f", "git checkout a.js b.js",
			"mv a.js /tmp/a.js", "mv a.js ~/x", "mv src ../other", "mv .env env.txt", "mv .git/hooks/x y", "mv a.js .git/hooks/pre-commit", "mv $X lib", "mv a.js b.js; rm a.js", "mv a.js b.js && rm b.js", "mv a.js lib/ && rm -rf lib", "mv a.js $X", "rm a.js",
		},
		obstat.Allow: {
			"git checkout main", "git checkout feature/x", "git checkout v1.2.3", "git checkout -b x", "git checkout -q main", "git checkout --detach", "git checkout -t origin/x", "git switch -q -c x", "git checkout -b x main", "git checkout -b README", "git checkout -b src main",
			"git checkout -", "git checkout HEAD~1", "git checkout origin/main", "git switch main", "git switch -c x", "git switch -c x main", "git switch --create x", "git switch -",
			"git restore --staged a.js", "git restore -S .", "git restore --staged -- src", "git branch x", "git branch -m old new", "git branch -a", "git branch",
			"git stash", "git stash pop", "git add -A", "git commit -m x", "git reset", "git reset --soft HEAD~1",
			"mv a.js b.js", "mv a.js lib/", "mv src/a.js lib/b.js", "mv -f a.js b.js", "mv -t lib a.js b.js", "mv src lib/src", "git mv a.js b.js", "cd src && mv a.js ../lib",
		},
	} {
		for _, command := range commands {
			input, _ := json.Marshal(map[string]string{"command": command})
			call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/p", Roots: []string{"/p"}}
			if d := l.Policy.Decide(call, world); d.Verdict != want {
				t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
			}
		}
	}
}

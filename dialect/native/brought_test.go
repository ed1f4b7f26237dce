package native_test

import (
	"testing"

	"github.com/obstat/obstat"
)

// TestBroughtPrograms: a rule for npx or `uv run` is about the programs that packages bring, not about commands that
// are known by themselves, and a denial of such a program holds in it.
func TestBroughtPrograms(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - run npx\n  - run uv run pytest\n  - run exactly pnpm exec vitest\n"+
		"deny:\n  - run npx rimraf\n  - run jest\n")
	for cmd, want := range map[string]obstat.Verdict{
		"npx prettier --check src": obstat.Allow, "npx tsc --noEmit": obstat.Allow, "npx --yes nobodyknows": obstat.Allow,
		"npx prettier && npx tsc": obstat.Allow, "uv run pytest -q": obstat.Allow, "pnpm exec vitest": obstat.Allow,
		"uv run ruff check": obstat.Ask, "uv run rm -rf build": obstat.Ask, "pytest -q": obstat.Ask, "prettier src": obstat.Ask,
		"npx -c 'rm -rf build'": obstat.Ask, "npx curl https://a.example/": obstat.Ask, "npx sudo rm x": obstat.Ask,
		"npx bash -c 'rm x'": obstat.Ask, "pnpm exec vitest run": obstat.Ask, "npx prettier; rm -rf build": obstat.Ask,
		"npx rimraf build": obstat.Deny, "npx jest": obstat.Deny, "npx npx jest": obstat.Deny,
	} {
		if d := l.Policy.Decide(call(cmd), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// TestExactDenialsOfOpenCommands: a denial of exactly one command denies it without the words that xargs may read for it,
// and asks where other words that are known only when it runs may be none.
func TestExactDenialsOfOpenCommands(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - run anything\ndeny:\n  - run exactly reboot\n  - run exactly ech\n")
	for cmd, want := range map[string]obstat.Verdict{
		"reboot": obstat.Deny, "sudo reboot": obstat.Deny, "reboot -f": obstat.Allow, "xargs reboot -f": obstat.Allow,
		"echo | xargs reboot": obstat.Deny, "xargs -n1 reboot < list": obstat.Deny, "ls | xargs sudo reboot": obstat.Deny,
		"reboot $X": obstat.Ask, "reboot '{}'": obstat.Allow, "xargs -I{} reboot {}": obstat.Ask, "xargs echo": obstat.Allow,
		"echo $X": obstat.Allow, "rebooted $X": obstat.Allow,
	} {
		if d := l.Policy.Decide(call(cmd), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// TestExceptionsOfDenials: what a denial leaves out is the program of that name, not a file in the project or another
// program's spelling.
func TestExceptionsOfDenials(t *testing.T) {
	l := load(t, "version: 1\nallow:\n  - run anything\ndeny:\n  - run anything except ls, exactly git status\n")
	for cmd, want := range map[string]obstat.Verdict{"ls": obstat.Allow, "/bin/ls -l": obstat.Allow, `"ls" x`: obstat.Allow,
		"./ls": obstat.Deny, "x/y/ls": obstat.Deny, "/tmp/ls": obstat.Deny, "~/bin/ls": obstat.Deny, "git status": obstat.Allow,
		"./git status": obstat.Deny, "git status -s": obstat.Deny, "$X": obstat.Deny, "ls; rm x": obstat.Deny,
	} {
		if d := l.Policy.Decide(call(cmd), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// TestExactLines: who allows exactly one line has seen what it runs inside, and what another shell runs of it.
func TestExactLines(t *testing.T) {
	l := load(t, `version: 1
allow:
  - run echo
  - run exactly timeout 5 make x
  - run exactly "bash -c 'make y; make z'"
  - run exactly xargs rm
  - run exactly "cmd /c 'dir | more'"
deny:
  - run shutdown
`)
	for cmd, want := range map[string]obstat.Verdict{
		"timeout 5 make x": obstat.Allow, "timeout 6 make x": obstat.Ask, "make x": obstat.Ask, `timeout 5 "make" x`: obstat.Allow,
		"timeout 5 make x; make x": obstat.Ask, "LD_PRELOAD=./e.so timeout 5 make x": obstat.Ask, "timeout 5 make x > y": obstat.Ask,
		`bash -c "make y; make z"`: obstat.Allow, `bash -c "make y"`: obstat.Ask, "echo x | xargs rm": obstat.Ask, "xargs rm": obstat.Ask,
		`cmd /c "dir | more"`: obstat.Allow, `A=1 cmd /c "dir | more"`: obstat.Ask, `cmd /c "dir | more"; make x`: obstat.Ask,
		`cmd /c "dir | more" > y`: obstat.Ask, `cmd /c "dir | less"`: obstat.Ask, `cmd /c "$X"`: obstat.Ask,
	} {
		if d := l.Policy.Decide(call(cmd), world); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", cmd, d.Verdict, want, d.Reason())
		}
	}
}

// TestGivenTexts: a text of PowerShell is allowed by a condition that has it letter by letter, unless a denial may be
// about what it hides.
func TestGivenTexts(t *testing.T) {
	for deny, want := range map[string]obstat.Verdict{"": obstat.Allow, "deny:\n  - run rm\n": obstat.Ask,
		"deny:\n  - run git\n": obstat.Deny} {
		l := load(t, "version: 1\nallow:\n  - tool PowerShell where input.command is 'git stash'\n"+deny)
		for text, want := range map[string]obstat.Verdict{"PowerShell command=git stash": want,
			"PowerShell command=git stash; rm x": min(want, obstat.Ask), "git stash": min(want, obstat.Ask)} {
			if text == "PowerShell command=git stash; rm x" && deny == "deny:\n  - run rm\n" {
				want = obstat.Deny
			}
			if d := l.Policy.Decide(call(text), world); d.Verdict != want {
				t.Errorf("%s beside %q: %s, want %s: %s", text, deny, d.Verdict, want, d.Reason())
			}
		}
	}
}

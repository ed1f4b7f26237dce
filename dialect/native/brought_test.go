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

package protect

import (
	"strings"
	"testing"
)

// TestTokens: every entry is found in a text by its own token.
func TestTokens(t *testing.T) {
	for _, e := range table() {
		if e.token == "" {
			continue
		}
		if !strings.ContainsAny(e.token, "./") {
			t.Errorf("%s: nothing finds the token %q", e.path, e.token)
		}
		if (&check{g: &Guarded{}}).spoken("cat "+e.token+" x") == "" {
			t.Errorf("%s: not found by its own token %q", e.path, e.token)
		}
	}
	for path, want := range map[string]string{
		"obstat.json": "obstat.json", ".obstat": ".obstat", ".config/obstat": ".config/obstat", "/etc/obstat": "etc/obstat",
		".config/opencode/config.json": "opencode/config.json", ".claude/settings.json": ".claude", "cline/hooks": "cline/hooks", ".crush.json": ".crush.json",
		".local/state/obstat": "state/obstat", "/var/lib/obstat": "lib/obstat", "bin/obstat": "bin/obstat",
	} {
		if got := tokenOf(path); got != want {
			t.Errorf("tokenOf(%q) = %q, want %q", path, got, want)
		}
	}
}

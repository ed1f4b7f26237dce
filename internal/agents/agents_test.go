package agents_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/agents"
)

// TestNames: an entry that names an agent which the hook does not know would
// deny everything.
func TestNames(t *testing.T) {
	for _, name := range agents.Names() {
		if !slices.Contains(agent.Agents(), name) {
			t.Errorf("the hook knows no agent %q", name)
		}
		if a := agents.Of(name); a == nil || a.Name != name || a.Title == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if agents.Of("nobody") != nil {
		t.Error("there is an agent nobody")
	}
}

func TestFiles(t *testing.T) {
	t.Setenv("CODEX_HOME", "/elsewhere")
	files := agents.Files("/home/me", "/a", "/b")
	for _, want := range []string{
		"/home/me/.claude/settings.json", "/a/.claude/settings.json", "/b/.claude/settings.local.json", "/etc/claude-code/managed-settings.json",
		"/home/me/.codex/hooks.json", "/elsewhere/hooks.json", "/elsewhere/config.toml", "/home/me/.codex/config.toml", "/a/.codex/hooks.json",
		"/home/me/.gemini/settings.json", "/etc/gemini-cli/settings.json", "/a/.gemini/settings.json", "/b/.cursor/hooks.json", "/etc/cursor/hooks.json",
		"/home/me/.copilot/hooks/obstat.json", "/home/me/.config/crush/crush.json", "/a/crush.json", "/a/.crush.json", "/home/me/.codeium/windsurf/hooks.json",
		"/home/me/.config/opencode/plugins/obstat.js", "/b/.opencode/plugins/obstat.js", "/a/opencode.json", "/home/me/Documents/Cline/Hooks/PreToolUse", "/a/.clinerules/hooks/PreToolUse",
	} {
		if !slices.Contains(files, filepath.FromSlash(want)) {
			t.Errorf("%s is missing", want)
		}
	}
	dirs := agents.Dirs("/home/me", "/a")
	for _, want := range []string{"/home/me/.copilot/hooks", "/a/.github/hooks", "/home/me/.config/opencode/plugins", "/a/.opencode/plugins", "/etc/claude-code/managed-settings.d"} {
		if !slices.Contains(dirs, filepath.FromSlash(want)) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, f := range agents.Files("") {
		if !filepath.IsAbs(f) {
			t.Errorf("%s is relative", f)
		}
	}
}

package agent

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/obstat/obstat"
)

// TestAll: every agent is whole, and the names are those of the constants.
func TestAll(t *testing.T) {
	want := []string{Antigravity, ClaudeCode, Cline, Codex, Copilot, Crush, Cursor, Gemini, Generic, OpenCode, Qwen, Windsurf}
	if got := Agents(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, a := range All() {
		if Of(a.Name).Name != a.Name || a.Title == "" || a.decode == nil || a.encode == nil || a.marks == nil || a.Patience == 0 {
			t.Errorf("%+v", a)
		}
		if a.Installable() && (len(a.events) == 0 || a.honours == nil || a.forge == nil || (a.format == 0) != (a.script != nil) || a.Limit() > 0 && a.Limit() < a.Patience) {
			t.Errorf("the settings of %s: %+v", a.Name, a.settings)
		}
	}
	if Of("nobody") != nil {
		t.Error("there is an agent nobody")
	}
}

func TestGuarded(t *testing.T) {
	t.Setenv("CODEX_HOME", "/elsewhere")
	files, dirs := All().Guarded("/home/me", "/a", "/b")
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
	for _, want := range []string{"/home/me/.copilot/hooks", "/a/.github/hooks", "/home/me/.config/opencode/plugins", "/a/.opencode/plugins", "/etc/claude-code/managed-settings.d"} {
		if !slices.Contains(dirs, filepath.FromSlash(want)) {
			t.Errorf("%s is missing", want)
		}
	}
	files, _ = All().Guarded("")
	for _, f := range files {
		if !filepath.IsAbs(f) {
			t.Errorf("%s is relative", f)
		}
	}
}

// TestFromAgent: the engine knows every agent that has tools of its own.
func TestFromAgent(t *testing.T) {
	for _, name := range Agents() {
		if !(&obstat.Call{Agent: name}).FromAgent() {
			t.Errorf("%s is no agent to the engine", name)
		}
	}
	if (&obstat.Call{Agent: "build"}).FromAgent() || (&obstat.Call{}).FromAgent() {
		t.Error("a name of a host's own is an agent")
	}
}

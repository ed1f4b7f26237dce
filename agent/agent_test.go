package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAll: every agent is whole, and the list is that of the settings in testdata: an agent that is
// renamed or left out by mistake is missed there.
func TestAll(t *testing.T) {
	want, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range want {
		want[i] = strings.TrimSuffix(filepath.Base(path), ".golden")
	}
	want = append(want, Generic) // it has no settings
	slices.Sort(want)
	if got := Agents(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
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

// TestTraits: self-protection and the guard against agents are told of every agent's files,
// programs, flags, variables and processes, the files that moved ones among them.
func TestTraits(t *testing.T) {
	all := All().Traits()
	for _, want := range []Trait{
		{HookTrait, ".claude/settings.json"}, {HookTrait, ".claude/settings.local.json"}, {HookTrait, "/etc/claude-code/"},
		{HookTrait, ".codex/hooks.json"}, {MovedTrait, "CODEX_HOME hooks.json"}, {MovesTrait, "CODEX_HOME"},
		{HookTrait, "/Library/Application Support/GeminiCli/"}, {HookTrait, "C:/ProgramData/Cursor/"},
		{HookTrait, ".copilot/hooks/"}, {HookTrait, ".config/opencode/plugins/"}, {HookTrait, "Documents/Cline/Hooks/"},
		{PolicyTrait, ".claude/settings.json"}, {PolicyTrait, ".codex/rules/"}, {ProgramTrait, "claude-code"},
		{BareTrait, "codex:-p"}, {OffTrait, "QWEN_CODE_SIMPLE"}, {ProcessTrait, "cursor-agent"}, {MarkTrait, "CLAUDECODE"},
		{SettingTrait, ".gemini/.env"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v is missing", want)
		}
	}
	if at := slices.IndexFunc(all, func(x Trait) bool { return x.Kind != PolicyTrait }); all[at].Kind == PolicyTrait ||
		slices.ContainsFunc(all[at:], func(x Trait) bool { return x.Kind == PolicyTrait }) {
		t.Error("policies do not come first")
	}
}

// TestOfClient: an MCP client's own name tells its agent.
func TestOfClient(t *testing.T) {
	for client, want := range map[string]string{"claude-code": ClaudeCode, "Codex-MCP-Client": Codex, "gemini-cli-mcp-client-x": Gemini,
		"opencode": OpenCode, "cursor-vscode": Cursor, "github-copilot-developer": Copilot, "": "", "codexx": "", "claude": ""} {
		if got := OfClient(client); got != want {
			t.Errorf("%q is %q, not %q", client, got, want)
		}
	}
}

package agents

import (
	_ "embed"
	"strings"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
)

func obj(kv ...any) jsonx.Object {
	var o jsonx.Object
	for i := 0; i+1 < len(kv); i += 2 {
		o = append(o, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}

//go:embed opencode_plugin.js
var openCodePlugin string

// table is the list of agents. Time-outs are long enough for a person to answer;
// Gemini's are milliseconds.
func table() []*Agent {
	return []*Agent{claudeCode(), codex(), gemini(), cursor(), copilot(), crush(), windsurf(), openCode(), cline()}
}

func claudeCode() *Agent {
	return &Agent{Name: ClaudeCode, Title: "Claude Code", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"},
		places: []place{
			{scope: User, env: "CLAUDE_CONFIG_DIR", under: ".claude", path: "settings.json", install: true},
			{scope: Project, path: ".claude/settings.json", install: true},
			{scope: Project, path: ".claude/settings.local.json"},
			{scope: Managed, under: "claude-code", path: "managed-settings.json"},
			{scope: Managed, under: "claude-code", path: "managed-settings.d", dir: true},
		},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("matcher", "*", "hooks", []any{obj("type", "command", "command", t.command, "timeout", 600)})
		}}
}

func codex() *Agent {
	return &Agent{Name: Codex, Title: "Codex", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"}, trust: true,
		places: []place{
			{scope: User, env: "CODEX_HOME", under: ".codex", path: "hooks.json", install: true},
			{scope: User, env: "CODEX_HOME", under: ".codex", path: "config.toml"},
			{scope: Project, path: ".codex/hooks.json", install: true},
			{scope: Project, path: ".codex/config.toml"},
			{scope: Managed, under: "codex", path: "hooks.json"},
			{scope: Managed, under: "codex", path: "config.toml"},
			{scope: Managed, under: "codex", path: "managed_config.toml"},
			{scope: Managed, under: "codex", path: "requirements.toml"},
		},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("hooks", []any{obj("type", "command", "command", t.command, "timeout", 600)})
		}}
}

func gemini() *Agent {
	return &Agent{Name: Gemini, Title: "Gemini CLI", format: textedit.JSONC, first: "{}\n", events: []string{"BeforeTool"},
		places: []place{
			{scope: User, under: ".gemini", path: "settings.json", install: true},
			{scope: Project, path: ".gemini/settings.json", install: true},
			{scope: Managed, under: "gemini-cli", path: "settings.json"},
			{scope: Managed, under: "gemini-cli", path: "system-defaults.json"},
		},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("matcher", ".*", "hooks", []any{obj("type", "command", "name", "obstat", "command", t.command, "timeout", 600000)})
		}}
}

func cursor() *Agent {
	return &Agent{Name: Cursor, Title: "Cursor", format: textedit.JSON, first: "{\n  \"version\": 1\n}\n",
		events: []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart", "preToolUse"}, entry: cursorEntry,
		places: []place{
			{scope: User, under: ".cursor", path: "hooks.json", install: true},
			{scope: Project, path: ".cursor/hooks.json", install: true},
			{scope: Managed, under: "cursor", path: "hooks.json"},
		}}
}

func copilot() *Agent {
	return &Agent{Name: Copilot, Title: "Copilot CLI",
		places: []place{
			{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "hooks", dir: true, install: true},
			{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "settings.json"},
			{scope: Project, path: ".github/hooks", dir: true},
			{scope: Project, path: ".github/copilot/settings.json"},
			{scope: Project, path: ".github/copilot/settings.local.json"},
			{scope: Managed, under: "github-copilot", path: "policy.d", dir: true},
		},
		whole: func(t *target) []byte {
			b, _ := jsonx.Marshal(obj("version", 1, "hooks", obj("preToolUse", []any{obj("type", "command", "bash", t.command, "powershell", t.command, "timeoutSec", 600)})))
			return append(b, '\n')
		}}
}

func crush() *Agent {
	return &Agent{Name: Crush, Title: "Crush", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"},
		places: []place{
			{scope: User, under: ".config/crush", path: "crush.json", install: true},
			{scope: Project, path: "crush.json", install: true},
			{scope: Project, path: ".crush.json"},
		},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("name", "obstat", "command", t.command, "timeout", 60)
		}}
}

func windsurf() *Agent {
	return &Agent{Name: Windsurf, Title: "Windsurf", format: textedit.JSON, first: "{}\n",
		events: []string{"pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"},
		places: []place{
			{scope: User, under: ".codeium/windsurf", path: "hooks.json", install: true},
			{scope: User, under: ".codeium", path: "hooks.json"}, // JetBrains
			{scope: Project, path: ".windsurf/hooks.json", install: true},
			{scope: Managed, under: "windsurf", path: "hooks.json"},
		},
		entry: func(t *target, _ string) jsonx.Object { return obj("command", t.command, "show_output", true) }}
}

func openCode() *Agent {
	return &Agent{Name: OpenCode, Title: "opencode",
		places: []place{
			{scope: User, under: ".config/opencode", path: "plugins", dir: true, install: true},
			{scope: User, under: ".config/opencode", path: "opencode.json"},
			{scope: User, under: ".config/opencode", path: "opencode.jsonc"},
			{scope: Project, path: ".opencode/plugins", dir: true, install: true},
			{scope: Project, path: "opencode.json"},
			{scope: Project, path: "opencode.jsonc"},
		},
		whole: func(t *target) []byte {
			return []byte(strings.Replace(openCodePlugin, `"obstat"`, jsonx.Quote(t.program), 1))
		}}
}

func cline() *Agent {
	return &Agent{Name: Cline, Title: "Cline",
		places: []place{
			{scope: User, under: "Documents/Cline/Hooks", dir: true},
			{scope: Project, path: ".clinerules/hooks", dir: true},
		}}
}

// ownFile is the name of obstat's file in a directory of hooks.
func (a *Agent) ownFile() string {
	switch a.Name {
	case OpenCode:
		return "obstat.js"
	case Cline:
		return "PreToolUse"
	}
	return "obstat.json"
}

// cursorEntry: commands and MCP calls have events of their own, where an ask is
// honoured; the event for tools is for the rest.
func cursorEntry(t *target, event string) jsonx.Object {
	o := obj("command", t.command, "type", "command", "timeout", 600, "failClosed", true)
	if event == "preToolUse" {
		o = append(o, jsonx.Field{Key: "matcher", Value: "Write|Delete|Grep"})
	}
	return o
}

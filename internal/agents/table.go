package agents

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
)

// patient is long enough for a person to answer.
const patient = 600 * time.Second

func claudeCode() *Agent {
	return &Agent{Name: ClaudeCode, Title: "Claude Code", Events: []string{"PreToolUse", "PermissionRequest"}, Limit: patient,
		format: textedit.JSON, guard: guardSuffix,
		form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command"), matchers: map[string]string{"": "*"},
			timeout: "timeout", unit: time.Second, standard: patient},
		places: []place{
			{scope: User, env: "CLAUDE_CONFIG_DIR", under: ".claude", path: "settings.json", install: true},
			{scope: Project, path: ".claude/settings.json", install: true},
			{scope: Project, path: ".claude/settings.local.json"},
			{scope: Managed, under: "claude-code", path: "managed-settings.json"},
			{scope: Managed, under: "claude-code", path: "managed-settings.d", dir: true},
		}}
}

func codex() *Agent {
	return &Agent{Name: Codex, Title: "Codex", Events: []string{"PreToolUse", "PermissionRequest"}, Limit: patient,
		format: textedit.JSON, guard: guardShell, trust: true, strict: []string{"description", "hooks"},
		form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command"), timeout: "timeout", unit: time.Second, standard: patient},
		places: []place{
			{scope: User, env: "CODEX_HOME", under: ".codex", path: "hooks.json", install: true},
			{scope: User, env: "CODEX_HOME", under: ".codex", path: "config.toml"},
			{scope: Project, path: ".codex/hooks.json", install: true},
			{scope: Project, path: ".codex/config.toml"},
			{scope: Managed, under: "codex", path: "hooks.json"},
			{scope: Managed, under: "codex", path: "config.toml"},
			{scope: Managed, under: "codex", path: "managed_config.toml"},
			{scope: Managed, under: "codex", path: "requirements.toml"},
		}}
}

func gemini() *Agent {
	return &Agent{Name: Gemini, Title: "Gemini CLI", Events: []string{"BeforeTool"}, Limit: patient,
		format: textedit.JSONC, guard: guardSuffix,
		form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command", "name", "obstat"), matchers: map[string]string{"": ".*"},
			timeout: "timeout", unit: time.Millisecond, standard: time.Minute},
		places: []place{
			{scope: User, under: ".gemini", path: "settings.json", install: true},
			{scope: Project, path: ".gemini/settings.json", install: true},
			{scope: Managed, under: "gemini-cli", path: "settings.json"},
			{scope: Managed, under: "gemini-cli", path: "system-defaults.json"},
		}}
}

// cursor: commands and MCP calls have events of their own, where an ask is
// honoured; the event for tools is for the rest.
func cursor() *Agent {
	return &Agent{Name: Cursor, Title: "Cursor", Limit: patient,
		Events: []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart", "preToolUse"},
		format: textedit.JSON, first: obj("version", 1),
		form: form{commands: []string{"command"}, fields: obj("type", "command", "failClosed", true), matchers: map[string]string{"preToolUse": "Write|Delete|Grep"},
			timeout: "timeout", unit: time.Second},
		places: []place{
			{scope: User, under: ".cursor", path: "hooks.json", install: true},
			{scope: Project, path: ".cursor/hooks.json", install: true},
			{scope: Managed, under: "cursor", path: "hooks.json"},
		}}
}

func copilot() *Agent {
	a := &Agent{Name: Copilot, Title: "Copilot CLI", Events: []string{"preToolUse"}, Limit: patient, format: textedit.JSON, first: obj("version", 1), ownFile: "obstat.json",
		form: form{commands: []string{"bash", "powershell"}, fields: obj("type", "command"), timeout: "timeoutSec", unit: time.Second, standard: 30 * time.Second},
		places: []place{
			{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "hooks", dir: true, install: true},
			{scope: User, env: "COPILOT_HOME", under: ".copilot", path: "settings.json"},
			{scope: Project, path: ".github/hooks", dir: true},
			{scope: Project, path: ".github/copilot/settings.json"},
			{scope: Project, path: ".github/copilot/settings.local.json"},
			{scope: Managed, under: "github-copilot", path: "policy.d", dir: true},
		}}
	a.own = func(c Call) []byte { return (&target{agent: a, call: c}).fresh() }
	return a
}

func crush() *Agent {
	return &Agent{Name: Crush, Title: "Crush", Events: []string{"PreToolUse"}, Limit: time.Minute, format: textedit.JSON, guard: guardSuffix,
		form: form{commands: []string{"command"}, fields: obj("name", "obstat"), timeout: "timeout", unit: time.Second, standard: 30 * time.Second},
		places: []place{
			{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "crush/crush.json", install: true},
			{scope: Project, path: "crush.json", install: true},
			{scope: Project, path: ".crush.json"},
		}}
}

func windsurf() *Agent {
	return &Agent{Name: Windsurf, Title: "Windsurf", Events: []string{"pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"},
		format: textedit.JSON, guard: guardShell,
		form: form{commands: []string{"command"}, fields: obj("show_output", true)},
		places: []place{
			{scope: User, under: ".codeium/windsurf", path: "hooks.json", install: true},
			{scope: User, under: ".codeium", path: "hooks.json"}, // JetBrains
			{scope: Project, path: ".windsurf/hooks.json", install: true},
			{scope: Managed, under: "windsurf", path: "hooks.json"},
		}}
}

//go:embed opencode_plugin.js
var openCodePlugin string

func openCode() *Agent {
	return &Agent{Name: OpenCode, Title: "opencode", Events: []string{"tool.execute.before"}, Limit: patient, ownFile: "obstat.js",
		own: func(c Call) []byte {
			argv, _ := jsonx.Marshal(texts(c.Argv()))
			return []byte(strings.Replace(openCodePlugin, `["obstat", "hook", "opencode"]`, string(argv), 1))
		},
		places: []place{
			{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/plugins", dir: true, install: true},
			{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.json"},
			{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.jsonc"},
			{scope: Project, path: ".opencode/plugins", dir: true, install: true},
			{scope: Project, path: "opencode.json"},
			{scope: Project, path: "opencode.jsonc"},
		}}
}

// clineScript cancels by itself where obstat is not there.
const clineScript = `#!/bin/sh
# Written by ` + "`obstat install cline`" + `: asks obstat before every tool call.
%s && exit 0
[ $? = 2 ] && exit 2
echo '{"cancel":true,"errorMessage":"obstat did not answer, so the call is denied"}'
`

func cline() *Agent {
	return &Agent{Name: Cline, Title: "Cline", Events: []string{"PreToolUse"}, Limit: 30 * time.Second, ownFile: "PreToolUse",
		own: func(c Call) []byte { return fmt.Appendf(nil, clineScript, shellWords(c.Argv())) },
		places: []place{
			{scope: User, under: "Documents/Cline/Hooks", dir: true, install: true},
			{scope: Project, path: ".clinerules/hooks", dir: true, install: true},
		}}
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

package agents

type claudeCode struct{ mode string }

func (claudeCode) setup(r *run) error {
	return r.writeJSON(r.home(".claude-mcp.json"), object{"mcpServers": object{serverName: object{"type": "stdio", "command": r.lab, "args": []string{"mcp"}}}})
}

func (c claudeCode) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@anthropic-ai/claude-code-PLATFORM/claude")
	return []string{bin, "-p", prompt, "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose", "--mcp-config", r.home(".claude-mcp.json"),
			"--strict-mcp-config", "--permission-mode", c.mode},
		[]string{"ANTHROPIC_BASE_URL=" + r.model.URL(), "ANTHROPIC_API_KEY=sk-ant-dummy", "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1"}, err
}

func (claudeCode) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "Bash", Args: object{"command": a.what, "description": "a step of the script"}}}
	case doWrite:
		return []Call{{Tool: "Write", Args: object{"file_path": a.path, "content": "x\n"}}}
	case doMCP:
		return []Call{{Tool: "mcp__" + serverName + "__" + a.what, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "Agent", Args: object{"description": "canary", "prompt": Prompt(SubMarker), "subagent_type": "general-purpose"}}}
	}
	return nil
}

func (claudeCode) entry() entry {
	return entry{file: ".claude/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3"}
}

// talk starts it as for somebody who has been asked about everything but calls: the theme, the key, the folder.
func (c claudeCode) talk(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@anthropic-ai/claude-code-PLATFORM/claude")
	if err == nil {
		err = r.writeJSON(r.home(".claude.json"), object{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
			"customApiKeyResponses": object{"approved": []string{"sk-ant-dummy"}, "rejected": []string{}},
			"projects":              object{r.cwd(): object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}})
	}
	_, env, _ = c.command(r, prompt)
	return []string{bin, prompt, "--model", "claude-sonnet-4-5", "--permission-mode", c.mode}, append(env, terminal), err
}

// dialog: in bypassPermissions obstat asks by itself. For a call that a hook asks about, Claude Code offers
// yes and no alone.
func (c claudeCode) dialog() dialog {
	if c.mode == "bypassPermissions" {
		return dialog{}
	}
	return dialog{shows: "Do you want to proceed?", yes: "1", no: "ESC"}
}

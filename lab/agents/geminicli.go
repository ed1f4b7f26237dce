package agents

type geminiCLI struct{}

func (geminiCLI) setup(r *run) error {
	return r.writeJSON(r.home(".gemini/settings.json"), object{
		"general":    object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"mcpServers": object{serverName: object{"command": r.lab, "args": []string{"mcp"}, "trust": true}},
	})
}

func (geminiCLI) command(r *run, prompt string) (args, env []string, err error) {
	bundle, err := r.installed("@google/gemini-cli/bundle/gemini.js")
	return []string{"node", bundle, "-p", prompt, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "stream-json"},
		[]string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL(), "GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true"}, err
}

func (geminiCLI) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "run_shell_command", Args: object{"command": a.what, "description": "a step of the script"}}}
	case doWrite:
		return []Call{{Tool: "write_file", Args: object{"file_path": a.path, "content": "x\n"}}}
	case doMCP:
		return []Call{{Tool: "mcp_" + serverName + "_" + a.what, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "invoke_agent", Args: object{"agent_name": "generalist", "prompt": Prompt(SubMarker)}}}
	case doEnd: // words do not end a subagent there
		return []Call{{Tool: "complete_task", Args: object{"result": object{"response": lastWords}}}}
	}
	return nil
}

func (geminiCLI) entry() entry {
	return entry{file: ".gemini/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3000"}
}

func (g geminiCLI) talk(r *run, prompt string) (args, env []string, err error) {
	bundle, err := r.installed("@google/gemini-cli/bundle/gemini.js")
	_, env, _ = g.command(r, prompt)
	return []string{"node", bundle, "-i", prompt, "-m", "gemini-2.5-pro", "--approval-mode", "yolo"}, append(env, terminal), err
}

// dialog: obstat asks by itself, since an ask of a hook outranks Gemini's own deny rules.
func (geminiCLI) dialog() dialog { return dialog{} }

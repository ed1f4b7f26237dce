package agents

type qwenCode struct{}

func (qwenCode) setup(r *run) error {
	return r.writeJSON(r.home(".qwen/settings.json"), object{
		"general":    object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": "openai"}, "folderTrust": object{"enabled": false}},
		"mcpServers": object{serverName: object{"command": r.lab, "args": []string{"mcp"}, "trust": true}},
	})
}

func (qwenCode) command(r *run, prompt string) (args, env []string, err error) {
	cli, err := r.installed("@qwen-code/qwen-code/cli.js")
	return []string{"node", cli, "-p", prompt, "--approval-mode", "yolo"},
		[]string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + r.model.URL() + "/v1", "OPENAI_MODEL=gpt-4.1", "QWEN_CODE_NO_RELAUNCH=true"}, err
}

func (qwenCode) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "run_shell_command", Args: object{"command": a.what, "description": "a step of the script", "is_background": false}}}
	case doWrite:
		return []Call{{Tool: "write_file", Args: object{"file_path": a.path, "content": "x\n"}}}
	case doMCP:
		return []Call{{Tool: "mcp__" + serverName + "__" + a.what, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "agent", Args: object{"description": "canary", "prompt": Prompt(SubMarker), "subagent_type": "general-purpose"}}}
	}
	return nil
}

func (qwenCode) entry() entry {
	return entry{file: ".qwen/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3000", asking: []string{"--wait", "60s"}}
}

func (q qwenCode) talk(r *run, prompt string) (args, env []string, err error) {
	cli, err := r.installed("@qwen-code/qwen-code/cli.js")
	_, env, _ = q.command(r, prompt)
	return []string{"node", cli, "-i", prompt, "--approval-mode", "yolo"}, append(env, terminal), err
}

// dialog: for a call that a hook asks about it offers yes and no alone.
func (qwenCode) dialog() dialog {
	return dialog{shows: "Allow execution|Do you want to proceed?", yes: "ENTER", no: "ESC"}
}

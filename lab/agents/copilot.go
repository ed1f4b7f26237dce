package agents

type copilot struct{}

func (copilot) setup(r *run) error {
	return r.writeJSON(r.home(".copilot/mcp-config.json"), object{"mcpServers": object{serverName: object{"type": "local", "command": r.lab, "args": []string{"mcp"}, "tools": []string{"*"}}}})
}

func (copilot) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@github/copilot-PLATFORM/copilot")
	return []string{bin, "-p", prompt, "--no-color", "--allow-all-tools", "--allow-all-paths"},
		[]string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + r.model.URL() + "/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=gpt-4.1", "COPILOT_AUTO_UPDATE=false"}, err
}

func (copilot) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "bash", Args: object{"command": a.what, "description": "a step of the script"}}}
	case doWrite:
		return []Call{{Tool: "create", Args: object{"path": a.path, "file_text": "x\n"}}}
	case doMCP:
		return []Call{{Tool: serverName + "-" + a.what, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "task", Args: object{"description": "canary", "prompt": Prompt(SubMarker), "agent_type": "task", "name": "canary", "mode": "sync"}}}
	}
	return nil
}

func (copilot) entry() entry {
	return entry{file: ".copilot/hooks/obstat.json", timeout: `("timeoutSec":\s*)\d+`, short: "${1}3", userOnly: true, asking: []string{"--wait", "60s"}}
}

func (c copilot) talk(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@github/copilot-PLATFORM/copilot")
	_, env, _ = c.command(r, prompt)
	return []string{bin, "-i", prompt, "--allow-all-tools", "--allow-all-paths"}, append(env, terminal), err
}

func (copilot) dialog() dialog {
	return dialog{shows: "Do you want to allow this tool call?", yes: "1", no: "ESC", first: []step{{shows: "Do you trust the files in this folder?", keys: "ENTER"}}}
}

package agents

type openCode struct{}

func (openCode) setup(r *run) error {
	return r.writeJSON(r.home(".config/opencode/opencode.json"), object{
		"provider": object{"scripted": object{"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": r.model.URL() + "/v1", "apiKey": "dummy"},
			"models": object{"scripted": object{"name": "scripted", "tool_call": true, "limit": object{"context": 100000, "output": 8000}}}}},
		"model": "scripted/scripted", "enabled_providers": []string{"scripted"}, "autoupdate": false, "share": "disabled",
		"permission": object{"*": "allow"},
		"mcp":        object{serverName: object{"type": "local", "command": []string{r.lab, "mcp"}, "enabled": true}},
	})
}

func (openCode) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("opencode-PLATFORM/bin/opencode")
	return []string{bin, "run", "--auto", "--format", "json", "--print-logs", prompt},
		[]string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"}, err
}

func (openCode) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "bash", Args: object{"command": a.what, "description": "a step of the script"}}}
	case doWrite:
		return []Call{{Tool: "write", Args: object{"filePath": a.path, "content": "x\n"}}}
	case doMCP:
		return []Call{{Tool: serverName + "_" + a.what, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "task", Args: object{"description": "canary", "prompt": Prompt(SubMarker), "subagent_type": "general"}}}
	}
	return nil
}

func (openCode) entry() entry {
	return entry{file: ".config/opencode/plugins/obstat.js", timeout: `(limit = )\d+`, short: "${1}3000", flags: []string{"--offline"}}
}

// sayYes puts a plugin in obstat's place that lets every call pass.
func (openCode) sayYes(r *run) error {
	return r.write(r.home(openCode{}.entry().file), `export const Yes = async () => ({ "tool.execute.before": async () => {} });`+"\n")
}

func (o openCode) talk(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("opencode-PLATFORM/bin/opencode")
	_, env, _ = o.command(r, prompt)
	return []string{bin, "--prompt", prompt}, append(env, terminal), err
}

func (openCode) dialog() dialog { return dialog{} }

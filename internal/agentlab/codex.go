package agentlab

import "fmt"

type codex struct{}

func (codex) setup(r *run) error {
	return r.write(r.home(".codex/config.toml"), fmt.Sprintf(`model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[features]
hooks = true
plugins = false

[analytics]
enabled = false

[mcp_servers.%s]
command = %q
args = ["mcp"]
`, r.model.URL(), serverName, r.lab))
}

func (codex) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@openai/codex-PLATFORM/vendor/*/bin/codex")
	args = []string{bin, "exec", "--json", "--skip-git-repo-check", "-C", r.project(), "--dangerously-bypass-approvals-and-sandbox"}
	if r.hastened { // the entry is no longer the one that obstat had trusted
		args = append(args, "--dangerously-bypass-hook-trust")
	}
	return append(args, prompt), []string{"SCRIPTED_API_KEY=dummy"}, err
}

func (codex) calls(a action) []Call {
	switch a.do {
	case doShell:
		return []Call{{Tool: "exec_command", Args: object{"cmd": a.what}}}
	case doWrite:
		return []Call{{Tool: "apply_patch", Text: "*** Begin Patch\n*** Add File: " + a.path + "\n+x\n*** End Patch\n"}}
	case doMCP:
		return []Call{{Tool: a.what, Namespace: "mcp__" + serverName, Args: object{"path": a.path}}}
	case doSpawn:
		return []Call{{Tool: "spawn_agent", Namespace: "multi_agent_v1", Args: object{"message": Prompt(SubMarker)}},
			{Tool: "wait_agent", Namespace: "multi_agent_v1", Args: object{"targets": []string{lastID}, "timeout_ms": 20000}}}
	}
	return nil
}

func (codex) hasten(r *run) error {
	return r.replace(r.home(".codex/hooks.json"), `("timeout":\s*)\d+`, "${1}3")
}

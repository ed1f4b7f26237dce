package agents

import (
	"encoding/json"
	"fmt"
)

type codex struct{ model string }

func (c codex) setup(r *run) error {
	return r.write(r.home(".codex/config.toml"), fmt.Sprintf(`model = %q
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
`, c.model, r.model.URL(), serverName, r.lab))
}

func (codex) command(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@openai/codex-PLATFORM/vendor/*/bin/codex")
	args = []string{bin, "exec", "--json", "--skip-git-repo-check", "-C", r.cwd(), "--dangerously-bypass-approvals-and-sandbox"}
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

func (codex) entry() entry {
	return entry{file: ".codex/hooks.json", timeout: `("timeout":\s*)\d+`, short: "${1}3"}
}

// codexCode is Codex with the models, by now most of them, that call tools from
// JavaScript.
type codexCode struct{ codex }

func (c codexCode) calls(a action) []Call {
	js := func(tool string, arg any) []Call {
		text, err := json.Marshal(arg)
		if err != nil {
			return nil
		}
		return []Call{{Tool: "exec", Namespace: "functions", Text: fmt.Sprintf("text(await tools.%s(%s));", tool, text)}}
	}
	switch a.do {
	case doShell:
		return js("exec_command", object{"cmd": a.what})
	case doWrite:
		return js("apply_patch", c.codex.calls(a)[0].Text)
	case doMCP:
		return js("mcp__"+serverName+"__"+a.what, object{"path": a.path})
	case doSpawn:
		return []Call{{Tool: "spawn_agent", Namespace: "collaboration", Args: object{"message": Prompt(SubMarker), "task_name": "canary", "fork_turns": "none"}},
			{Tool: "wait_agent", Namespace: "collaboration", Args: object{"timeout_ms": 20000}}}
	}
	return nil
}

func (codex) talk(r *run, prompt string) (args, env []string, err error) {
	bin, err := r.installed("@openai/codex-PLATFORM/vendor/*/bin/codex")
	if err == nil { // as for somebody who has trusted the folder, and does not want another model
		err = r.replace(r.home(".codex/config.toml"), `(?s)$`, fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n\n[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n", r.project()))
	}
	return []string{bin, "--dangerously-bypass-approvals-and-sandbox", "-C", r.cwd(), prompt}, []string{"SCRIPTED_API_KEY=dummy", terminal}, err
}

func (codex) dialog() dialog {
	return dialog{first: []step{{shows: "Try new model", keys: "DOWN ENTER"}}}
}

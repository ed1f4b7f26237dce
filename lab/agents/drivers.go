package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/obstat/obstat/internal/scripted"
)

// object is a JSON object on its way out.
type object = map[string]any

// A driver is how the lab runs one agent. In its texts some words in braces stand for values of the run:
// {PROGRAM}, {PROMPT}, {HOME}, {CWD} and {PROJECT}, {LAB} for this program, {URL} for the model's address, and
// in the arguments of calls {WHAT} and {PATH} for those of the action.
type driver struct {
	program string            // its file below node_modules; PLATFORM is npm's name for this system
	files   map[string]string // its settings, by their names below home
	// headless and talks are the command lines for a run without a terminal and on one, seated is one more
	// settings file for the latter: the user has been asked about everything but calls.
	headless, talks string
	seated          [2]string
	env             string
	tools           map[string][]scripted.Call        // for each kind of action
	wrap            func(scripted.Call) scripted.Call // nil: calls are made as they are
	verdict         string                            // of its reviewer, for which the model speaks as well
	entry           entry
	dialog          dialog
	// yes is the text of a hook in obstat's place that lets every call pass; "" where the program of the
	// hook's entry can be another one.
	yes string
}

// An entry is a hook in an agent's settings.
type entry struct {
	file           string // below home
	timeout, short string // how long the agent waits: where that stands, and three seconds instead
	flags          []string
	asking         []string // further flags that bring asks of a headless run to obstat ask
	// userOnly: the agent does not run hooks of a project that is not trusted, and
	// obstat does not install them there.
	userOnly bool
	// plugin has the agent install obstat's plugin of the checkout at {ROOT}, in place of the entry; a command line each.
	plugin []string
}

// words returns the replacements of a run.
func (r *run) words(more ...string) *strings.Replacer {
	return strings.NewReplacer(append(more, "{HOME}", r.home(""), "{CWD}", r.cwd(), "{PROJECT}", r.project(), "{ROOT}",
		r.root, "{LAB}", r.lab, "{URL}", r.model.URL())...)
}

// setup writes the agent's own settings, before obstat's hook is installed.
func (d *driver) setup(r *run) error {
	for name, text := range d.files {
		if err := r.write(r.home(name), r.words().Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

// command returns a command line of the agent on a prompt, and the variables for it.
func (d *driver) command(r *run, line, prompt string) (args, env []string, err error) {
	program, err := r.installed(d.program)
	if r.hastened { // the entry is no longer the one that obstat had trusted
		line = strings.Replace(line, codexUnbound+" {PROMPT}", codexUnbound+" --dangerously-bypass-hook-trust {PROMPT}", 1)
	}
	words := r.words("{PROGRAM}", program, "{PROMPT}", prompt)
	for word := range strings.FieldsSeq(line) {
		args = append(args, words.Replace(word))
	}
	for kv := range strings.FieldsSeq(d.env) {
		env = append(env, words.Replace(kv))
	}
	return args, env, err
}

// talk starts the agent on a terminal.
func (d *driver) talk(r *run, prompt string) (args, env []string, err error) {
	args, env, err = d.command(r, d.talks, prompt)
	if name := d.seated[0]; name != "" && err == nil {
		err = r.write(r.home(name), r.words().Replace(d.files[name]+d.seated[1]))
	}
	return args, append(env, "TERM=xterm-256color"), err
}

// calls returns the tool calls for an action.
func (d *driver) calls(a action) (out []scripted.Call) {
	words := strings.NewReplacer("{WHAT}", a.what, "{PATH}", a.path)
	for _, c := range d.tools[a.do] {
		c.Tool, c.Text = words.Replace(c.Tool), words.Replace(c.Text)
		if c.Args != nil {
			c.Args = maps.Clone(c.Args)
			for key, v := range c.Args {
				if text, is := v.(string); is {
					c.Args[key] = words.Replace(text)
				}
			}
		}
		if d.wrap != nil {
			c = d.wrap(c)
		}
		out = append(out, c)
	}
	return out
}

const aStep = "a step of the script"

// spawned is the prompt of a subagent.
var spawned = scripted.Prompt(scripted.SubMarker)

func claudeCode(mode string) *driver {
	file := func(tool string, more object) scripted.Call {
		more["file_path"] = "{PATH}"
		return scripted.Call{Tool: tool, Args: more}
	}
	d := &driver{
		program: "@anthropic-ai/claude-code-PLATFORM/claude",
		files: map[string]string{".claude-mcp.json": `{"mcpServers": {"` + serverName +
			`": {"type": "stdio", "command": "{LAB}", "args": ["mcp"]}}}`},
		headless: `{PROGRAM} -p {PROMPT} --model claude-sonnet-4-5 --output-format stream-json --verbose
			--mcp-config {HOME}/.claude-mcp.json --strict-mcp-config --permission-mode ` + mode,
		talks: "{PROGRAM} {PROMPT} --model claude-sonnet-4-5 --permission-mode " + mode,
		seated: [2]string{".claude.json", `{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
			"customApiKeyResponses": {"approved": ["sk-ant-dummy"], "rejected": []},
			"projects": {"{CWD}": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}`},
		env: `ANTHROPIC_BASE_URL={URL} ANTHROPIC_API_KEY=sk-ant-dummy IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
			DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1`,
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "Bash", Args: object{"command": "{WHAT}", "description": aStep}}},
			doWrite: {file("Write", object{"content": "x\n"})},
			doEdit:  {file("Read", object{}), file("Edit", object{"old_string": editFrom, "new_string": editTo})},
			doMCP:   {{Tool: "mcp__" + serverName + "__{WHAT}", Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "Agent", Args: object{"description": "canary", "prompt": spawned,
				"subagent_type": "general-purpose"}}},
		},
		entry: entry{file: ".claude/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3",
			plugin: []string{"{PROGRAM} plugin marketplace add {ROOT}", "{PROGRAM} plugin install obstat@obstat"}},
	}
	if mode != "bypassPermissions" { // where obstat asks by itself; for a hook's ask it offers yes and no alone
		d.dialog = dialog{shows: "Do you want to proceed?", yes: "1", no: "ESC"}
	}
	return d
}

// trusting are the settings that Gemini CLI and its relative share; AUTH is how they log in.
const trusting = `{"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
	"security": {"auth": {"selectedType": "AUTH"}, "folderTrust": {"enabled": false}},
	"mcpServers": {"` + serverName + `": {"command": "{LAB}", "args": ["mcp"], "trust": true}},
	"general": {"enableAutoUpdate": false, `

func geminiCLI() *driver {
	return &driver{
		program: "@google/gemini-cli/bundle/gemini.js",
		files: map[string]string{".gemini/settings.json": strings.Replace(trusting, "AUTH", "gemini-api-key", 1) +
			`"enableAutoUpdateNotification": false}}`},
		headless: "node {PROGRAM} -p {PROMPT} -m gemini-2.5-pro --approval-mode yolo --output-format stream-json",
		talks:    "node {PROGRAM} -i {PROMPT} -m gemini-2.5-pro --approval-mode yolo",
		env: "GEMINI_API_KEY=dummy GOOGLE_GEMINI_BASE_URL={URL} GEMINI_CLI_NO_RELAUNCH=true " +
			"GEMINI_CLI_TRUST_WORKSPACE=true",
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "run_shell_command", Args: object{"command": "{WHAT}", "description": aStep}}},
			doWrite: {{Tool: "write_file", Args: object{"file_path": "{PATH}", "content": "x\n"}}},
			doEdit: {{Tool: "read_file", Args: object{"file_path": "{PATH}"}}, {Tool: "replace",
				Args: object{"file_path": "{PATH}", "old_string": editFrom, "new_string": editTo, "instruction": aStep}}},
			doMCP:   {{Tool: "mcp_" + serverName + "_{WHAT}", Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "invoke_agent", Args: object{"agent_name": "generalist", "prompt": spawned}}},
			// Words do not end a subagent there.
			doEnd: {{Tool: "complete_task", Args: object{"result": object{"response": scripted.LastWords}}}},
		},
		entry: entry{file: ".gemini/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3000",
			plugin: []string{"node {PROGRAM} extensions install --consent {ROOT}/plugins/gemini"}},
	}
}

func qwenCode() *driver {
	return &driver{
		program: "@qwen-code/qwen-code/cli.js",
		files: map[string]string{".qwen/settings.json": strings.Replace(trusting, "AUTH", "openai", 1) +
			`"disableAutoUpdate": true}}`},
		headless: "node {PROGRAM} -p {PROMPT} --approval-mode yolo",
		talks:    "node {PROGRAM} -i {PROMPT} --approval-mode yolo",
		env:      "OPENAI_API_KEY=dummy OPENAI_BASE_URL={URL}/v1 OPENAI_MODEL=gpt-4.1 QWEN_CODE_NO_RELAUNCH=true",
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "run_shell_command", Args: object{"command": "{WHAT}", "description": aStep,
				"is_background": false}}},
			doWrite: {{Tool: "write_file", Args: object{"file_path": "{PATH}", "content": "x\n"}}},
			doMCP:   {{Tool: "mcp__" + serverName + "__{WHAT}", Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "agent", Args: object{"description": "canary", "prompt": spawned,
				"subagent_type": "general-purpose"}}},
		},
		entry: entry{file: ".qwen/settings.json", timeout: `("timeout":\s*)\d+`, short: "${1}3000",
			asking: []string{"--wait", "60s"}},
		// For a call that a hook asks about it offers yes and no alone.
		dialog: dialog{shows: "Allow execution|Do you want to proceed?", yes: "ENTER", no: "ESC"},
	}
}

func openCode() *driver {
	return &driver{
		program: "opencode-PLATFORM/bin/opencode",
		files: map[string]string{".config/opencode/opencode.json": `{"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible",
			"options": {"baseURL": "{URL}/v1", "apiKey": "dummy"}, "models": {"scripted": {"name": "scripted", "tool_call": true,
			"limit": {"context": 100000, "output": 8000}}}}}, "model": "scripted/scripted", "enabled_providers": ["scripted"],
			"autoupdate": false, "share": "disabled", "permission": {"*": "allow"},
			"mcp": {"` + serverName + `": {"type": "local", "command": ["{LAB}", "mcp"], "enabled": true}}}`},
		headless: "{PROGRAM} run --auto --format json --print-logs {PROMPT}",
		talks:    "{PROGRAM} --prompt {PROMPT}",
		env: `OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
			OPENCODE_DISABLE_DEFAULT_PLUGINS=1`,
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "bash", Args: object{"command": "{WHAT}", "description": aStep}}},
			doWrite: {{Tool: "write", Args: object{"filePath": "{PATH}", "content": "x\n"}}},
			doEdit: {{Tool: "read", Args: object{"filePath": "{PATH}"}},
				{Tool: "edit", Args: object{"filePath": "{PATH}", "oldString": editFrom, "newString": editTo}}},
			doMCP:   {{Tool: serverName + "_{WHAT}", Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "task", Args: object{"description": "canary", "prompt": spawned, "subagent_type": "general"}}},
		},
		entry: entry{file: ".config/opencode/plugins/obstat.js", timeout: `(limit = )\d+`, short: "${1}3000",
			flags: []string{"--offline"}},
		yes: `export const Yes = async () => ({ "tool.execute.before": async () => {} });` + "\n",
	}
}

func piAgent() *driver {
	return &driver{
		program: "@earendil-works/pi-coding-agent/dist/cli.js",
		files: map[string]string{".pi/agent/models.json": `{"providers": {"scripted": {"baseUrl": "{URL}/v1", "apiKey": "dummy",
			"api": "openai-completions", "models": [{"id": "scripted"}]}}}`},
		headless: "node {PROGRAM} -p {PROMPT} --provider scripted --model scripted --mode json --no-session",
		env:      "PI_OFFLINE=1 PI_TELEMETRY=0",
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "bash", Args: object{"command": "{WHAT}"}}},
			doWrite: {{Tool: "write", Args: object{"path": "{PATH}", "content": "x\n"}}},
		},
		entry: entry{file: ".pi/agent/extensions/obstat.js"},
	}
}

func copilot() *driver {
	return &driver{
		program: "@github/copilot-PLATFORM/copilot",
		files: map[string]string{".copilot/mcp-config.json": `{"mcpServers": {"` + serverName +
			`": {"type": "local", "command": "{LAB}", "args": ["mcp"], "tools": ["*"]}}}`},
		headless: "{PROGRAM} -p {PROMPT} --no-color " + copilotAll,
		talks:    "{PROGRAM} -i {PROMPT} " + copilotAll,
		env: `COPILOT_OFFLINE=true COPILOT_PROVIDER_BASE_URL={URL}/v1 COPILOT_PROVIDER_API_KEY=dummy COPILOT_MODEL=gpt-4.1
			COPILOT_AUTO_UPDATE=false`,
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "bash", Args: object{"command": "{WHAT}", "description": aStep}}},
			doWrite: {{Tool: "create", Args: object{"path": "{PATH}", "file_text": "x\n"}}},
			doEdit: {{Tool: "view", Args: object{"path": "{PATH}"}},
				{Tool: "edit", Args: object{"path": "{PATH}", "old_str": editFrom, "new_str": editTo}}},
			doMCP: {{Tool: serverName + "-{WHAT}", Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "task", Args: object{"description": "canary", "prompt": spawned, "agent_type": "task",
				"name": "canary", "mode": "sync"}}},
		},
		entry: entry{file: ".copilot/hooks/obstat.json", timeout: `("timeoutSec":\s*)\d+`, short: "${1}3", userOnly: true,
			asking: []string{"--wait", "60s"},
			plugin: []string{"{PROGRAM} plugin marketplace add {ROOT}", "{PROGRAM} plugin install obstat@obstat"}},
		dialog: dialog{shows: "Do you want to allow this tool call?", yes: "1", no: "ESC",
			first: []step{{shows: "Do you trust the files in this folder?", keys: "ENTER"}}},
	}
}

// codexUnbound has Codex run commands without its sandbox, and without asking.
const codexUnbound = "--dangerously-bypass-approvals-and-sandbox"

func codex(model string) *driver {
	const config = `model = "MODEL"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{URL}/v1"
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

[mcp_servers.` + serverName + `]
command = "{LAB}"
args = ["mcp"]
`
	const wait = 20000
	return &driver{
		program:  "@openai/codex-PLATFORM/vendor/*/bin/codex",
		files:    map[string]string{".codex/config.toml": strings.Replace(config, "MODEL", model, 1)},
		headless: "{PROGRAM} exec --json --skip-git-repo-check -C {CWD} " + codexUnbound + " {PROMPT}",
		talks:    "{PROGRAM} " + codexUnbound + " -C {CWD} {PROMPT}",
		// The user has trusted the folder, and does not want another model.
		seated: [2]string{".codex/config.toml", `
[projects."{PROJECT}"]
trust_level = "trusted"

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
`},
		env: "SCRIPTED_API_KEY=dummy",
		tools: map[string][]scripted.Call{
			doShell: {{Tool: "exec_command", Args: object{"cmd": "{WHAT}"}}},
			doWrite: {{Tool: "apply_patch", Text: "*** Begin Patch\n*** Add File: {PATH}\n+x\n*** End Patch\n"}},
			doEdit: {{Tool: "apply_patch",
				Text: "*** Begin Patch\n*** Update File: {PATH}\n@@\n-" + editFrom + "\n+" + editTo + "\n*** End Patch\n"}},
			doEscalate: {{Tool: "exec_command", Args: object{"cmd": "{WHAT}", "sandbox_permissions": "require_escalated",
				"justification": aStep}}},
			doMCP: {{Tool: "{WHAT}", Namespace: "mcp__" + serverName, Args: object{"path": "{PATH}"}}},
			doSpawn: {{Tool: "spawn_agent", Namespace: "multi_agent_v1", Args: object{"message": spawned}},
				{Tool: "wait_agent", Namespace: "multi_agent_v1", Args: object{"targets": []string{scripted.LastID}, "timeout_ms": wait}}},
		},
		entry:  entry{file: ".codex/hooks.json", timeout: `("timeout":\s*)\d+`, short: "${1}3"},
		dialog: dialog{first: []step{{shows: "Try new model", keys: "DOWN ENTER"}}},
	}
}

// codexCode is Codex with the models, by now most of them, that call tools from
// JavaScript.
func codexCode() *driver {
	d := codex("gpt-6-sol")
	d.tools[doSpawn] = []scripted.Call{
		{Tool: "spawn_agent", Namespace: "collaboration", Args: object{"message": spawned, "task_name": "canary",
			"fork_turns": "none"}},
		{Tool: "wait_agent", Namespace: "collaboration", Args: object{"timeout_ms": 20000}},
	}
	d.wrap = func(c scripted.Call) scripted.Call {
		if c.Namespace == "collaboration" {
			return c
		}
		name, arg := c.Tool, any(c.Args)
		if c.Namespace != "" {
			name = c.Namespace + "__" + name
		}
		if c.Args == nil {
			arg = c.Text
		}
		text, _ := json.Marshal(arg) // texts and maps of texts
		return scripted.Call{Tool: "exec", Namespace: "functions", Text: fmt.Sprintf("text(await tools.%s(%s));", name, text)}
	}
	return d
}

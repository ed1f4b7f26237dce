package agent

import (
	"strings"
)

// An Asking says where an ask of obstat's goes in one way to run an agent.
type Asking struct {
	Agent string
	Way   string // how the agent is run: "interactive, bypassPermissions"
	At    At
	// With are the settings of obstat's hook that it takes, such as `--wait 60s`; "" is none.
	With string
	Says string

	mode string // of the payload
	env  string // a variable that the agent sets then, NAME=VALUE
	file bool   // it is about a file tool
	args string // of the agent's command line
}

// At is where a person is asked.
type At string

// The places.
const (
	AtPrompt At = "the agent's prompt"
	AtObstat At = "obstat ask"
)

// Askings returns the table of where asks go, for every agent that obstat can be installed for, in
// each of its ways to run.
func Askings() []Asking {
	const headless, cli = "CLAUDE_CODE_SESSION_ATTENDED=0", "COPILOT_CLI=1"
	return []Asking{
		{Agent: ClaudeCode, Way: "interactive, every known mode but plan and bypassPermissions", At: AtPrompt, mode: "default", Says: "in dontAsk and, without a terminal, in every mode it answers no by itself"},
		{Agent: ClaudeCode, Way: "interactive and -p, plan", At: AtObstat, mode: "plan", Says: "a yes in its own prompt would switch the mode off; after a yes here Claude Code's own word stands"},
		{Agent: ClaudeCode, Way: "interactive, a mode that is not known", At: AtObstat, mode: "turbo", Says: "nobody has seen it ask there"},
		{Agent: ClaudeCode, Way: "interactive, bypassPermissions", At: AtObstat, mode: bypass, Says: "it would not reliably ask there"},
		{Agent: ClaudeCode, Way: "-p, every known mode but plan and bypassPermissions", At: AtObstat, mode: "default", env: headless, Says: "while somebody is at `obstat ask`; else a --permission-prompt-tool, or Claude Code answers no"},
		{Agent: ClaudeCode, Way: "-p, bypassPermissions", At: AtObstat, mode: bypass, env: headless},
		{Agent: Codex, Way: "interactive and exec, every approval policy", At: AtObstat, mode: "default", Says: "before its own rules; its own prompt is answered by PermissionRequest"},
		{Agent: Gemini, Way: "interactive and -p, every approval mode, yolo too", At: AtObstat, Says: "in its own prompt a yes would outrank its own deny rules"},
		{Agent: OpenCode, Way: "interactive, run and serve, --auto too", At: AtObstat},
		{Agent: Copilot, Way: "interactive, --allow-all-tools too", At: AtPrompt, env: cli, args: "--allow-all-tools"},
		{Agent: Copilot, Way: "interactive, --deny-tool, or on macOS and Windows", At: AtObstat, env: cli, args: "--deny-tool=write", Says: "a yes in its own prompt would outrank the denial; where obstat cannot see the command line, there may be one"},
		{Agent: Copilot, Way: "the app", At: AtObstat, Says: "it is reported to run what a hook asks about"},
		{Agent: Copilot, Way: "-p", At: AtObstat, env: cli, args: "-p x", With: "--wait 60s", Says: "without it Copilot answers no by itself, and does not say that nobody is there"},
		{Agent: Qwen, Way: "interactive, every approval mode", At: AtPrompt},
		{Agent: Qwen, Way: "-p", At: AtObstat, With: "--wait 60s", Says: "without it Qwen Code answers no by itself"},
		{Agent: Crush, Way: "interactive", At: AtPrompt, args: "--debug"},
		{Agent: Crush, Way: "--yolo, run", At: AtObstat, args: "--yolo", Says: "Crush would answer yes by itself; so on macOS and Windows, where obstat cannot see its command line"},
		{Agent: Cursor, Way: "commands and MCP calls", At: AtObstat, Says: "in auto-review it is reported to run what a hook asks about"},
		{Agent: Cursor, Way: "files and subagents", At: AtObstat, file: true},
		{Agent: Windsurf, Way: "always", At: AtObstat},
		{Agent: Cline, Way: "always", At: AtObstat},
	}
}

// Started returns the agent's command line when it is run that way, nil where that says nothing.
func (a *Asking) Started() []string {
	if a.args == "" {
		return nil
	}
	return append([]string{a.Agent}, strings.Fields(a.args)...)
}

// Payload returns a call in the form that the agent sends when it is run that way, and the variables
// that it sets; the call runs a command, or, where the row is about files, writes one.
func (a *Asking) Payload(dir, command, file string) (stdin []byte, getenv func(string) string) {
	who := Of(a.Agent)
	event, p := who.events[0], probe{kind: shellProbe, text: command}
	if a.file {
		event, p = cursorTool, probe{kind: writeProbe, text: file}
	}
	o := who.forge(event, dir, p)
	for i := range o {
		if o[i].Key == "permission_mode" && a.mode != "" {
			o[i].Value = a.mode
		}
	}
	name, value, _ := strings.Cut(a.env, "=")
	return reply(o, "", 0).Stdout, func(key string) string {
		if key == name {
			return value
		}
		return ""
	}
}

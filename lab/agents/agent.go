package agents

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// An Agent is one of the agents, at one version.
type Agent struct {
	Name    string // as obstat calls it
	Way     string // "", or which of the agent's ways of working this is
	Title   string // as people call it
	Package string // as npm calls it
	Version string
	driver  driver
	// asks: the agent is started so that it would ask by itself, and refuse without
	// an answer.
	asks bool
}

// A driver knows one agent: its settings, its command line, its tools' names.
type driver interface {
	// setup writes the agent's own settings, before obstat's hook is installed.
	setup(r *run) error
	// command is how the agent is started on a prompt, and the variables for it.
	command(r *run, prompt string) (args, env []string, err error)
	// calls are the tool calls for an action.
	calls(a action) []Call
	// entry is where the installer writes the hook.
	entry() entry
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
}

// Agents returns the agents that can be driven, at the versions that were tried.
func Agents() []Agent {
	return []Agent{
		{"claude-code", "", "Claude Code", "@anthropic-ai/claude-code", "2.1.326", claudeCode{"bypassPermissions"}, false},
		{"claude-code", "default-mode", "Claude Code, default mode", "@anthropic-ai/claude-code", "2.1.326", claudeCode{"default"}, true},
		{"codex", "", "Codex", "@openai/codex", "0.169.0", codex{"gpt-5.5"}, false},
		{"codex", "code-mode", "Codex, code mode", "@openai/codex", "0.169.0", codexCode{codex{"gpt-6-sol"}}, false},
		{"gemini", "", "Gemini CLI", "@google/gemini-cli", "0.61.0", geminiCLI{}, false},
		{"opencode", "", "opencode", "opencode-ai", "1.18.33", openCode{}, false},
		{"copilot", "", "Copilot CLI", "@github/copilot", "1.0.102", copilot{}, false},
		{"qwen", "", "Qwen Code", "@qwen-code/qwen-code", "0.24.4", qwenCode{}, false},
	}
}

// id tells agents and their ways of working apart.
func (a *Agent) id() string {
	if a.Way == "" {
		return a.Name
	}
	return a.Name + "/" + a.Way
}

// An action is one step of a scenario, before it is put into an agent's words.
type action struct {
	do   string // one of the constants
	what string // a command, a path, or a tool of the tool server
	path string // the argument of a tool
	// joined: asked for in the same turn as the one before.
	joined bool
}

// The kinds of action.
const (
	doShell = "shell" // run a command
	doWrite = "write" // write a file
	doMCP   = "mcp"   // call the tool server
	doSpawn = "spawn" // start a subagent on its list, and wait for it
	doEnd   = "end"   // what a subagent does in the end
	doEdit  = "edit"  // change a file that is there
	// doEscalate runs a command that asks to leave the agent's sandbox.
	doEscalate = "escalate"
)

// platform is the name that npm packages give this system.
func platform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// installed returns the one file of the agent's package that a pattern fits.
func (r *run) installed(pattern string) (string, error) {
	pattern = filepath.Join(r.packages, "node_modules", filepath.FromSlash(strings.ReplaceAll(pattern, "PLATFORM", platform())))
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the package has no program for this system: there is no %s", pattern)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

package agents

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
)

// An Agent is one of the agents, at one version.
type Agent struct {
	Name    string // as obstat calls it
	Way     string // "", or which of the agent's ways of working this is
	Title   string // as people call it
	Package string // as npm calls it
	Version string
	driver  *driver
	// asks: the agent is started so that it would ask by itself, and refuse without
	// an answer.
	asks bool
}

// Agents returns the agents that can be driven, at the versions that package agent describes.
func Agents() []Agent {
	all := []Agent{
		{Name: agent.ClaudeCode, Package: "@anthropic-ai/claude-code", driver: claudeCode("bypassPermissions")},
		{Name: agent.ClaudeCode, Way: "default-mode", Package: "@anthropic-ai/claude-code", driver: claudeCode("default"),
			asks: true},
		{Name: agent.Codex, Package: "@openai/codex", driver: codex("gpt-5.5")},
		{Name: agent.Codex, Way: "code-mode", Package: "@openai/codex", driver: codexCode()},
		{Name: agent.Gemini, Package: "@google/gemini-cli", driver: geminiCLI()},
		{Name: agent.OpenCode, Package: "opencode-ai", driver: openCode()},
		{Name: agent.Copilot, Package: "@github/copilot", driver: copilot()},
		{Name: agent.Qwen, Package: "@qwen-code/qwen-code", driver: qwenCode()},
	}
	for i := range all {
		all[i].describe()
	}
	return all
}

// describe fills in what package agent knows of it.
func (a *Agent) describe() {
	known := agent.Of(a.Name)
	a.Title = known.Title
	if a.Version, _ = known.Covers(); a.Way != "" {
		a.Title += ", " + strings.ReplaceAll(a.Way, "-", " ")
	}
}

// agentOf returns the first of an agent's ways of working.
func agentOf(name string) *Agent {
	all := Agents()
	return &all[slices.IndexFunc(all, func(a Agent) bool { return a.Name == name })]
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
	doEnd   = "end"   // the last call of a subagent
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
	pattern = filepath.Join(r.packages, "node_modules", filepath.FromSlash(strings.ReplaceAll(pattern, "PLATFORM",
		platform())))
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the package has no program for this system: there is no %s", pattern)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

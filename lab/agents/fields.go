package agents

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/scripted"
)

// usualKinds are the kinds of call that every agent can make.
func usualKinds() []string {
	return []string{kindRead, kindTouch, kindCreate, kindEdit, kindMCP, kindOutside, kindStray}
}

// fieldOf returns the combinations for an agent.
func fieldOf(agent string) *field {
	fields := fieldsOf()
	return &fields[slices.IndexFunc(fields, func(f field) bool { return f.agent == agent })]
}

// A ruleForm is how an agent's users write their own rules.
type ruleForm struct {
	// file below home gets the text, with VERDICT and ABOUT filled in; without one the text is a flag.
	file, text       string
	deny, ask, allow string // the verdicts
	// about are the words for the call by its kind: commands that read and that write, a server's tool,
	// and files, outside of the project and elsewhere.
	reads, writes, mcp, files, outside string
}

// write adds the rule of a cell to the agent's settings or command line.
func (f *ruleForm) write(c *Cell, d *driver) {
	verdict := map[string]string{ruleDeny: f.deny, ruleAsk: f.ask, ruleAllow: f.allow}[c.Rule]
	if verdict == "" {
		return
	}
	text := strings.NewReplacer("VERDICT", verdict, "ABOUT", f.about(c.Kind)).Replace(f.text)
	if f.file == "" {
		d.headless += " " + text
		return
	}
	d.files[f.file] = text
}

func (f *ruleForm) about(kind string) string {
	switch kind {
	case kindRead:
		return f.reads
	case kindTouch, kindStray:
		return f.writes
	case kindMCP:
		return f.mcp
	case kindOutside:
		if f.outside != "" {
			return f.outside
		}
	}
	return f.files
}

// fieldsOf returns the combinations, agent by agent.
func fieldsOf() []field {
	four := []string{ruleNone, ruleDeny, ruleAsk, ruleAllow}
	return []field{
		{agent: agent.ClaudeCode, rules: four, kinds: usualKinds(), over: []string{autoFlagged, autoGarbled, autoSilent},
			modes: []string{"default", "plan", "acceptEdits", "dontAsk", "bypassPermissions", autoAllows, autoFlagged,
				autoGarbled, autoSilent},
			asked: "haven't granted it|needs approval|in don't ask mode", firm: []string{"plan"}, drive: claudeIn},
		{agent: agent.Codex, rules: four, kinds: append(usualKinds(), kindEscalate),
			over: []string{reviewDenies, reviewGarbled},
			modes: []string{codexReadOnly, codexWorkspace, codexDanger, codexBypass, reviewAllows, reviewDenies, reviewGarbled,
				codexAsksRead, codexAsksWork},
			asked:  "user rejected MCP tool call|MCP tool call requires approval",
			judged: true, rulable: codexRulable, drive: codexIn},
		{agent: agent.Gemini, rules: four, kinds: usualKinds(), modes: []string{"default", "auto_edit", "yolo", "plan"},
			asked: "requires user confirmation|non-interactive mode", firm: []string{"plan"}, drive: geminiIn},
		{agent: agent.Copilot, rules: []string{ruleNone, ruleDeny, ruleAllow}, kinds: usualKinds(),
			modes: []string{"default", copilotTools, copilotAll, copilotPlan},
			asked: "no interactive user response|could not request permission", firm: []string{copilotPlan}, walled: true,
			drive: copilotIn},
		{agent: agent.OpenCode, rules: four, kinds: usualKinds(),
			modes: []string{"build", "build, --auto", "plan", "agent that denies", "agent that asks"},
			asked: "user rejected permission|permission requested|auto-reject", firm: []string{"plan"}, drive: openCodeIn},
	}
}

// The modes of Claude Code's auto mode, by its classifier's verdict.
const (
	autoAllows  = "auto, classifier allows"
	autoFlagged = "auto, classifier flags"
	autoGarbled = "auto, verdict garbled"
	autoSilent  = "auto, no verdict"
)

var claudeRules = ruleForm{file: ".claude/settings.json", text: `{"permissions": {"VERDICT": [ABOUT]}}`,
	deny: "deny", ask: "ask", allow: "allow",
	reads: `"Bash(cat *)"`, writes: `"Bash(touch *)"`, mcp: `"mcp__` + serverName + `__touch"`, files: `"Edit", "Write"`}

// claudeIn is Claude Code in a cell. Its model is one that has the auto mode.
func claudeIn(c *Cell) *driver {
	mode, _, _ := strings.Cut(c.Mode, ",")
	d := claudeCode(mode)
	d.headless = strings.Replace(d.headless, "claude-sonnet-4-5", "claude-opus-5", 1)
	d.verdict = map[string]string{autoAllows: scripted.ClassifierAllows, autoFlagged: scripted.ClassifierFlags,
		autoGarbled: scripted.ClassifierGarbled}[c.Mode]
	claudeRules.write(c, d)
	return d
}

var geminiRules = ruleForm{file: ".gemini/policies/own.toml",
	text: "[[rule]]\nABOUT\ndecision = \"VERDICT\"\npriority = 500\n",
	deny: "deny", ask: "ask_user", allow: "allow",
	reads:  "toolName = \"run_shell_command\"\ncommandPrefix = \"cat\"",
	writes: "toolName = \"run_shell_command\"\ncommandPrefix = \"touch\"",
	mcp:    "toolName = \"touch\"\nmcpName = \"" + serverName + `"`,
	files:  `toolName = ["write_file", "replace"]`}

// geminiIn is Gemini CLI in a cell.
func geminiIn(c *Cell) *driver {
	d := geminiCLI()
	const file = ".gemini/settings.json"
	d.files[file] = strings.Replace(d.files[file], `"trust": true`, `"trust": false`, 1)
	d.headless = strings.Replace(d.headless, "yolo", c.Mode, 1)
	geminiRules.write(c, d)
	return d
}

// The modes of Copilot CLI.
const (
	copilotTools = "--allow-all-tools"
	copilotAll   = "--allow-all-tools --allow-all-paths"
	copilotPlan  = "--plan --allow-all-tools"
)

var copilotRules = ruleForm{text: "VERDICT=ABOUT", deny: "--deny-tool", allow: "--allow-tool",
	reads: "shell(cat:*)", writes: "shell(touch:*)", mcp: serverName + "(touch)", files: "write"}

// copilotIn is Copilot CLI in a cell.
func copilotIn(c *Cell) *driver {
	d := copilot()
	d.headless = strings.TrimSuffix(d.headless, " "+copilotAll)
	if c.Mode != "default" {
		d.headless += " " + c.Mode
	}
	copilotRules.write(c, d)
	return d
}

// openCodeIn is opencode in a cell.
func openCodeIn(c *Cell) *driver {
	rules := ruleForm{reads: `{"bash": {"cat *": "V"}}`, writes: `{"bash": {"touch *": "V"}}`, mcp: `{"` + serverName +
		`_touch": "V"}`,
		files: `{"edit": "V"}`, outside: `{"edit": "V", "external_directory": "V"}`}
	about := rules.about(c.Kind)
	if c.Kind == kindStray {
		about = `{"bash": {"touch *": "V"}, "external_directory": "V"}`
	}
	of := func(verdict string) string { return strings.ReplaceAll(about, `"V"`, `"`+verdict+`"`) }
	own, agents := "{}", "{}"
	if verdict := map[string]string{ruleDeny: "deny", ruleAsk: "ask", ruleAllow: "allow"}[c.Rule]; verdict != "" {
		own = of(verdict)
	}
	if verdict := map[string]string{"agent that denies": "deny", "agent that asks": "ask"}[c.Mode]; verdict != "" {
		agents = `{"careful": {"mode": "primary", "prompt": "Be careful.", "permission": ` + of(verdict) + `}}`
	}
	d := openCode()
	const file = ".config/opencode/opencode.json"
	d.files[file] = strings.Replace(d.files[file], `"permission": {"*": "allow"}`,
		`"permission": `+own+`, "agent": `+agents, 1)
	flags := map[string]string{"build, --auto": " --auto", "plan": " --agent plan",
		"agent that denies": " --agent careful",
		"agent that asks":   " --agent careful"}[c.Mode]
	d.headless = strings.Replace(d.headless, " --auto", flags, 1)
	return d
}

// The modes of Codex: `codex exec` with a sandbox, which never asks; with its reviewer, by the reviewer's
// verdict; and its app-server, which asks the client.
const (
	codexReadOnly  = "read-only, never asks"
	codexWorkspace = "workspace-write, never asks"
	codexDanger    = "danger-full-access, never asks"
	codexBypass    = "no sandbox, no approvals"
	reviewAllows   = "auto-review, reviewer allows"
	reviewDenies   = "auto-review, reviewer denies"
	reviewGarbled  = "auto-review, verdict garbled"
	codexAsksRead  = "read-only, on request"
	codexAsksWork  = "workspace-write, on request"
)

// codexRulable: its rules are about commands and about tools of servers, not about patches.
func codexRulable(kind, _ string) bool {
	return kind != kindCreate && kind != kindEdit && kind != kindOutside
}

var codexRules = ruleForm{file: ".codex/rules/default.rules",
	text: `prefix_rule(pattern=["ABOUT"], decision="VERDICT")` + "\n",
	deny: "forbidden", ask: "prompt", allow: "allow", reads: "cat", writes: "touch", files: "touch"}

// codexIn is Codex in a cell.
func codexIn(c *Cell) *driver {
	d := codex("gpt-5.5")
	d.verdict = map[string]string{reviewAllows: `{"outcome":"allow"}`, reviewGarbled: "perhaps",
		reviewDenies: `{"risk_level":"critical","user_authorization":"low","outcome":"deny","rationale":"the script says so"}`}[c.Mode]
	if c.Kind == kindMCP {
		const tool = "\n[mcp_servers." + serverName + ".tools.touch]\napproval_mode = "
		d.files[".codex/config.toml"] += map[string]string{ruleDeny: "disabled_tools = [\"touch\"]\n",
			ruleAsk: tool + "\"prompt\"\n", ruleAllow: tool + "\"approve\"\n"}[c.Rule]
	} else {
		codexRules.write(c, d)
	}
	sandbox, _, _ := strings.Cut(c.Mode, ",")
	switch c.Mode {
	case codexBypass:
		return d
	case codexAsksRead, codexAsksWork:
		d.headless = "{LAB} codex-client {PROGRAM} {CWD} " + sandbox + " {PROMPT}"
		return d
	case reviewAllows, reviewDenies, reviewGarbled:
		sandbox = `workspace-write -c approvals_reviewer="auto_review" -c approval_policy="on-request"`
	}
	d.headless = strings.Replace(d.headless, codexUnbound, "-s "+sandbox, 1)
	return d
}

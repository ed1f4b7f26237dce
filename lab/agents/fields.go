package agents

import (
	"fmt"
	"slices"
	"strings"
)

// usualKinds are the kinds of call that every agent can make.
func usualKinds() []string {
	return []string{kindRead, kindTouch, kindCreate, kindEdit, kindMCP, kindOutside, kindStray}
}

// fieldOf returns what can be combined for an agent.
func fieldOf(agent string) *field {
	fields := fieldsOf()
	return &fields[slices.IndexFunc(fields, func(f field) bool { return f.agent == agent })]
}

// fieldsOf returns what can be combined, agent by agent.
func fieldsOf() []field {
	four := []string{ruleNone, ruleDeny, ruleAsk, ruleAllow}
	return []field{
		{agent: "claude-code", rules: four, kinds: usualKinds(), over: []string{autoFlagged, autoGarbled, autoSilent},
			modes: []string{"default", "plan", "acceptEdits", "dontAsk", "bypassPermissions", autoAllows, autoFlagged, autoGarbled, autoSilent},
			asked: "haven't granted it|needs approval|in don't ask mode", firm: []string{"plan"},
			drive: func(c *Cell) driver { return claudeIn{claudeCode{claudeMode(c.Mode)}, c} }},
		{agent: "codex", rules: four, kinds: append(usualKinds(), kindEscalate), over: []string{reviewDenies, reviewGarbled}, judged: true,
			modes: []string{codexReadOnly, codexWorkspace, codexDanger, codexBypass, reviewAllows, reviewDenies, reviewGarbled, codexAsksRead, codexAsksWork},
			asked: "user rejected MCP tool call|MCP tool call requires approval", rulable: codexRulable,
			drive: func(c *Cell) driver { return codexIn{codex{"gpt-5.5"}, c} }},
		{agent: "gemini", rules: four, kinds: usualKinds(),
			modes: []string{"default", "auto_edit", "yolo", "plan"},
			asked: "requires user confirmation|non-interactive mode", firm: []string{"plan"},
			drive: func(c *Cell) driver { return geminiIn{geminiCLI{}, c} }},
		{agent: "copilot", rules: []string{ruleNone, ruleDeny, ruleAllow}, kinds: usualKinds(),
			modes: []string{"default", copilotTools, copilotAll, copilotPlan},
			asked: "no interactive user response|could not request permission", firm: []string{copilotPlan}, walled: true,
			drive: func(c *Cell) driver { return copilotIn{copilot{}, c} }},
		{agent: "opencode", rules: four, kinds: usualKinds(),
			modes: []string{"build", "build, --auto", "plan", "agent that denies", "agent that asks"},
			asked: "user rejected permission|permission requested|auto-reject", firm: []string{"plan"},
			drive: func(c *Cell) driver { return openCodeIn{openCode{}, c} }},
	}
}

// The modes of Claude Code's auto mode, by its classifier's verdict.
const (
	autoAllows  = "auto, classifier allows"
	autoFlagged = "auto, classifier flags"
	autoGarbled = "auto, verdict garbled"
	autoSilent  = "auto, no verdict"
)

func claudeMode(mode string) string {
	mode, _, _ = strings.Cut(mode, ",")
	return mode
}

// A reviewed driver is of an agent whose model also speaks for a reviewer.
type reviewed interface{ verdict() string }

// claudeIn is Claude Code in a cell.
type claudeIn struct {
	claudeCode
	cell *Cell
}

func (c claudeIn) verdict() string {
	return map[string]string{autoAllows: classifierAllows, autoFlagged: classifierFlags, autoGarbled: classifierGarbled}[c.cell.Mode]
}

func (c claudeIn) setup(r *run) error {
	if err := c.claudeCode.setup(r); err != nil {
		return err
	}
	list := map[string]string{ruleDeny: "deny", ruleAsk: "ask", ruleAllow: "allow"}[c.cell.Rule]
	if list == "" {
		return nil
	}
	rules := map[string][]string{kindRead: {"Bash(cat *)"}, kindTouch: {"Bash(touch *)"}, kindStray: {"Bash(touch *)"},
		kindMCP: {"mcp__" + serverName + "__touch"}}[c.cell.Kind]
	if rules == nil {
		rules = []string{"Edit", "Write"}
	}
	return r.writeJSON(r.home(".claude/settings.json"), object{"permissions": object{list: rules}})
}

func (c claudeIn) command(r *run, prompt string) (args, env []string, err error) {
	args, env, err = c.claudeCode.command(r, prompt)
	for i := range args {
		if args[i] == "claude-sonnet-4-5" { // which has no auto mode
			args[i] = "claude-opus-5"
		}
	}
	return args, env, err
}

func (c claudeIn) calls(a action) []Call {
	if a.do == doEdit {
		return []Call{{Tool: "Read", Args: object{"file_path": a.path}},
			{Tool: "Edit", Args: object{"file_path": a.path, "old_string": editFrom, "new_string": editTo}}}
	}
	return c.claudeCode.calls(a)
}

// geminiIn is Gemini CLI in a cell.
type geminiIn struct {
	geminiCLI
	cell *Cell
}

func (g geminiIn) setup(r *run) error {
	if err := g.geminiCLI.setup(r); err != nil {
		return err
	}
	if err := r.replace(r.home(".gemini/settings.json"), `"trust": true`, `"trust": false`); err != nil {
		return err
	}
	decision := map[string]string{ruleDeny: "deny", ruleAsk: "ask_user", ruleAllow: "allow"}[g.cell.Rule]
	if decision == "" {
		return nil
	}
	var rule string
	switch g.cell.Kind {
	case kindRead:
		rule = "toolName = \"run_shell_command\"\ncommandPrefix = \"cat\""
	case kindTouch, kindStray:
		rule = "toolName = \"run_shell_command\"\ncommandPrefix = \"touch\""
	case kindMCP:
		rule = fmt.Sprintf("toolName = \"touch\"\nmcpName = %q", serverName)
	default:
		rule = `toolName = ["write_file", "replace"]`
	}
	return r.write(r.home(".gemini/policies/own.toml"), fmt.Sprintf("[[rule]]\n%s\ndecision = %q\npriority = 500\n", rule, decision))
}

func (g geminiIn) command(r *run, prompt string) (args, env []string, err error) {
	args, env, err = g.geminiCLI.command(r, prompt)
	for i := range args {
		if args[i] == "yolo" {
			args[i] = g.cell.Mode
		}
	}
	return args, env, err
}

func (g geminiIn) calls(a action) []Call {
	if a.do == doEdit {
		return []Call{{Tool: "read_file", Args: object{"file_path": a.path}}, {Tool: "replace",
			Args: object{"file_path": a.path, "old_string": editFrom, "new_string": editTo, "instruction": "a step of the script"}}}
	}
	return g.geminiCLI.calls(a)
}

// The modes of Copilot CLI.
const (
	copilotTools = "--allow-all-tools"
	copilotAll   = "--allow-all-tools --allow-all-paths"
	copilotPlan  = "--plan --allow-all-tools"
)

// copilotIn is Copilot CLI in a cell.
type copilotIn struct {
	copilot
	cell *Cell
}

func (c copilotIn) command(r *run, prompt string) (args, env []string, err error) {
	args, env, err = c.copilot.command(r, prompt)
	if err != nil {
		return nil, nil, err
	}
	args = args[:4:4]
	if c.cell.Mode != "default" {
		args = append(args, strings.Fields(c.cell.Mode)...)
	}
	flag := map[string]string{ruleDeny: "--deny-tool", ruleAllow: "--allow-tool"}[c.cell.Rule]
	if flag == "" {
		return args, env, err
	}
	rule := map[string]string{kindRead: "shell(cat:*)", kindTouch: "shell(touch:*)", kindStray: "shell(touch:*)", kindMCP: serverName + "(touch)"}[c.cell.Kind]
	if rule == "" {
		rule = "write"
	}
	return append(args, flag+"="+rule), env, err
}

func (c copilotIn) calls(a action) []Call {
	if a.do == doEdit {
		return []Call{{Tool: "view", Args: object{"path": a.path}},
			{Tool: "edit", Args: object{"path": a.path, "old_str": editFrom, "new_str": editTo}}}
	}
	return c.copilot.calls(a)
}

// openCodeIn is opencode in a cell.
type openCodeIn struct {
	openCode
	cell *Cell
}

func (o openCodeIn) setup(r *run) error {
	if err := o.openCode.setup(r); err != nil {
		return err
	}
	verdict := map[string]string{ruleDeny: "deny", ruleAsk: "ask", ruleAllow: "allow"}[o.cell.Rule]
	own := object{}
	if verdict != "" {
		own = o.about(verdict)
	}
	of := map[string]string{"agent that denies": "deny", "agent that asks": "ask"}[o.cell.Mode]
	agents := object{}
	if of != "" {
		agents["careful"] = object{"mode": "primary", "prompt": "Be careful.", "permission": o.about(of)}
	}
	return r.editJSON(r.home(".config/opencode/opencode.json"), func(v object) { v["permission"], v["agent"] = own, agents })
}

// about is a permission for the cell's kind of call.
func (o openCodeIn) about(verdict string) object {
	switch o.cell.Kind {
	case kindRead:
		return object{"bash": object{"cat *": verdict}}
	case kindTouch:
		return object{"bash": object{"touch *": verdict}}
	case kindStray:
		return object{"bash": object{"touch *": verdict}, "external_directory": verdict}
	case kindMCP:
		return object{serverName + "_touch": verdict}
	case kindOutside:
		return object{"edit": verdict, "external_directory": verdict}
	}
	return object{"edit": verdict}
}

func (o openCodeIn) command(r *run, prompt string) (args, env []string, err error) {
	args, env, err = o.openCode.command(r, prompt)
	if err != nil {
		return nil, nil, err
	}
	flags := map[string][]string{"build, --auto": {"--auto"}, "plan": {"--agent", "plan"}, "agent that denies": {"--agent", "careful"},
		"agent that asks": {"--agent", "careful"}}[o.cell.Mode]
	out := append([]string{args[0], "run"}, flags...)
	return append(out, args[3:]...), env, nil
}

func (o openCodeIn) calls(a action) []Call {
	if a.do == doEdit {
		return []Call{{Tool: "read", Args: object{"filePath": a.path}},
			{Tool: "edit", Args: object{"filePath": a.path, "oldString": editFrom, "newString": editTo}}}
	}
	return o.openCode.calls(a)
}

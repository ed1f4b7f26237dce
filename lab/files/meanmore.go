package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	tomlRule   = regexp.MustCompile(`(?m)^\[\[rule\]\]`)
	tomlPrefix = regexp.MustCompile(`(?s)commandPrefix\s*=\s*(\[.*?\]|"[^"]*"|'[^']*')`)
	tomlText   = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
	tomlSays   = regexp.MustCompile(`decision\s*=\s*"(\w+)"`)
)

// geminiPolicy reads the commands of a policy of Gemini CLI. A prefix is text, so that `["go", "test"]` are two rules.
func geminiPolicy(text string) lists {
	out := lists{}
	for _, rule := range tomlRule.Split(text, -1) {
		prefix, says := tomlPrefix.FindStringSubmatch(rule), tomlSays.FindStringSubmatch(rule)
		if prefix == nil || says == nil || !strings.Contains(rule, `"run_shell_command"`) || strings.Contains(rule, "modes") {
			continue
		}
		verdict := map[string]string{"allow": "allow", "ask_user": "ask", "deny": "deny"}[says[1]]
		for _, m := range tomlText.FindAllStringSubmatch(prefix[1], -1) {
			out[verdict] = append(out[verdict], "run_shell_command("+strings.TrimSpace(m[1]+m[2])+")")
		}
	}
	return out
}

// vscode reads the commands that VS Code runs without a question, and those that it always asks about. An expression is
// left out where no command is plainly what it is for, and so is `git status:*`, which VS Code takes by the letter.
func vscode(data []byte) (out []meaning) {
	rules, _ := object(data)["chat.tools.terminal.autoApprove"].(map[string]any)
	ls := lists{}
	for text, v := range rules {
		if o, ok := v.(map[string]any); ok {
			v = o["approve"]
		}
		says, ok := v.(bool)
		want := map[bool]string{true: "allow", false: "ask"}[says]
		if ok && text != "" && !strings.HasPrefix(text, "/") && !strings.Contains(text, "*") {
			ls[want] = append(ls[want], "Bash("+text+")")
		}
	}
	for _, want := range []string{"allow", "ask"} {
		slices.Sort(ls[want])
	}
	return calls(ls, "run_in_terminal", prefixed)
}

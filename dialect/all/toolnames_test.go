package all_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestToolNames: in every dialect whose rules name tools, a rule for a tool that no agent has is a warning
// with its place. Where people call tools as they like, only a misspelling is.
func TestToolNames(t *testing.T) {
	rule := `{"tool_name":%q,"rule_content":null,"behavior":"deny","source":"userSettings"}`
	files := map[string][2]string{
		"program":    {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":"allow"}},"rules":{"r":[{"tool":TOOL,"verdict":"deny"}]}}`},
		"native":     {"obstat.yaml", "version: 1\ndeny:\n  - tool NAME\n"},
		"claudecode": {"settings.json", `{"permissions":{"deny":[TOOL]}}`},
		"opencode":   {"opencode.json", `{"permission":{TOOL:"deny"}}`},
		"gemini":     {"p.toml", "[[rule]]\ntoolName = TOOL\ndecision = \"deny\"\npriority = 1\n"},
		"agentscope": {"permission_context.json", `{"mode":"default","working_directories":{},"deny_rules":{TOOL:[` + strings.Replace(rule, "%q", "TOOL", 1) + `]}}`},
		"adkfluent":  {"adk-permissions.json", `{"mode":"default","deny":[TOOL]}`},
		"jiuwen":     {"config.yaml", `{"permissions":{"enabled":true,"schema":"tiered_policy","permission_mode":"normal","tools":{TOOL:"deny"}}}`},
		"chorus":     {"agent.json", `{"name":"a","permissions":{"allow":["tool:NAME:.*"],"ask":[]}}`},
	}
	names := map[string]map[string]string{
		"program": {"Bsh": "Bash", "frobnicate": "docs/program.md", "run_shell_command": "", "search": "", "subagent": "", "canary_poke": "", "mcp__a__b": "", "run_shell_comand": "run_shell_command"},
		"native":  {"Bsh": "Bash", "frobnicate": "docs/program.md", "Agent": "", "spawn_agent": "", "mcp__a__*": "", "canary_poke": "", "web_fech": "web_fetch"},
		"gemini":  {"run_shell_comand": "run_shell_command", "frobnicate": "docs/program.md", "read_file": "", "mcp_a_b": ""},
		// These have said so before.
		"claudecode": {"Bsh": "Bash", "Bash": ""}, "opencode": {"bahs": "bash", "bash": ""},
		"agentscope": {"Bsh": "Bash", "send_email": "", "deploy": "", "Bash": "", "Wirte": "Write"},
		"adkfluent":  {"raed_file": "read_file", "send_email": "", "deploy": "", "read_file": "", "streaming_bash": "", "straming_bash": "streaming_bash"},
		"jiuwen":     {"bahs": "bash", "deploy": "", "write_text_file": "", "write_txt_file": "write_text_file"},
		"chorus":     {"bsh": "bash", "deploy": "", "view": "", "str_replce": "str_replace"},
	}
	for name, file := range files {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for tool, want := range names[name] {
			text := strings.NewReplacer("TOOL", fmt.Sprintf("%q", tool), "NAME", tool).Replace(file[1])
			l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: file[0], Data: []byte(text)}}})
			if err != nil {
				t.Fatalf("%s: %s: %v", name, text, err)
			}
			var got obstat.Errors
			for _, e := range append(dialect.Lint(l), l.Warnings...) {
				if strings.Contains(e.Msg, "tool") && strings.Contains(e.Msg, tool) && strings.Contains(e.Msg, "no ") {
					got = append(got, e)
				}
			}
			if len(got) > 0 != (want != "") || want != "" && (!got[0].Warning || got[0].Pos.Line == 0 || !strings.Contains(got[0].Hint, want)) {
				t.Errorf("%s: %s: %v, want %q", name, tool, got, want)
			}
		}
	}
}

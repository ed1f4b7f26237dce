package gemini

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// TestSettings: the lists of settings.json stand for rules, with Gemini CLI's priorities.
func TestSettings(t *testing.T) {
	shell := func(command string) [2]string { return [2]string{"run_shell_command", `{"command":"` + command + `"}`} }
	read := [2]string{"read_file", `{"file_path":"a"}`}
	user, project := ".gemini/settings.json", "/p/.gemini/settings.json"
	for name, c := range map[string]struct {
		files [][2]string // name and text, lowest precedence first
		want  map[[2]string]obstat.Verdict
	}{
		"exclude": {[][2]string{{user, `{"tools":{"exclude":["web_fetch"]}}`}, {project, `{"tools":{"exclude":["run_shell_command"]}}`}},
			map[[2]string]obstat.Verdict{{"web_fetch", `{"prompt":"x"}`}: obstat.Deny, shell("ls"): obstat.Deny, read: obstat.Allow, {"WebFetch", `{"url":"x"}`}: obstat.Deny, {"Bash", `{"command":"ls"}`}: obstat.Deny}},
		"allowed narrows": {[][2]string{{user, `{"tools":{"allowed":["run_shell_command(git status)","ShellTool(make)"]}}`}},
			map[[2]string]obstat.Verdict{shell("git status -s"): obstat.Allow, shell("make all"): obstat.Allow, shell("git push"): obstat.Deny, shell("ls"): obstat.Deny, read: obstat.Allow}},
		"allowed whole": {[][2]string{{user, `{"tools":{"allowed":["run_shell_command"]}}`}}, map[[2]string]obstat.Verdict{shell("git push"): obstat.Allow, {"write_file", `{"file_path":"a","content":""}`}: obstat.Ask}},
		"the last allowed": {[][2]string{{user, `{"tools":{"allowed":["write_file"]}}`}, {project, `{"tools":{"allowed":["replace"]}}`}},
			map[[2]string]obstat.Verdict{{"write_file", `{"file_path":"a","content":""}`}: obstat.Ask, {"replace", `{"file_path":"a"}`}: obstat.Allow}},
		"confirmation": {[][2]string{{user, `{"tools":{"allowed":["read_file"],"confirmationRequired":["read_file"]}}`}}, map[[2]string]obstat.Verdict{read: obstat.Ask}},
		"core":         {[][2]string{{user, `{"tools":{"core":["read_file","run_shell_command(git)"]}}`}}, map[[2]string]obstat.Verdict{read: obstat.Allow, shell("git push"): obstat.Allow, shell("ls"): obstat.Deny, {"glob", `{"pattern":"*"}`}: obstat.Deny}},
		"servers": {[][2]string{{user, `{"mcp":{"excluded":["bad"],"allowed":["good"]},"mcpServers":{"fine":{"trust":true},"other":{}}}`}},
			map[[2]string]obstat.Verdict{{"mcp_bad_x", `{}`}: obstat.Deny, {"mcp__bad__x", `{}`}: obstat.Deny, {"mcp_good_x", `{}`}: obstat.Allow, {"mcp_fine_x", `{}`}: obstat.Allow, {"mcp_other_x", `{}`}: obstat.Ask,
				{"bad_x", `{}`}: obstat.Deny, {"bad-x", `{}`}: obstat.Deny}},
		"below a policy": {[][2]string{{"/home/u/.gemini/policies/a.toml", "[[rule]]\ntoolName = \"web_fetch\"\ndecision = \"allow\"\npriority = 500\n"}, {user, `{"tools":{"exclude":["web_fetch"]}}`}},
			map[[2]string]obstat.Verdict{{"web_fetch", `{"prompt":"x"}`}: obstat.Allow}},
	} {
		in := &dialect.Input{Home: "/home/u", Options: map[string]string{dialect.FloorOption: "off"}}
		for _, f := range c.files {
			in.Files = append(in.Files, dialect.File{Name: f[0], Data: []byte(f[1])})
		}
		l, err := dialect.Load(Dialect{}, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for call, want := range c.want {
			d := l.Policy.Decide(&obstat.Call{Tool: call[0], Input: json.RawMessage(call[1]), Dir: "/p", Roots: []string{"/p"}, Project: "/p"}, nil)
			if d.Verdict != want {
				t.Errorf("%s: %v: %v, want %v: %s", name, call, d.Verdict, want, d.Reason())
			}
		}
	}
	for text, want := range map[string]bool{`{"mcpServers":{"a":{"trust":true}}}`: false, `{"ui":{}, // x
		"tools":{"core":[]}}`: true, `{"mcp":{"excluded":["a"]}}`: true, `{`: true, `{"tools":{"shell":{}}}`: false} {
		if got := (Dialect{}).Speaks(&dialect.File{Name: user, Data: []byte(text)}); got != want {
			t.Errorf("%s speaks: %v", text, got)
		}
	}
	if _, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: user, Data: []byte(`{"tools":{"exclude":[7]}}`)}}}); err == nil {
		t.Error("a number is no tool")
	}
}

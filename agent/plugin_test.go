package agent

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/format/textedit"
)

// TestPlugins runs the plugins of Pi, Amp and OpenClaw as those agents do, by their documents, with scripts in
// obstat's place: a call runs, with which arguments, or the words by which it is refused.
func TestPlugins(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node here to run the plugins with")
	}
	dir := t.TempDir()
	driver := filepath.Join(dir, "driver.mjs")
	write(t, driver, 0o644, `
const on = {};
const api = { on: (name, handler) => (on[name] = handler) };
const agents = {
  pi: async () => {
    const input = { command: "ls" };
    const ctx = { cwd: "/w", sessionManager: { getSessionId: () => "s" } };
    const no = await on.tool_call({ type: "tool_call", toolName: "bash", toolCallId: "c", input }, ctx);
    if (no?.block) return "refused " + no.reason;
    const content = [{ type: "text", text: "A=secret" }];
    const after = await on.tool_result({ type: "tool_result", toolName: "bash", toolCallId: "c", input, content }, ctx);
    return "ran " + input.command + " " + (after?.content ?? content)[0].text;
  },
  amp: async () => {
    const call = { toolUseID: "c", tool: "Bash", input: { command: "ls" }, thread: { id: "s" } };
    const said = await on["tool.call"](call, {});
    if (said.action === "reject-and-continue") return "refused " + said.message;
    const output = [{ type: "text", text: "A=secret" }];
    const after = await on["tool.result"]({ ...call, status: "done", output }, {});
    return "ran " + (said.input ?? call.input).command + " " + (after?.output ?? output)[0].text;
  },
  openclaw: async () => {
    const call = { toolName: "exec", toolCallId: "c", params: { command: "ls" } };
    const said = await on.before_tool_call(call, { sessionId: "s", workspaceDir: "/w" });
    if (said?.block) return "refused " + said.blockReason;
    await on.after_tool_call({ ...call, result: "x" }, {});
    return "ran " + (said?.params ?? call.params).command;
  },
};
for (const at of process.argv.slice(2)) {
  const [name, plugin] = at.split("=");
  const made = (await import(plugin)).default;
  typeof made === "function" ? made(api) : made.register(api);
  console.log(await agents[name]());
}
process.exit(0);`)
	var args, wants []string
	for _, a := range []*Agent{pi(), amp(), openClaw()} {
		printed := " A=secret"
		if a.Name == OpenClaw {
			printed = ""
		}
		for name, c := range map[string]struct{ script, want string }{
			"allow":   {`while read id call; do echo "$id 0 {\"decision\":\"allow\"}"; done`, "ran ls" + printed},
			"changed": {`while read id call; do echo "$id 0 {\"decision\":\"allow\",\"args\":{\"command\":\"ls -l\"}}"; done`, "ran ls -l" + printed},
			"deny":    {`while read id call; do echo "$id 2 {\"decision\":\"deny\",\"reason\":\"no rm\"}"; done`, "refused no rm"},
			"allow 2": {`while read id call; do echo "$id 2 {\"decision\":\"allow\"}"; done`, `refused {"decision"`},
			"silent":  {`exit 0`, "refused obstat did not answer"},
			"killed":  {`kill -9 $$`, "refused obstat did not answer"},
			"missing": {"", "refused " + dir},
			"sees call": {`while read id call; do case $call in *'"tool":'*'"session":"s"'*) echo "$id 0 {\"decision\":\"allow\"}";; esac; done`,
				"ran ls" + printed},
			"masks": {`while read id call; do case $call in *'"output":[{'*) echo "$id 0 {\"decision\":\"allow\",\"output\":[{\"text\":\"A=[masked]\"}]}";;
				*) echo "$id 0 {\"decision\":\"allow\"}";; esac; done`, "ran ls" + strings.Replace(printed, "secret", "[masked]", 1)},
		} {
			program := filepath.Join(dir, a.Name, name, "obstat")
			if c.script != "" {
				write(t, program, 0o755, "#!/bin/sh\n"+c.script+"\n")
			}
			plugin := filepath.Join(dir, a.Name, name, "obstat.mjs")
			write(t, plugin, 0o644, string(a.own(Invocation{program, []string{a.Name}})))
			args, wants = append(args, a.Name+"="+plugin), append(wants, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, node, append([]string{driver}, args...)...).CombinedOutput()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) != len(wants)+1 {
		t.Fatalf("%s, %v", out, err)
	}
	for i, want := range wants {
		if !strings.HasPrefix(lines[i], want) || strings.HasPrefix(want, "ran") && lines[i] != want {
			t.Errorf("%s: %s, want %s", args[i], lines[i], want)
		}
	}
}

// TestNewSettings: settings by which an agent does not run obstat's entry are found.
func TestNewSettings(t *testing.T) {
	for _, c := range []struct{ agent, file, text, code string }{
		{Droid, ".factory/hooks.json", `{"PreToolUse": []}`, "hidden-hook"},
		{Droid, ".factory/hooks/hooks.json", `{"PreToolUse": []}`, "hidden-hook"},
		{Droid, ".factory/hooks.json", `{"PostToolUse": []}`, ""},
		{Droid, ".factory/hooks.json", `{"hooksDisabled": true}`, "hooks-off"},
		{OpenClaw, ".openclaw/openclaw.json", `{"plugins": {"allow": ["x"]}}`, "hooks-off"},
		{OpenClaw, ".openclaw/openclaw.json", `{"plugins": {"deny": ["obstat"]}}`, "hooks-off"},
		{OpenClaw, ".openclaw/openclaw.json", `{"plugins": {"enabled": false}}`, "hooks-off"},
		{OpenClaw, ".openclaw/openclaw.json", `{"plugins": {"entries": {"obstat": {"enabled": false}}}}`, "hooks-off"},
		{OpenClaw, ".openclaw/openclaw.json", `{plugins: {allow: ["obstat"]}}`, "not-enabled"},
		{OpenClaw, ".openclaw/openclaw.json", `{"plugins": {"allow": ["obstat"]}}`, ""},
	} {
		w := &Where{Home: t.TempDir()}
		write(t, filepath.Join(w.Home, filepath.FromSlash(c.file)), 0o644, c.text)
		r := &Request{Scope: User, Where: w, Program: "/opt/obstat"}
		for _, change := range Of(c.agent).Install(r) {
			old, _ := textedit.ReadFile(change.Name)
			text, err := change.Edit(old)
			if err != nil {
				t.Fatal(c, err)
			}
			write(t, change.Name, 0o644, string(text))
		}
		s := Of(c.agent).Look(w)
		s.Agent.check(s)
		got := ""
		if len(s.Findings) > 0 {
			got = s.Findings[0].Code
		}
		if got != c.code {
			t.Errorf("%s with %s: %q, %+v", c.agent, c.text, got, s.Findings)
		}
	}
}

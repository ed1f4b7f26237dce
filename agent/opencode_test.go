package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOpenCodePlugin runs the plugin the way opencode does, with scripts in
// obstat's place.
func TestOpenCodePlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node here to run the plugin with")
	}
	dir := t.TempDir()
	driver := filepath.Join(dir, "driver.mjs")
	write(t, driver, 0o644, `
for (const plugin of process.argv.slice(2)) {
  const { Obstat } = await import(plugin);
  const hooks = await Obstat({ directory: "/w" });
  const said = [];
  await hooks["chat.message"]({ sessionID: "s", agent: "build" }, { message: { agent: "plan" } });
  await hooks["chat.params"]({ sessionID: "s", agent: "title", message: { agent: "plan" } });
  await hooks["chat.params"]({ sessionID: "other", agent: "build", message: { agent: "build" } });
  await hooks["chat.params"]({ sessionID: "s" });
  for (let i = 0; i < 2; i++) {
    const output = { args: { command: "ls", gone: 1 } };
    try {
      await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, output);
      const printed = i ? { content: [{ type: "text", text: "A=secret" }] } : { output: "A=secret", metadata: {} };
      await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "c" }, printed);
      const masked = JSON.stringify(printed.output ?? printed.content);
      said.push("ran " + JSON.stringify(output.args) + (masked.includes("secret") ? "" : " " + masked));
    } catch (e) {
      said.push("threw " + e.message.trim());
    }
  }
  console.log(said.join("|"));
}`)
	var plugins, wants []string
	for name, c := range map[string]struct{ script, want string }{
		"allow":       {`while read id call; do echo "$id 0 {\"decision\":\"allow\"}"; done`, `ran {"command":"ls","gone":1}`},
		"one process": {`n=0; while read id call; do n=$((n+1)); echo "$id 2 {\"decision\":\"deny\",\"reason\":\"call $n of $*\"}"; done`, "threw call 1 of hook opencode --serve|threw call 2 of"},
		"changed":     {`while read id call; do echo "$id 0 {\"decision\":\"allow\",\"args\":{\"command\":\"ls -l\"}}"; done`, `ran {"command":"ls -l"}`},
		"deny":        {`while read id call; do echo "$id 2 {\"decision\":\"deny\",\"reason\":\"no rm\"}"; done`, "threw no rm"},
		"allow, 2":    {`while read id call; do echo "$id 2 {\"decision\":\"allow\"}"; done`, `threw {"decision"`},
		"other call":  {`read id call; echo "99$id 0 {\"decision\":\"allow\"}"`, "threw obstat did not answer"},
		"silent":      {`exit 0`, "threw obstat did not answer"},
		"complains":   {`echo wrong >&2; exit 2`, "threw wrong"},
		"half":        {`read id call; printf '%s 0 {"decision":"al' "$id"`, "threw obstat did not answer"},
		"killed":      {`kill -9 $$`, "threw obstat did not answer"},
		"restarted":   {`read id call; if [ -e "$0.was" ]; then echo "$id 0 {\"decision\":\"allow\"}"; fi; touch "$0.was"`, "threw obstat did not answer|ran"},
		"sees call":   {`read id call; case $call in *'"tool":"bash"'*'"directory":"/w"'*) echo "$id 0 {\"decision\":\"allow\"}";; esac`, "ran"},
		"sees agent":  {`read id call; case $call in *'"agent":"plan"'*) echo "$id 0 {\"decision\":\"allow\"}";; esac`, "ran"},
		"hanging":     {`exec sleep 600`, "threw obstat did not answer|threw obstat did not answer"},
		"missing":     {"", "threw " + dir},
		"masks": {`while read id call; do case $call in *execute.after*'"output":"A=secret"'*) out='"A=[masked]"';;
			*execute.after*'"output":[{"type":"text"'*) out='[{"type":"text","text":"A=[masked]"}]';; *) out=null;; esac
			[ $out = null ] && echo "$id 0 {\"decision\":\"allow\"}" || echo "$id 0 {\"decision\":\"allow\",\"output\":$out}"; done`,
			`ran {"command":"ls","gone":1} "A=[masked]"|ran {"command":"ls","gone":1} [{"type":"text","text":"A=[masked]"}]`},
	} {
		program := filepath.Join(dir, name, "obstat")
		if c.script != "" {
			write(t, program, 0o755, "#!/bin/sh\n"+c.script+"\n")
		}
		plugin := filepath.Join(dir, name, "obstat.mjs")
		text := string(openCode().own(Invocation{program, []string{"opencode"}}))
		if name == "hanging" {
			text = strings.Replace(text, "limit = 600000", "limit = 200", 1)
		}
		write(t, plugin, 0o644, text)
		plugins, wants = append(plugins, plugin), append(wants, c.want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, node, append([]string{driver}, plugins...)...).CombinedOutput()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) != len(wants)+1 {
		t.Fatalf("%s, %v", out, err)
	}
	for i, want := range wants {
		said := strings.Split(lines[i], "|")
		for j, w := range strings.Split(want, "|") { // of the first call and, where it is another, the second
			if !strings.HasPrefix(said[j], w) {
				t.Errorf("%s: %s, want %s", filepath.Base(filepath.Dir(plugins[i])), lines[i], want)
			}
		}
	}
}

func write(t *testing.T, name string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestNeedsNetwork: --offline writes the files that opencode looks for.
func TestNeedsNetwork(t *testing.T) {
	home := t.TempDir()
	r := &Request{Scope: User, Where: &Where{Home: home}, Program: "/opt/obstat"}
	plugin := openCode().Target(User, r.Where)
	if !needsNetwork(plugin) {
		t.Error("an empty directory is enough")
	}
	r.Offline = true
	for _, c := range openCode().Install(r) {
		text, err := c.Edit(nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, c.Name, 0o644, string(text))
	}
	if needsNetwork(plugin) {
		t.Error("--offline is not enough")
	}
}

// TestOfflineProject: opencode waits for the user's directory of settings as
// well where only the project has a plugin.
func TestOfflineProject(t *testing.T) {
	w := &Where{Home: filepath.Join(t.TempDir(), "home"), Projects: []string{filepath.Join(t.TempDir(), "project")}}
	var names []string
	for _, c := range openCode().Install(&Request{Scope: Project, Where: w, Program: "/opt/obstat", Offline: true}) {
		names = append(names, c.Name)
	}
	for _, scope := range []Scope{User, Project} {
		lock := filepath.Join(filepath.Dir(filepath.Dir(openCode().Target(scope, w))), "package-lock.json")
		if !slices.Contains(names, lock) {
			t.Errorf("%s is not in %q", lock, names)
		}
	}
}

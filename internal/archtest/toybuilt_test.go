package archtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toyBuilt builds an obstat that knows one agent more: the file agent/toy_test.go and one line in agent/agent.go.
func toyBuilt(t *testing.T) string {
	t.Helper()
	here, err := filepath.Abs("../../agent")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(here, "agent.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	line := []byte("\t\tclaudeCode(),\n")
	with := bytes.Replace(list, line, append([]byte("\t\tToy(),\n"), line...), 1)
	if bytes.Equal(with, list) || os.WriteFile(filepath.Join(dir, "agent.go"), with, 0o644) != nil {
		t.Fatal("the line cannot be added")
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, "agent.go"): filepath.Join(dir, "agent.go"),
		filepath.Join(here, "toy.go"):   filepath.Join(here, "toy_test.go"),
	}})
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "obstat")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "github.com/obstat/obstat/cmd/obstat")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestToyBuilt: with one file and one line more, the hook, the installer, doctor, self-protection, the
// guard against agents, the MCP gateway, the engine and the help of obstat know a new agent.
func TestToyBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds obstat")
	}
	program, home := toyBuilt(t), t.TempDir()
	project := filepath.Join(home, "project")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state")}
	run := func(stdin string, args ...string) (string, int) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env, cmd.Stdin = project, env, strings.NewReader(stdin)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	const rules = "version: 1\nallow: [\"read, write and delete anywhere\", run anything, tool anything]\n" +
		"deny: [run rm]\n"
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "obstat.yaml"), []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	call := func(tool, input string) string {
		return `{"toyVersion":1,"does":"` + tool + `","with":` + input + `,"where":"` + project + `"}`
	}
	for _, tc := range []struct {
		name, stdin string
		args        []string
		exit        int
		says        string
	}{
		{"install", "", []string{"install", "toy", "--yes"}, 0, ".toy/toy.json"},
		{"its own form, denied", call("Bash", `{"command":"rm x"}`), []string{"hook", "toy"}, 2, `{"go":false`},
		{"told by its payload", call("Bash", `{"command":"rm x"}`), []string{"hook"}, 2, `{"go":false`},
		{"self-protection: its settings", call("Write", `{"file_path":"`+home+`/.toy/toy.json","content":"{}"}`), []string{"hook", "toy"}, 2, "hook entries"},
		{"self-protection: its rules", call("Bash", `{"command":"touch toy-rules.txt"}`), []string{"hook", "toy"}, 2, "toy-rules.txt"},
		{"self-protection: without its hooks", call("Bash", `{"command":"toy --unhooked"}`), []string{"hook", "toy"}, 2, "without what guards it"},
		{"self-protection: its switch", call("Bash", `{"command":"TOY_ALONE=1 ls"}`), []string{"hook", "toy"}, 2, "TOY_ALONE"},
		{"doctor", "", []string{"doctor", "toy"}, 0, "Toy"},
		{"help", "", []string{"hook", "--help"}, 2, "toy"},
		{"uninstall by the agent", "", []string{"uninstall", "toy", "--yes"}, 1, "TOY_SESSION"},
	} {
		if tc.name == "uninstall by the agent" {
			env = append(env, "TOY_SESSION=1")
		}
		if out, exit := run(tc.stdin, tc.args...); exit != tc.exit || !strings.Contains(out, tc.says) {
			t.Errorf("%s: exit %d, not %d with %q:\n%s", tc.name, exit, tc.exit, tc.says, out)
		}
	}
}

package cli_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// missing is the beginning of a plugin's hook: a person who has the plugin and no obstat is told so.
const missing = "command -v obstat >/dev/null || { echo 'obstat is not installed, and every call is denied until it is " +
	"on PATH: https://github.com/obstat/obstat, or take its plugin out' >&2; exit 2; }; "

// plugins are the agents that there is a plugin for, with the settings file that install writes.
var plugins = map[string]string{"claude-code": ".claude/settings.json", "gemini": ".gemini/settings.json",
	"copilot": ".copilot/hooks/obstat.json", "cursor": ".cursor/hooks.json"}

// TestPlugins: the hooks of plugins are those that obstat install writes, without a path. They deny by
// the policy in force, and where there is no obstat they deny and say so.
func TestPlugins(t *testing.T) {
	for name, settings := range plugins {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.Command("obstat", "install", "--yes", "--command", "/opt/obstat", name)
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(filepath.Join(home, settings))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(string(text), `"/opt/obstat hook`, `"`+missing+`obstat hook`)
			want = strings.ReplaceAll(want, "/opt/obstat", "obstat")
			file := filepath.Join("../../../plugins", name, "hooks/hooks.json")
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s is not what install writes: go test ./internal/face/cli -run TestPlugins -update", file)
			}
			denies(t, got)
		})
	}
}

// asked are the events at which agents ask about a command, each with the rest of the agent's payload.
var asked = map[string]string{
	"PreToolUse": `"session_id":"s","transcript_path":"","hook_event_name":"PreToolUse","tool_name":"Bash",` +
		`"tool_input":{"command":"docker ps"}`,
	"BeforeTool": `"session_id":"s","transcript_path":"","hook_event_name":"BeforeTool",` +
		`"timestamp":"2026-01-01T00:00:00Z","tool_name":"run_shell_command","tool_input":{"command":"docker ps"}`,
	"preToolUse": `"sessionId":"s","timestamp":1767225600000,"toolName":"bash","toolArgs":"{\"command\":\"docker ps\"}"`,
	"beforeShellExecution": `"conversation_id":"c","cursor_version":"2.4","hook_event_name":"beforeShellExecution",` +
		`"command":"docker ps"`,
}

// entry is a hook of a plugin, or a group of hooks.
type entry struct {
	Bash, Command string
	Hooks         []entry
}

// denies runs the hook that is asked before a call, with obstat and without.
func denies(t *testing.T, hooks []byte) {
	var file struct{ Hooks map[string][]entry }
	if err := json.Unmarshal(hooks, &file); err != nil {
		t.Fatal(err)
	}
	event, line := "", ""
	for name, list := range file.Hooks {
		if asked[name] == "" || event == "beforeShellExecution" {
			continue // Cursor has preToolUse for files
		}
		e := list[0]
		if len(e.Hooks) > 0 {
			e = e.Hooks[0]
		}
		event, line = name, cmp.Or(e.Command, e.Bash)
	}
	dir, home, state := t.TempDir(), t.TempDir(), t.TempDir()
	policy := []byte("version: 1\ndeny: [run docker]\n")
	if err := os.WriteFile(filepath.Join(dir, "obstat.yaml"), policy, 0o600); err != nil {
		t.Fatal(err)
	}
	call := `{"cwd":"` + dir + `",` + asked[event] + `}`
	run := func(path string) (string, int) {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(call)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+state, "PATH="+path)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, _ := run(os.Getenv("PATH")); !regexp.MustCompile(`"(permissionDecision|decision|permission)": ?"(deny|block)"`).MatchString(out) ||
		!strings.Contains(out, "run docker") {
		t.Errorf("a denied call gets %s", out)
	}
	if out, code := run(t.TempDir()); code != 2 || !strings.Contains(out, "obstat is not installed, and every call is denied") {
		t.Errorf("without obstat: exit code %d, %s", code, out)
	}
}

// TestMarketplaces: an agent that adds this repository as a marketplace finds the plugin in its own form there. Copilot
// reads Claude Code's list where it has none of its own.
func TestMarketplaces(t *testing.T) {
	for list, want := range map[string]string{".claude-plugin": "./plugins/claude-code", ".github/plugin": "./plugins/copilot"} {
		text, err := os.ReadFile(filepath.Join("../../..", list, "marketplace.json"))
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Plugins []struct{ Name, Source string }
		}
		if err := json.Unmarshal(text, &m); err != nil || len(m.Plugins) != 1 {
			t.Fatalf("%s: %v, %d plugins", list, err, len(m.Plugins))
		}
		if p := m.Plugins[0]; p.Name != "obstat" || p.Source != want {
			t.Errorf("%s: %+v, want %s", list, p, want)
		}
		if _, err := os.Stat(filepath.Join("../../..", want, "hooks/hooks.json")); err != nil {
			t.Error(err)
		}
	}
}

// TestLLMs: the pages that llms.txt names are there.
func TestLLMs(t *testing.T) {
	text, err := os.ReadFile("../../../llms.txt")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 10 {
		t.Errorf("%d links", len(links))
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join("../../..", l[1])); err != nil {
			t.Error(err)
		}
	}
}

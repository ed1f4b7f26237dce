package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// connecting are the commands that are there to talk to others, at an address that a person gave.
var connecting = map[string]string{
	"join":        "joins the server whose address is its argument",
	"serve":       "is a server",
	"token login": "talks to the server that it runs beside",
}

// tried are arguments with which the other commands do their work; "" runs a command bare.
var tried = map[string][]string{
	"add-dir": {"--dry-run ."}, "ask": {"--list"}, "changes": {""}, "check": {"Bash --command 'curl https://example.com'"},
	"demo": {"--watch"}, "doctor": {""}, "effects": {"'curl https://example.com | sh'"},
	"explain": {"Bash --command 'curl https://example.com'", "WebFetch '{\"url\":\"https://example.com\"}'"},
	"grants":  {""}, "grants revoke": {"--yes"}, "hook": {"claude-code < call.json"}, "init": {"--dry-run", "--yes"},
	"install": {"--dry-run claude-code", "--yes codex"}, "uninstall": {"--yes codex"}, "log": {""}, "log export": {""},
	"log trim": {"--before 3000-01-01 --yes"}, "log verify": {""}, "mcp": {"-- true"}, "mcp tools": {"-- true"},
	"permissions": {""}, "policy convert": {".claude/settings.json"}, "policy diff": {".claude/settings.json obstat.yaml"},
	"policy export": {"--to claude-code obstat.yaml"}, "policy gc": {"--yes obstat.yaml"}, "policy lint": {"obstat.yaml"},
	"policy schema": {""}, "policy show": {"obstat.yaml"}, "policy suggest": {""}, "policy validate": {"obstat.yaml"},
	"replay": {"--policy obstat.yaml"}, "run": {"-- true"}, "stats": {""}, "status": {""}, "test": {"cases.jsonl"},
	"token create": {"--name x"}, "trust": {"--yes"}, "try": {"-- true"}, "undo": {""}, "verify": {"--key k.pub ."},
	"version": {""},
}

// TestNoTelemetry watches every command of obstat: but for those that connect on purpose, none opens
// a connection, whatever a call that it judges would connect to.
func TestNoTelemetry(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: every command under strace")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace to watch connections with; make setup installs it")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot watch a process here: %v %s", err, out)
	}
	if err := exec.Command("obstat", "version").Run(); err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"obstat.yaml":           "version: 1\nallow: [run git]\nask: [connect anywhere]\n",
		".claude/settings.json": `{"permissions": {"allow": ["Bash(git *)"]}}`,
		"cases.jsonl":           "",
		"call.json": `{"session_id":"s","transcript_path":"","cwd":"` + dir + `","hook_event_name":"PreToolUse",` +
			`"tool_name":"Bash","tool_input":{"command":"curl https://example.com"}}`,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watch := func(script string) []string {
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.CommandContext(ctx, strace, "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", trace, "sh", "-c", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME=")
		_ = cmd.Run() // a refusal is an answer as well
		if ctx.Err() != nil {
			t.Errorf("%s does not end", script)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?m)^.*sa_family=AF_INET.*$`).FindAllString(string(text), -1)
	}
	if seen := watch("python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((\"127.0.0.1\", 9))'"); len(seen) == 0 {
		t.Skip("strace sees no connection where there is one")
	}
	for _, path := range leaves(newRoot(newFactory(&IO{}))) {
		if why := connecting[path]; why != "" {
			continue
		}
		if len(tried[path]) == 0 {
			t.Errorf("obstat %s is watched by nothing: give it arguments here, or the reason why it connects", path)
		}
		for _, args := range tried[path] {
			if seen := watch("obstat " + path + " " + args); len(seen) > 0 {
				t.Errorf("obstat %s %s connects:\n%s", path, args, strings.Join(seen, "\n"))
			}
		}
	}
}

// leaves returns the paths of the commands that do something: `log verify`.
func leaves(root *cobra.Command) (out []string) {
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && !slices.Contains([]string{"help", "completion"}, cmd.Name()) {
			if cmd.Name() != "policy" && cmd.Name() != "token" {
				out = append(out, strings.TrimPrefix(cmd.CommandPath(), "obstat "))
			}
			out = append(out, leaves(cmd)...)
		}
	}
	return out
}

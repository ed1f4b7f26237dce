package agent

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/shell"
)

func TestInvocation(t *testing.T) {
	for _, c := range []struct {
		line, program, args string
		ours                bool
	}{
		{"/opt/obstat hook claude-code", "/opt/obstat", "claude-code", true},
		{"'/a b/obstat' hook codex", "/a b/obstat", "codex", true},
		{"obstat hook --deadline 5s codex", "obstat", "--deadline 5s codex", true},
		{"/opt/obstat-hook gemini || exit 2", "/opt/obstat-hook", "gemini", true},
		{"FOO=1 exec /opt/obstat hook", "/opt/obstat", "", true},
		{"/bin/sh -c '/opt/obstat hook codex || exit 2'", "/opt/obstat", "codex", true},
		{"/opt/guard hook cursor", "/opt/guard", "cursor", true},
		{"/opt/obstat.exe hook cursor", "/opt/obstat.exe", "cursor", true},
		{"/opt/guard hook nobody", "", "", false},
		{"obstat check", "", "", false},
		{"echo obstat hook claude-code", "", "", false},
		{"$HOME/obstat hook claude-code", "", "", false},
		{"'unclosed", "", "", false},
		{"", "", "", false},
	} {
		got, ours := claudeCode().invocation(splitWords(c.line))
		if ours != c.ours || got.Program != c.program || strings.Join(got.Args, " ") != c.args {
			t.Errorf("%s: %q, %v", c.line, got, ours)
		}
	}
}

// TestLine: a line for a shell is read back as the same words with any characters
// in the path, and a program that is missing or fails ends with 2 and words.
func TestLine(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
	for _, a := range All().Installable() {
		if a.script != nil {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			dir := rapid.StringMatching(`[a-z '"$\\*;&|()~#{}-]{0,12}`).Draw(t, "dir")
			c := Invocation{"/" + dir + "/obstat", []string{"--policy", dir + "x", a.Name}}
			got, ours := a.invocation(splitWords(a.line(c)))
			if !ours || got.Program != c.Program || !slices.Equal(got.Args, c.Args) {
				t.Fatalf("%q was read back as %q", c, got)
			}
		})
		if a.guard == guardNone {
			continue
		}
		for _, program := range []string{"/not/there/obst'at-hook", "/bin/false"} {
			var words strings.Builder
			line := a.line(Invocation{program, []string{a.Name}})
			cmd := exec.Command("sh", "-c", line)
			cmd.Stderr = &words
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() != 2 || strings.TrimSpace(words.String()) == "" {
				t.Errorf("%s: %s ends with %d, %q", a.Name, line, cmd.ProcessState.ExitCode(), words.String())
			}
		}
	}
}

// TestShellSeesWords: the shell's words are ours.
func TestShellSeesWords(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
	for _, w := range []string{"plain", "a b", "it's", `"q"`, "$HOME", "`x`", "~", "~/x", "", "*", `\`, "a;b", "=", "-n", "é"} {
		out, err := exec.Command("sh", "-c", "printf '%s|' "+shell.Quote(w)).Output()
		if err != nil || string(out) != w+"|" {
			t.Errorf("%q: %q, %v", w, out, err)
		}
	}
}

// TestOnPath: an entry that a project shares names no place of a machine, is read back, and denies with a clear word
// where obstat is not on PATH.
func TestOnPath(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh here")
	}
	for _, a := range All().Installable() {
		if a.script != nil || a.guard == guardNone {
			continue
		}
		line := a.line(Invocation{OnPath, []string{a.Name}})
		if c, ours := a.invocation(splitWords(line)); !ours || c.Program != OnPath || !slices.Equal(c.Args, []string{a.Name}) {
			t.Errorf("%s: %s is read back as %q", a.Name, line, c)
		}
		var words strings.Builder
		cmd := exec.Command(sh, "-c", line)
		cmd.Env, cmd.Stderr = []string{"PATH=" + t.TempDir()}, &words
		_ = cmd.Run()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(words.String(), "obstat is not on PATH: install it") {
			t.Errorf("%s: %s ends with %d, %q", a.Name, line, cmd.ProcessState.ExitCode(), words.String())
		}
	}
}

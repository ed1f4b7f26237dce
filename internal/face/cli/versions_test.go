package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoVersions: two versions of obstat that answer hooks in turns keep one ledger, which both find whole.
func TestTwoVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds obstat twice")
	}
	dir := t.TempDir()
	home, proj := filepath.Join(dir, "home"), filepath.Join(dir, "proj")
	for _, d := range []string{home, filepath.Join(proj, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var programs []string
	for _, version := range []string{"v1.2.3", "v9.9.9"} {
		program := filepath.Join(dir, version, "obstat")
		stamp := "-s -w -X 'github.com/obstat/obstat/internal/face/cli.stamped=obstat-release " + version + " abcdef1234567 2026-01-01'"
		cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", stamp, "-o", program, "github.com/obstat/obstat/cmd/obstat")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		programs = append(programs, program)
	}
	run := func(program, stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Stdin = proj, strings.NewReader(stdin)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(home, "state")}
		out, _ := cmd.CombinedOutput() // a denial has an exit code
		return string(out)
	}
	const turns = 6
	for i := range turns {
		call := `{"session_id":"s","transcript_path":"/x","cwd":"` + proj + `","permission_mode":"default","hook_event_name":"PreToolUse",` +
			`"tool_name":"Bash","tool_use_id":"u` + string(rune('0'+i)) + `","tool_input":{"command":"ls -l","description":"look"}}`
		if out := run(programs[i%2], call, "hook", "claude-code"); !strings.Contains(out, `"allow"`) {
			t.Fatalf("turn %d: %s", i, out)
		}
	}
	first, second := run(programs[0], "", "log", "verify"), run(programs[1], "", "log", "verify")
	if first != second || !strings.Contains(first, "6 records") {
		t.Errorf("one says %q, the other %q", first, second)
	}
	for i, version := range []string{"v1.2.3", "v9.9.9"} {
		if out := run(programs[i], "", "version"); !strings.Contains(out, version) {
			t.Errorf("%s says %s", version, out)
		}
		if out := run(programs[i], "", "log", "--json"); strings.Count(out, `"ls -l`) < turns {
			t.Errorf("%s lists %s", version, out)
		}
	}
}

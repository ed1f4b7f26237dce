package policy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/person/persontest"
	"github.com/obstat/obstat/policy"
)

// actAs is what the test binary does when it plays an agent, which starts a hook
// with variables of its settings, or the hook itself.
func actAs(role string) {
	if role == "agent" {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "OBSTAT_TEST_ROLE=hook")
		cmd.Env = append(cmd.Env, strings.Fields(os.Getenv("OBSTAT_TEST_SETTINGS"))...)
		out, err := cmd.Output()
		fmt.Print(string(out))
		if err != nil {
			fmt.Print(err)
		}
		return
	}
	at := &policy.Where{Agent: "claude-code", Dir: os.Getenv("OBSTAT_TEST_DIR"), Home: os.Getenv("OBSTAT_TEST_HOME")}
	f, err := (&policy.Finder{Machine: at.Home, State: at.Home + "/state"}).Find(at)
	if err != nil {
		fmt.Print(err)
		return
	}
	fmt.Print(f.Decide(bash(at, "make"), obstat.OS{}).Verdict)
}

// TestStarted: variables count as they were when the agent was started, and not if
// an agent has started it.
func TestStarted(t *testing.T) {
	if persontest.BelowAgent() {
		t.Skip("an agent runs the tests, and no variable counts below it")
	}
	w := newWorld(t, map[string]string{claudeFile: claudeAll, "work/q/opencode.json": `{"model":"x"}`})
	const allowAll = `OPENCODE_PERMISSION={"*":"allow"}`
	for _, tt := range []struct {
		env      []string // of the agent
		settings string   // that it hands on
		dir      string
		want     string
	}{
		{nil, "", w.dir, "ask"},
		{[]string{"OBSTAT_TRUST=" + w.dir}, "", w.dir, "allow"},
		{nil, "OBSTAT_TRUST=" + w.dir, w.dir, "ask"},
		{[]string{"OBSTAT_TRUST=/nowhere"}, "OBSTAT_TRUST=" + w.dir, w.dir, "ask"},
		{[]string{"OBSTAT_TRUST=" + w.dir, "CLAUDECODE=1"}, "", w.dir, "ask"},
		{[]string{allowAll}, "", filepath.Join(w.top, "work", "q"), "allow"},
		{nil, allowAll, filepath.Join(w.top, "work", "q"), "ask"},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "OBSTAT_TEST_ROLE=agent", "OBSTAT_TEST_DIR=" + tt.dir, "OBSTAT_TEST_HOME=" + w.home, "OBSTAT_TEST_SETTINGS=" + tt.settings}, tt.env...)
		if out, err := cmd.Output(); err != nil || string(out) != tt.want {
			t.Errorf("started with %q, settings %q: %s, want %s (%v)", tt.env, tt.settings, out, tt.want, err)
		}
	}
}

package policy

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// TestStartedAbove: a variable counts from the first process of a container, and not
// from one that an agent has started, with or without its mark.
func TestStartedAbove(t *testing.T) {
	const value = "OBSTAT_TRUST=/"
	for name, tt := range map[string]struct {
		environs []string // of the parent, its parent, and so on up to the first process
		want     bool
	}{
		"the agent is first":         {[]string{value}, true},
		"a shell, the agent":         {[]string{"CLAUDECODE=1\x00" + value, value}, true},
		"the agent's settings":       {[]string{"CLAUDECODE=1\x00" + value, "HOME=/"}, false},
		"an agent without its mark":  {[]string{value, "CLAUDECODE=1", "HOME=/"}, false},
		"given above, and below":     {[]string{value, "CLAUDECODE=1\x00" + value, value, ""}, true},
		"the shell of a hook":        {[]string{"GEMINI_PROJECT_DIR=/\x00" + value, "HOME=/"}, false},
		"nobody":                     {[]string{"HOME=/", "OBSTAT_TRUST=/other"}, false},
		"above one that is not read": {[]string{"", value}, true},
	} {
		own, known := startedAbove(len(tt.environs), "OBSTAT_TRUST", "/", processes(tt.environs...))
		if own != tt.want || !known {
			t.Errorf("%s: %v, %v", name, own, known)
		}
	}
}

// processes reads /proc of a process with these environments, its parent's next, up to the first process.
func processes(environs ...string) func(string) ([]byte, error) {
	return func(file string) ([]byte, error) {
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil || pid < 1 {
			return nil, fs.ErrNotExist
		}
		if strings.HasSuffix(file, "/stat") {
			return fmt.Appendf(nil, "%d (a) b) S %d 1 1", pid, pid-1), nil
		}
		return []byte(environs[len(environs)-pid]), nil
	}
}

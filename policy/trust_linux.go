package policy

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// maxAncestors bounds the walk up the processes.
const maxAncestors = 64

// started tells whether one of the processes that this one comes from was started
// with a value of a variable, and by no agent. Variables that an agent adds to its
// own environment later are not in /proc/PID/environ.
func started(name, value string) (own, known bool) {
	for pid, n := os.Getppid(), 0; pid > 1 && n < maxAncestors; n++ {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && gave(string(environ), name, value) {
			return true, true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false, n > 0
		}
		// The name in parentheses may hold anything; behind it come state and parent.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return false, n > 0
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false, n > 0
		}
	}
	return false, true
}

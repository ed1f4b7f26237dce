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
	return startedAbove(os.Getppid(), name, value, os.ReadFile)
}

// startedAbove is started for a process and those above it. An agent among them
// undoes what was found below it: it may have started that with any environment,
// also one without its mark (`env -u CLAUDECODE OBSTAT_TRUST=/ claude`). The first
// process of a container counts as well: it may be the agent.
func startedAbove(pid int, name, value string, read func(string) ([]byte, error)) (own, known bool) {
	for n := 0; pid > 0 && n < maxAncestors; n++ {
		if environ, err := read(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			found, marked := gave(string(environ), name, value)
			own = !marked && (own || found)
		}
		up, ok := parent(pid, read)
		if !ok {
			return own, own || n > 0
		}
		pid = up
	}
	return own, true
}

// parent returns the process that has started another one.
func parent(pid int, read func(string) ([]byte, error)) (int, bool) {
	stat, err := read(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name in parentheses may hold anything; behind it come state and parent.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	up, err := strconv.Atoi(fields[1])
	return up, err == nil
}

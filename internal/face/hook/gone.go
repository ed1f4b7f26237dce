package hook

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// watch calls stop when the process is told to end, and when the agent that
// started it has gone: the answer would not be read any more. It ends with ctx.
func watch(ctx context.Context, stop func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	parent, above := os.Getppid(), ancestors(os.Getppid())
	go func() {
		defer signal.Stop(told)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
				stop()
			case <-tick.C:
				if os.Getppid() != parent || gone(above) {
					stop()
				}
			}
		}
	}()
}

// A process is one that was there: a number alone may be another's by now.
type process struct {
	pid   int
	since string
}

// ancestors returns a process and those above it, up to the first that is no shell: agents start
// their hooks by one, which stays when the agent is killed. It knows them where there is a /proc.
func ancestors(pid int) (out []process) {
	for len(out) < 8 && pid > 1 {
		name, parent, since, ok := status(pid)
		if !ok {
			break
		}
		out = append(out, process{pid, since})
		if !strings.Contains(" sh bash dash zsh ash busybox ksh fish ", " "+name+" ") {
			break
		}
		pid = parent
	}
	return out
}

// status reads /proc/PID/stat: `12 (sh) S 3 ... STARTTIME ...`.
func status(pid int) (name string, parent int, since string, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if err != nil || open < 0 || end < open {
		return "", 0, "", false
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" { // one that has ended and was not waited for
		return "", 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return string(b[open+1 : end]), parent, fields[19], err == nil
}

// gone tells whether one of the processes has ended.
func gone(list []process) bool {
	for _, p := range list {
		if _, _, since, ok := status(p.pid); !ok || since != p.since {
			return true
		}
	}
	return false
}

// startedBy returns the command line of the agent above a process, nil where there is no /proc.
func startedBy(pid int) []string {
	above := ancestors(pid)
	if len(above) == 0 {
		return nil
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(above[len(above)-1].pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

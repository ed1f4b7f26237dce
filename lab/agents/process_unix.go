//go:build unix

package agents

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// inGroup makes cmd the head of a process group that ends with it.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// pipe makes a file whose readers wait for ever.
func pipe(name string) error { return syscall.Mkfifo(name, 0o600) }

// endStrays ends the processes of a run that are left: those with a variable that
// begins with its mark. Agents start commands in process groups of their own.
func endStrays(mark string) {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return
	}
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid > 1 && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

//go:build linux && amd64

package killed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// changing are the system calls that change files. Between two of them a process can be killed at any point with the
// same result.
var changing = map[uint64]bool{
	unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_COPY_FILE_RANGE: true, unix.SYS_SENDFILE: true,
	unix.SYS_IOCTL: true, unix.SYS_TRUNCATE: true, unix.SYS_FTRUNCATE: true, unix.SYS_FALLOCATE: true,
	unix.SYS_RENAME: true, unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true,
	unix.SYS_UNLINK: true, unix.SYS_UNLINKAT: true, unix.SYS_RMDIR: true,
	unix.SYS_MKDIR: true, unix.SYS_MKDIRAT: true, unix.SYS_SYMLINK: true, unix.SYS_SYMLINKAT: true,
	unix.SYS_LINK: true, unix.SYS_LINKAT: true, unix.SYS_MKNOD: true, unix.SYS_MKNODAT: true,
	unix.SYS_CHMOD: true, unix.SYS_FCHMOD: true, unix.SYS_FCHMODAT: true, unix.SYS_FCHMODAT2: true,
	unix.SYS_CHOWN: true, unix.SYS_FCHOWN: true, unix.SYS_LCHOWN: true, unix.SYS_FCHOWNAT: true,
	unix.SYS_SETXATTR: true, unix.SYS_FSETXATTR: true, unix.SYS_LSETXATTR: true,
	unix.SYS_REMOVEXATTR: true, unix.SYS_FREMOVEXATTR: true, unix.SYS_UTIMENSAT: true,
}

// changes tells whether the system call that is about to begin changes files.
func changes(r *syscall.PtraceRegs) bool {
	switch r.Orig_rax {
	case unix.SYS_OPENAT:
		return r.Rdx&(unix.O_CREAT|unix.O_TRUNC) != 0
	case unix.SYS_OPEN:
		return r.Rsi&(unix.O_CREAT|unix.O_TRUNC) != 0
	case unix.SYS_CREAT:
		return true
	}
	return changing[r.Orig_rax]
}

// At runs a command and kills it when it is about to change files for the nth time; with n 0 it runs to its end.
// It returns how many changes it has seen, and whether the command came to its end.
func At(n int, cmd *exec.Cmd) (seen int, ended bool, err error) {
	runtime.LockOSThread() // which alone may trace it
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return 0, false, err
	}
	t := &tracer{pid: cmd.Process.Pid, at: n, inside: map[int]bool{}}
	err = t.follow()
	return t.seen, t.ended, err
}

// A tracer follows the threads of one process.
type tracer struct {
	pid, at, seen int
	inside        map[int]bool // threads in a system call
	ended, begun  bool
	exit          syscall.WaitStatus
}

// follow goes from one system call to the next until the process is gone.
func (t *tracer) follow() error {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		} else if err != nil {
			return fmt.Errorf("the traced process: %w", err)
		}
		switch {
		case status.Exited() || status.Signaled():
			if delete(t.inside, tid); tid == t.pid {
				if t.ended = status.Exited(); t.ended && status.ExitStatus() != 0 {
					return fmt.Errorf("the traced process ended with %d", status.ExitStatus())
				}
				return nil
			}
			continue
		case !status.Stopped():
			continue
		}
		if err := t.stopped(tid, status); err != nil && !errors.Is(err, syscall.ESRCH) {
			return errors.Join(err, syscall.Kill(t.pid, syscall.SIGKILL))
		}
	}
}

// stopped lets a thread that has stopped go on, or kills the process.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) error {
	if !t.begun {
		t.begun = true
		err := syscall.PtraceSetOptions(tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL)
		return errors.Join(err, syscall.PtraceSyscall(tid, 0))
	}
	sig := status.StopSignal()
	switch {
	case sig == syscall.SIGTRAP|0x80:
		if t.inside[tid] = !t.inside[tid]; !t.inside[tid] {
			break
		}
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		if changes(&regs) {
			if t.seen++; t.seen == t.at {
				return syscall.Kill(t.pid, syscall.SIGKILL)
			}
		}
	case sig != syscall.SIGTRAP && sig != syscall.SIGSTOP: // those are of tracing itself
		return syscall.PtraceSyscall(tid, int(sig))
	}
	return syscall.PtraceSyscall(tid, 0)
}

// Possible says why a process cannot be traced here, nil where it can.
func Possible() error {
	_, _, err := At(0, exec.Command(os.Args[0], "-test.run=^$"))
	return err
}

package confine

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownThreads is room in the limit of processes for the threads of the process inside.
const ownThreads = 16

// wait reaps processes until the command has ended, tells how, and ends all others unless
// they are kept.
func (s *stage) wait(pid int) error {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return err
		}
		if got != pid {
			continue
		}
		left := 0
		if s.plan.Keep {
			left = len(s.others())
		}
		if left == 0 {
			s.endAll()
		}
		s.ctl.send(message{Op: "exit", Status: int(status), Left: left})
		if left == 0 {
			return nil
		}
		s.reapKept()
		return nil
	}
}

// reapKept waits for the processes that stayed behind.
func (s *stage) reapKept() {
	for {
		if _, err := unix.Wait4(-1, nil, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) {
			s.ctl.send(message{Op: "gone"})
			return
		}
	}
}

// endAll kills all processes of the run but this one.
func (s *stage) endAll() {
	if s.plan.Level == LevelFull {
		unix.Kill(-1, unix.SIGKILL) // this namespace's, without its first process
		return
	}
	for range 1000 { // children of killed ones come to this process, which is their reaper
		children := s.others()
		if len(children) == 0 {
			return
		}
		for _, pid := range children {
			unix.Kill(pid, unix.SIGKILL)
			unix.Wait4(pid, nil, unix.WALL, nil)
		}
	}
}

// signalAll passes a signal on to all processes of the run.
func (s *stage) signalAll(sig unix.Signal) {
	if s.plan.Level == LevelFull {
		unix.Kill(-1, sig)
		return
	}
	for _, pid := range s.others() {
		unix.Kill(pid, sig)
	}
}

// others lists the processes of the run: all of the namespace, or the children of this process.
func (s *stage) others() []int {
	if s.plan.Level != LevelFull {
		return childrenOf(os.Getpid())
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && !isZombie(name) {
			out = append(out, pid)
		}
	}
	return out
}

// isZombie reports whether a process has ended and only waits to be reaped.
func isZombie(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) []int {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil
	}
	var out []int
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// countProcesses ends the run when it has more processes than its limit: RLIMIT_NPROC does not
// hold root.
func (s *stage) countProcesses() {
	for {
		time.Sleep(20 * time.Millisecond)
		if len(s.others()) > s.plan.Limits.Processes {
			s.ctl.send(message{Op: "ended", Why: "more than " + strconv.Itoa(s.plan.Limits.Processes) + " processes"})
			s.endAll()
		}
	}
}

// serve answers the caller's requests and ends everything when the caller is gone.
func (s *stage) serve() {
	for {
		m, files, err := s.ctl.receive()
		if err != nil {
			s.endAll()
			os.Exit(0)
		}
		s.answer(m, files)
	}
}

func (s *stage) answer(m message, files []*os.File) {
	defer closeAll(files)
	switch m.Op {
	case "stop":
		s.endAll()
		os.Exit(0)
	case "start":
		close(s.served)
		return
	case "signal":
		s.signalAll(unix.Signal(m.Status))
		return
	}
	fd, err := socketFor(m)
	if err != nil {
		s.ctl.send(message{ID: m.ID, Op: "answer", Err: err.Error()})
		return
	}
	s.ctl.send(message{ID: m.ID, Op: "answer"}, fd)
	unix.Close(fd)
}

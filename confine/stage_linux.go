package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the name under which a binary is started again to become the process inside.
const stageName = "obstat-confine"

// Descriptors of the process inside.
const (
	controlFD = 3
	planFD    = 4
)

// errNoMain is the error of a process inside that went on as the whole program: it would confine a command in turn,
// without end.
var errNoMain = errors.New("confine: the program does not call confine.Main first thing in its main function")

const exitNoMain = 124

// Main runs the part of a confined run that happens in a process of its own, and then ends that
// process. In all others it returns at once. A program that calls Run calls it first thing in
// its main function.
func Main() {
	if len(os.Args) < 2 || os.Args[0] != stageName {
		return
	}
	runtime.LockOSThread()
	err := errors.New("confine: unknown stage " + os.Args[1])
	switch os.Args[1] {
	case "inside":
		err = inside()
	case "kept":
		err = superviseKept()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	os.Exit(0)
}

// A stage is the process inside: the first of its pid namespace. It sets the confinement up,
// starts the command from a thread that is under it, and waits for the end. Its own threads
// keep their rights, so that it can open sockets in its namespace for the caller; it is
// undumpable, and neither Landlock nor the missing capabilities let the command touch it.
type stage struct {
	plan   plan
	ctl    *control
	gaps   []Gap
	abi    int
	served chan bool // closed when the caller serves the network
}

func inside() error {
	s := &stage{}
	if err := s.start(); err != nil {
		if s.ctl == nil {
			return err
		}
		m := message{Op: "ready", Err: err.Error(), ABI: s.abi}
		if errors.As(err, new(*levelProblem)) {
			m.Why = "level"
		}
		s.ctl.send(m)
	}
	return nil
}

// start does everything in the order that the kernel demands: mounts while there are
// capabilities, then the rules, whose paths are those of the new root, then the command.
func (s *stage) start() error {
	// the command gets its own
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.CloseRange(planFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	if err := s.readPlan(); err != nil {
		return err
	}
	if s.abi = s.plan.Sim.simulated(landlockABI()); s.abi == 0 {
		return errors.New("the kernel has no Landlock")
	}
	if err := s.namespaces(); err != nil {
		return err
	}
	ruleset, err := newRuleset(s.abi, s.plan.Rules)
	if err != nil {
		return err
	}
	if s.plan.Probe {
		return s.probe(ruleset)
	}
	return s.command(ruleset)
}

// levelProblem is an error that comes from the machine, not from the Profile.
type levelProblem struct{ err error }

func (e *levelProblem) Error() string { return e.err.Error() }
func (e *levelProblem) Unwrap() error { return e.err }

func (s *stage) readPlan() error {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(planFD)
	ctl, err := controlOf(os.NewFile(controlFD, "control"))
	if err != nil {
		return fmt.Errorf("no caller: %w", err)
	}
	s.ctl = ctl
	f := os.NewFile(planFD, "plan")
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &s.plan)
}

// namespaces fills the namespaces that this process was started in.
func (s *stage) namespaces() error {
	if s.plan.Level != LevelFull {
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err := s.network(); err != nil {
		return err
	}
	gaps, err := buildRoot(s.plan)
	s.gaps = append(s.gaps, gaps...)
	return err
}

// network brings the loopback up, hands the caller the sockets of the name server, and waits
// until the caller serves them.
func (s *stage) network() error {
	n, err := loopbackUp(s.plan.Addresses)
	if err != nil {
		return &levelProblem{err}
	}
	packets, err := socketFor(message{Op: "packet", Addr: "127.0.0.1:53"})
	if err != nil {
		return &levelProblem{err}
	}
	defer unix.Close(packets)
	streams, err := socketFor(message{Op: "listen", Addr: "127.0.0.1:53"})
	if err != nil {
		return &levelProblem{err}
	}
	defer unix.Close(streams)
	m := message{Op: "network"}
	if n.v6 {
		m.ABI = 1
	}
	s.served = make(chan bool)
	if err := s.ctl.send(m, packets, streams); err != nil {
		return err
	}
	go s.serve()
	return nil
}

func (s *stage) probe(ruleset int) error {
	if _, err := s.restrict(ruleset); err != nil {
		return err
	}
	return s.ctl.send(message{Op: "ready", Gaps: s.gaps, ABI: s.abi})
}

// command starts the command and answers the caller until it is over.
func (s *stage) command(ruleset int) error {
	program, err := s.program()
	if err != nil {
		return err
	}
	if err := s.limits(); err != nil {
		return err
	}
	listener, err := s.restrict(ruleset)
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: s.plan.Dir, Env: s.plan.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{}}
	if s.plan.Level != LevelFull {
		attr.Sys.Pdeathsig = unix.SIGKILL
	}
	if s.served != nil {
		<-s.served
	}
	// From here on this thread is confined, and so is each process that it starts.
	pid, err := syscall.ForkExec(program, s.plan.Args, attr)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.plan.Args[0], err)
	}
	if s.plan.Keep {
		releaseOutput() // so that its reader sees the end when the command has closed it
	}
	var files []int
	if listener >= 0 {
		files = append(files, listener)
	}
	if err := s.ctl.send(message{Op: "ready", Gaps: s.gaps, ABI: s.abi}, files...); err != nil {
		return err
	}
	if listener >= 0 {
		unix.Close(listener)
	}
	if s.served == nil {
		go s.serve()
	}
	if s.plan.Limits.Processes > 0 {
		go s.countProcesses()
	}
	return s.wait(pid)
}

// program finds the command as its own PATH has it, in the new root.
func (s *stage) program() (string, error) {
	if err := os.Chdir(s.plan.Dir); err != nil {
		return "", fmt.Errorf("the directory to start in is not visible: %w", err)
	}
	path := ""
	for _, v := range s.plan.Env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	os.Setenv("PATH", path)
	program, err := exec.LookPath(s.plan.Args[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // a PATH with relative directories is the caller's choice
	}
	if err != nil {
		return "", fmt.Errorf("the program is not visible: %w", err)
	}
	return program, nil
}

// restrict puts this thread under the confinement.
func (s *stage) restrict(ruleset int) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no new privileges: %w", err)
	}
	keep := uint64(0)
	if s.plan.Owners {
		keep = ownerCaps
	}
	if err := restrictThread(ruleset); err != nil {
		return -1, err
	}
	unix.Close(ruleset)
	if err := dropCaps(keep); err != nil {
		return -1, err
	}
	fd, err := filterThread(filterProgram(s.plan), s.plan.Notify)
	if err != nil {
		return -1, err
	}
	if !s.plan.Notify {
		fd = -1
	}
	return fd, nil
}

// limits sets those of the kernel for this process, and so for the command.
func (s *stage) limits() error {
	set := func(resource int, n int64) error {
		if n <= 0 {
			return nil
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return err
		}
		most := min(uint64(n), now.Max)
		return unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
	}
	l := s.plan.Limits
	core := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	processes := int64(0)
	if l.Processes > 0 && s.plan.Level == LevelFull { // elsewhere the kernel counts all of the user's
		processes = int64(l.Processes) + ownThreads
	}
	return errors.Join(core, set(unix.RLIMIT_FSIZE, l.FileSize), set(unix.RLIMIT_DATA, l.Memory),
		set(unix.RLIMIT_NOFILE, int64(l.OpenFiles)),
		set(unix.RLIMIT_NPROC, processes))
}

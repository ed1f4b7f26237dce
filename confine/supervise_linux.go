package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// allNamespaces are those of a run of its own.
const allNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET

// execute starts the process inside and stays with it until the command has ended.
func (l *launch) execute(ctx context.Context) (Result, error) {
	ctl, other, err := socketPair()
	if err != nil {
		return Result{}, err
	}
	defer ctl.conn.Close()
	namespaces := uintptr(0)
	if l.level == LevelFull {
		if namespaces = allNamespaces; l.c.sim.NoNamespaces {
			other.Close()
			return Result{}, l.lacks(errors.New("namespaces: operation not permitted"))
		}
	}
	cmd, err := stageCommand(l.plan, namespaces, other)
	if err != nil {
		other.Close()
		return Result{}, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.c.Stdin, l.c.Stdout, l.c.Stderr
	err = cmd.Start()
	other.Close()
	cmd.ExtraFiles[1].Close()
	if err != nil {
		if errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("user.max_user_namespaces allows no more: %w", err)
		}
		return Result{}, l.lacks(fmt.Errorf("namespaces: %w", err))
	}
	s := &supervisor{launch: l, ctl: ctl, cmd: cmd}
	return s.run(ctx)
}

func (l *launch) lacks(err error) error {
	have := LevelNone
	if l.level == LevelFull {
		have = LevelFiles
		files := l.c.sim
		files.Files = true
		if files.missing() != "" {
			have = LevelNone
		}
	}
	return &LevelError{Want: l.level, Have: have, Why: err.Error()}
}

// A supervisor talks with the process inside.
type supervisor struct {
	*launch
	ctl   *control
	cmd   *exec.Cmd
	asked asked
	net   atomic.Pointer[network]
	res   Result
	began bool
	over  bool
	err   error

	mu    sync.Mutex
	seems []Refusal // that a notification saw
}

func (s *supervisor) run(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { s.cmd.Process.Kill() }) // the first process of a pid namespace: all end
	if s.c.Signals != nil {
		go s.passSignals(ctx)
	}
	s.listen(ctx)
	s.asked.close()
	waitErr := s.cmd.Wait()
	if n := s.net.Load(); n != nil {
		s.res.Refused = append(s.res.Refused, n.close()...)
	}
	s.mu.Lock()
	s.res.Refused = append(s.res.Refused, s.seems...)
	s.mu.Unlock()
	cause := context.Cause(ctx)
	stop()
	cancel()
	switch {
	case cause != nil:
		// It may have begun: the process inside was ended before it could tell.
		s.res.Ended = cause.Error()
		s.res.Level = s.level
		s.res.Signal, s.res.Exit = int(unix.SIGKILL), 128+int(unix.SIGKILL)
		return s.res, nil
	case s.err != nil:
		return Result{}, s.err
	case s.plan.Probe && s.began:
		return s.res, nil
	case !s.over && isExit(waitErr, exitNoMain):
		return Result{}, errNoMain
	case !s.over:
		return Result{}, fmt.Errorf("confine: the process inside ended early: %w",
			errors.Join(waitErr, errors.New("no exit status")))
	}
	return s.res, nil
}

func isExit(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// listen takes the messages of the process inside until it is gone.
func (s *supervisor) listen(ctx context.Context) {
	for {
		m, files, err := s.ctl.receive()
		if err != nil {
			return
		}
		switch m.Op {
		case "answer":
			s.asked.answer(m, files)
			continue
		case "network":
			// In a goroutine: it makes requests, whose answers arrive here.
			go s.startNetwork(ctx, m.ABI != 0, files)
			continue
		case "ready":
			s.ready(ctx, m, files)
		case "ended":
			s.res.Ended = m.Why
		case "exit":
			s.exit(m)
		}
		closeAll(files)
	}
}

func (s *supervisor) startNetwork(ctx context.Context, v6 bool, files []*os.File) {
	request := func(m message, fds ...int) (reply, error) { return s.asked.request(s.ctl, m, fds...) }
	n := newNetwork(ctx, s.p.Network, s.c.Dial, request, s.cmd.Process.Pid, v6)
	n.onPublish = s.onPublish
	if s.c.Session != "" {
		n.mates = session{s.c.Session}.matePorts
	}
	s.net.Store(n)
	if err := n.start(files); err != nil {
		s.cmd.Process.Kill()
		return
	}
	s.ctl.send(message{Op: "start"})
}

func (s *supervisor) ready(ctx context.Context, m message, files []*os.File) {
	if m.Err != "" {
		s.err = errors.New("confine: " + m.Err)
		if m.Why == "level" {
			s.err = s.lacks(errors.New(m.Err))
		}
		return
	}
	s.began = true
	if s.onStart != nil {
		s.onStart()
	}
	s.res.Level = s.level
	s.res.Gaps = append(append(s.res.Gaps, s.view.gaps...), m.Gaps...)
	s.res.Gaps = append(s.res.Gaps, abiGaps(m.ABI, s.level)...)
	if len(files) == 1 && s.c.Ask != nil {
		fd, err := unix.FcntlInt(files[0].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			go s.answerOpenings(ctx, fd)
		}
	}
}

func (s *supervisor) exit(m message) {
	s.over = true
	status := unix.WaitStatus(m.Status)
	s.res.Exit = status.ExitStatus()
	if status.Signaled() {
		s.res.Signal = int(status.Signal())
		s.res.Exit = 128 + s.res.Signal
	}
	s.res.Left = m.Left
	if s.onExit != nil {
		s.onExit(s.res)
	}
}

// abiGaps lists the gaps of an older Landlock at a level. At level full the namespaces
// and read-only mounts hold the same things.
func abiGaps(abi int, level Level) []Gap {
	if level == LevelFull {
		return nil
	}
	var out []Gap
	if abi < 5 {
		out = append(out, Gap{"commands to devices that are open",
			fmt.Sprintf("Landlock ABI %d does not cover ioctl(2)", abi)})
	}
	if abi < 6 {
		out = append(out, Gap{"signals to other processes, and sockets without a path",
			fmt.Sprintf("Landlock ABI %d does not cover them", abi)})
	}
	return out
}

// finish looks at the changes after the run.
func (l *launch) finish(res *Result) error {
	for _, name := range l.view.missing {
		if _, err := os.Lstat(name); err == nil {
			res.Appeared = append(res.Appeared, name)
		}
	}
	if l.p.Workspace.Mode != Overlay {
		return nil
	}
	var errs []error
	ends := make([]int, len(l.view.layers)) // where the changes of each layer end
	for i, one := range l.view.layers {
		changes, err := one.differences()
		if err != nil {
			return fmt.Errorf("confine: changes of the workspace: %w", err)
		}
		one.judge(changes, l.view.hidden, l.readOnlyNames(), l.c.Judge)
		res.Changes = append(res.Changes, changes...)
		ends[i] = len(res.Changes)
	}
	if l.c.Before != nil {
		l.c.Before(res.Changes)
	}
	began := 0
	for i, one := range l.view.layers {
		err := one.commit(res.Changes[began:ends[i]], l.c.sim.KillCommit)
		one.done = err == nil
		errs, began = append(errs, err), ends[i]
	}
	for _, c := range res.Changes {
		if c.Outcome == Refused {
			res.Refused = append(res.Refused, Refusal{Kind: "write", Name: c.Path, Exact: true, Why: c.Why})
		}
	}
	return errors.Join(errs...)
}

func (l *launch) readOnlyNames() []string {
	var out []string
	for _, name := range l.p.ReadOnly {
		out = append(out, l.view.names(name)...)
	}
	return out
}

// probe sets a confinement up and ends it.
func probe(ctx context.Context, sim simulation) Report {
	r := Report{Level: LevelNone, Landlock: sim.simulated(landlockABI())}
	if r.Why = sim.missing(); r.Why != "" {
		return r
	}
	state, err := os.MkdirTemp("", "obstat-probe-")
	if err != nil {
		r.Why = err.Error()
		return r
	}
	defer removeTree(state)
	work := filepath.Join(state, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		r.Why = err.Error()
		return r
	}
	p := Profile{Workspace: Workspace{Root: work, Mode: Overlay, State: filepath.Join(state, "state")}}
	r.Why = tryOut(ctx, LevelFull, p, sim)
	if r.Overlay = r.Why == ""; !r.Overlay {
		p.Workspace.Mode = Through
		r.Why = tryOut(ctx, LevelFull, p, sim)
	}
	if r.Why == "" {
		r.Level = LevelFull
		return r
	}
	p.Workspace.Mode = Through
	if why := tryOut(ctx, LevelFiles, p, sim); why != "" {
		r.Why = why
		return r
	}
	r.Level = LevelFiles
	v := newViewer(Profile{})
	v.filesGaps()
	r.Gaps = append(v.gaps, abiGaps(r.Landlock, LevelFiles)...)
	return r
}

// tryOut returns why a level cannot be had, "" if it can.
func tryOut(ctx context.Context, level Level, p Profile, sim simulation) string {
	c := Command{Args: []string{"probe"}, sim: sim}
	l := &launch{p: p, c: c, level: level, view: newViewer(p)}
	defer l.cleanUp()
	if err := l.prepare(); err != nil {
		return err.Error()
	}
	l.plan.Probe = true
	_, err := l.execute(ctx)
	if err != nil {
		return err.Error()
	}
	return ""
}

package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A session is a directory: `tmp` is the /tmp of all its runs, and `kept` has, for each run
// that left something behind, a file about it and one that its supervisor holds a lock on.
type session struct{ dir string }

func (s session) temp() string { return filepath.Join(s.dir, "tmp") }
func (s session) file(pid int, ext string) string {
	return filepath.Join(s.dir, "kept", strconv.Itoa(pid)+ext)
}

func (s session) make() error {
	for _, dir := range []string{s.dir, s.temp(), filepath.Join(s.dir, "kept")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return os.Chmod(s.temp(), 0o777|os.ModeSticky)
}

// Left lists the runs of a session that are still in the background.
func Left(dir string) ([]Kept, error) {
	s := session{dir}
	names, err := filepath.Glob(filepath.Join(dir, "kept", "*.lock"))
	if err != nil {
		return nil, err
	}
	var out []Kept
	for _, name := range names {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".lock"))
		if err != nil {
			continue
		}
		if !isLocked(name) {
			os.Remove(s.file(pid, ".json"))
			os.Remove(name)
			continue
		}
		k := Kept{PID: pid}
		if text, err := os.ReadFile(s.file(pid, ".json")); err == nil {
			json.Unmarshal(text, &k)
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kept) int { return a.Since.Compare(b.Since) })
	return out, nil
}

// isLocked reports whether a supervisor that is alive holds a file.
func isLocked(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// Stop ends all runs of a session that are in the background, and removes its directory.
func Stop(dir string) error {
	kept, err := Left(dir)
	if err != nil {
		return err
	}
	for _, k := range kept {
		// The kernel ends the processes inside with their supervisor.
		if err := unix.Kill(k.PID, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("confine: end %d: %w", k.PID, err)
		}
	}
	for _, k := range kept {
		if err := waitUnlocked(session{dir}.file(k.PID, ".lock")); err != nil {
			return err
		}
	}
	return removeTree(dir)
}

// waitUnlocked waits until a supervisor has ended.
func waitUnlocked(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH)
}

// matePorts are the ports that other runs of the session have published.
func (s session) matePorts() []int {
	kept, err := Left(s.dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, k := range kept {
		out = append(out, k.Ports...)
	}
	return out
}

// An order is a command for the supervisor of a kept run.
type order struct {
	Profile Profile
	Args    []string
	Dir     string
	Environ []string
	Session string
	Sim     simulation
}

// runKept starts a supervisor of its own for a run that may leave something behind, and waits
// for the command itself. The supervisor stays as long as something is left.
func runKept(ctx context.Context, p Profile, c Command) (Result, error) {
	if c.Dial != nil || c.Ask != nil {
		return Result{}, errors.New("confine: a run that may stay behind cannot call functions of its caller")
	}
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	o := order{Profile: p, Args: c.Args, Dir: c.Dir, Environ: p.Env.environ(environ), Session: c.Session, Sim: c.sim}
	o.Profile.Env = Env{Keep: []string{"*"}} // taken from the caller's already
	if err := (session{c.Session}).make(); err != nil {
		return Result{}, err
	}
	ctl, other, err := socketPair()
	if err != nil {
		return Result{}, err
	}
	defer ctl.conn.Close()
	cmd, finish, err := keptCommand(o, c, other)
	other.Close()
	if err != nil {
		return Result{}, err
	}
	stop := context.AfterFunc(ctx, func() { ctl.conn.Close() }) // it ends everything then
	defer stop()
	if c.Signals != nil {
		relay, end := context.WithCancel(ctx)
		defer end()
		go relaySignals(relay, c.Signals, ctl)
	}
	m, files, err := ctl.receive()
	closeAll(files)
	if err != nil && ctx.Err() == nil {
		cmd.Process.Kill()
	}
	go cmd.Wait()
	finish()
	switch {
	case ctx.Err() != nil:
		return Result{Level: LevelFull, Exit: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL),
			Ended: context.Cause(ctx).Error()}, nil
	case err != nil:
		return Result{}, fmt.Errorf("confine: the supervisor ended early: %w", err)
	case m.Why == "level":
		return Result{}, &LevelError{Want: LevelFull, Have: LevelFiles, Why: m.Err}
	case m.Err != "":
		return Result{}, errors.New(m.Err)
	}
	return *m.Result, nil
}

// keptCommand starts the supervisor. The function it returns reads the rest of the command's
// output, where the caller did not give files.
func keptCommand(o order, c Command, ctl *os.File) (*exec.Cmd, func(), error) {
	orderFile, err := memoryFile(o)
	if err != nil {
		return nil, nil, err
	}
	defer orderFile.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{stageName, "kept"}
	cmd.Env = []string{"GODEBUG=" + os.Getenv("GODEBUG")}
	cmd.ExtraFiles = []*os.File{ctl, orderFile}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var pipes pipes
	if f, ok := c.Stdin.(*os.File); ok {
		cmd.Stdin = f
	} else if c.Stdin != nil {
		return nil, nil, errors.New("confine: a run that may stay behind reads only from a file")
	}
	cmd.Stdout, err = pipes.file(c.Stdout)
	if err == nil {
		cmd.Stderr, err = pipes.file(c.Stderr)
	}
	if err == nil {
		err = cmd.Start()
	}
	pipes.closeWriters()
	if err != nil {
		pipes.finish()
		return nil, nil, err
	}
	return cmd, pipes.finish, nil
}

// pipes lead output to writers that are not files.
type pipes struct {
	readers, writers []*os.File
	done             sync.WaitGroup
}

func (p *pipes) file(w io.Writer) (io.Writer, error) {
	if w == nil {
		return nil, nil
	}
	if f, ok := w.(*os.File); ok {
		return f, nil
	}
	r, wr, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.readers, p.writers = append(p.readers, r), append(p.writers, wr)
	p.done.Go(func() { io.Copy(w, r) })
	return wr, nil
}

func (p *pipes) closeWriters() { closeAll(p.writers) }

// finish reads to the end, or for a moment where something in the background holds it open.
func (p *pipes) finish() {
	for _, r := range p.readers {
		r.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	}
	p.done.Wait()
	closeAll(p.readers)
}

// superviseKept is the supervisor's process.
func superviseKept() error {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(planFD)
	if err := unix.CloseRange(planFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	ctl, err := controlOf(os.NewFile(controlFD, "control"))
	if err != nil {
		return err
	}
	k := &keeper{ctl: ctl, signals: make(chan os.Signal, 8)}
	if err := k.run(); err != nil {
		m := message{Op: "exit", Err: err.Error()}
		var level *LevelError
		if errors.As(err, &level) {
			m.Why, m.Err = "level", level.Why
		}
		ctl.send(m)
	}
	return nil
}

// A keeper supervises one kept run.
type keeper struct {
	ctl     *control
	order   order
	kept    Kept
	signals chan os.Signal

	mu   sync.Mutex
	told bool // the caller knows how the command ended
}

func (k *keeper) run() error {
	f := os.NewFile(planFD, "order")
	err := json.NewDecoder(f).Decode(&k.order)
	f.Close()
	if err != nil {
		return err
	}
	lock, err := k.register()
	if err != nil {
		return err
	}
	defer k.unregister(lock)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go k.watchCaller(cancel)
	o := k.order
	c := Command{Args: o.Args, Dir: o.Dir, Environ: o.Environ, Session: o.Session, Keep: true, Stdin: os.Stdin,
		Stdout: os.Stdout, Stderr: os.Stderr, Signals: k.signals, sim: o.Sim}
	l := &launch{p: o.Profile, c: c, level: LevelFull, view: newViewer(o.Profile), onStart: releaseOutput,
		onExit: k.tell, onPublish: k.published}
	defer l.cleanUp()
	if err := l.prepare(); err != nil {
		return err
	}
	if t := o.Profile.Limits.Time; t > 0 {
		timer := time.AfterFunc(t, func() {
			if !k.isTold() {
				cancel()
			}
		})
		defer timer.Stop()
	}
	res, err := l.execute(ctx)
	if err != nil {
		return err
	}
	k.tell(res)
	return nil
}

// releaseOutput lets go of the command's input and output.
func releaseOutput() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup2(null, fd)
	}
	unix.Close(null)
}

func (k *keeper) isTold() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told
}

// tell sends the caller the result, once.
func (k *keeper) tell(res Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.told {
		k.told = true
		k.ctl.send(message{Op: "exit", Result: &res})
	}
}

// watchCaller ends the run when its caller goes away before the command has ended, and takes its signals.
func (k *keeper) watchCaller(end func()) {
	for {
		m, files, err := k.ctl.receive()
		closeAll(files)
		if err != nil {
			break
		}
		if m.Op == "signal" {
			k.signals <- unix.Signal(m.Status)
		}
	}
	if !k.isTold() {
		end()
	}
}

func (k *keeper) register() (*os.File, error) {
	s := session{k.order.Session}
	p := k.order.Profile
	k.kept = Kept{PID: os.Getpid(), Args: k.order.Args, Since: time.Now(), Write: p.Write}
	if p.Workspace.Mode != "" {
		k.kept.Write = append(k.kept.Write, p.Workspace.Root)
	}
	lock, err := os.OpenFile(s.file(k.kept.PID, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	return lock, k.save()
}

func (k *keeper) save() error {
	text, err := json.Marshal(k.kept)
	if err != nil {
		return err
	}
	name := session{k.order.Session}.file(k.kept.PID, ".json")
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// published notes a port for `Left` and for other runs of the session.
func (k *keeper) published(port int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.Ports = append(k.kept.Ports, port)
	k.save()
}

func (k *keeper) unregister(lock *os.File) {
	s := session{k.order.Session}
	os.Remove(s.file(k.kept.PID, ".json"))
	os.Remove(lock.Name())
	lock.Close()
}

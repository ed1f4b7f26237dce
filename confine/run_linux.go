package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// run tries level full and, where the Profile lets it, level files.
func run(ctx context.Context, p Profile, c Command) (Result, error) {
	if os.Args[0] == stageName {
		os.Exit(exitNoMain) // this process is not the program
	}
	if c.Keep {
		return runKept(ctx, p, c)
	}
	if reason := c.sim.missing(); reason != "" {
		return Result{}, &LevelError{Want: p.wanted(), Have: LevelNone, Why: reason}
	}
	if !c.sim.Files {
		res, err := runAt(ctx, LevelFull, p, c)
		var level *LevelError
		if !errors.As(err, &level) || p.wanted() == LevelFull {
			return res, err
		}
	}
	return runAt(ctx, LevelFiles, p, c)
}

func (p Profile) wanted() Level {
	if p.Level == "" {
		return LevelFull
	}
	return p.Level
}

// missing says why this machine has no confinement at all, "" if it has.
func (s simulation) missing() string {
	switch abi := s.simulated(landlockABI()); {
	case filterArch == 0:
		return "no system call filter is known for this architecture"
	case abi == 0:
		return "the kernel has no Landlock"
	case abi < 3 && (s.NoNamespaces || s.Files):
		return fmt.Sprintf("Landlock ABI %d lets truncate(2) empty files outside, and there are no namespaces", abi)
	}
	return ""
}

// A launch is one run from the caller's side.
type launch struct {
	p     Profile
	c     Command
	level Level
	view  *viewer
	plan  plan
	temp  string // private directory for temporary files at level files
	// earlier are changes of runs that were killed.
	earlier []Change

	// Hooks of a kept run's supervisor.
	onStart   func()
	onExit    func(Result)
	onPublish func(port int)
}

func runAt(ctx context.Context, level Level, p Profile, c Command) (Result, error) {
	if level == LevelFiles {
		if p.Workspace.Mode == Overlay {
			return Result{}, &LevelError{Want: LevelFull, Have: LevelFiles, Why: "an overlay workspace needs a mount namespace"}
		}
		files := c.sim
		files.Files = true
		if reason := files.missing(); reason != "" {
			return Result{}, &LevelError{Want: p.wanted(), Have: LevelNone, Why: reason}
		}
	}
	l := &launch{p: p, c: c, level: level, view: newViewer(p)}
	defer l.cleanUp()
	if err := l.prepare(); err != nil {
		return Result{}, err
	}
	if p.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.Limits.Time, errTime)
		defer cancel()
	}
	res, err := l.execute(ctx)
	res.Earlier = l.earlier
	if err != nil {
		return res, err
	}
	return res, l.finish(&res)
}

var errTime = errors.New("the time limit")

// prepare turns the Profile into a plan.
func (l *launch) prepare() error {
	v := l.view
	if l.p.Workspace.Mode != "" && v.root == "" {
		return fmt.Errorf("confine: the workspace %s does not exist or is hidden", l.p.Workspace.Root)
	}
	if l.p.Workspace.Mode == Overlay {
		if err := l.layOut(); err != nil {
			return fmt.Errorf("confine: layers of the workspace: %w", err)
		}
	}
	if l.c.Session != "" {
		s := session{l.c.Session}
		if err := s.make(); err != nil {
			return err
		}
		v.temp = s.temp()
		v.hidden = append(v.hidden, v.names(s.dir)...)
	}
	if l.c.Dir != "" {
		v.noteLinks(l.c.Dir) // programs go by $PWD as well
	}
	var err error
	if l.level == LevelFull {
		err = v.full()
	} else if l.temp, err = os.MkdirTemp("", "obstat-run-"); err == nil {
		err = v.files(l.temp)
	}
	if err != nil {
		return err
	}
	return l.makePlan()
}

// layOut makes the layers of the workspace and of the directories beside it.
func (l *launch) layOut() error {
	v := l.view
	var err error
	if l.earlier, err = Recover(l.p.Workspace.State); err != nil {
		return fmt.Errorf("changes of an earlier run: %w", err)
	}
	for _, root := range append([]string{v.root}, v.more...) {
		one, err := newLayers(l.p.Workspace.State, root)
		if err != nil {
			return err
		}
		v.layers = append(v.layers, one)
		if err := one.hide(v.hidden); err != nil {
			return err
		}
	}
	return nil
}

func (l *launch) makePlan() error {
	v := l.view
	environ := l.c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	l.plan = plan{Level: l.level, Sim: l.c.sim, Mounts: v.mounts, Rules: v.rules, Owners: l.p.Owners && os.Geteuid() == 0,
		Limits: l.p.Limits, Keep: l.c.Keep, Args: l.c.Args,
		Dir: l.c.Dir, Env: l.p.Env.environ(environ), Notify: l.c.Ask != nil}
	if l.level == LevelFiles {
		n := l.p.Network
		l.plan.NoInet = len(n.Hosts)+len(n.Localhost) == 0 && !n.AllLocalhost
		l.plan.NoUnix = len(l.p.Sockets) == 0
		l.plan.Env = append(l.plan.Env, "TMPDIR="+l.temp)
	}
	for _, h := range l.p.Network.Hosts {
		if strings.Trim(h.Name, "0123456789abcdef:.") == "" {
			l.plan.Addresses = append(l.plan.Addresses, h.Name) // a name made of such letters is no address, and left out there
		}
	}
	if l.plan.Dir == "" {
		l.plan.Dir = l.p.Workspace.Root
	}
	if l.plan.Dir == "" {
		l.plan.Dir = "/"
	}
	if !isCleanPath(l.plan.Dir) {
		return fmt.Errorf("confine: the directory %q is not an absolute, clean path", l.plan.Dir)
	}
	if real, err := filepath.EvalSymlinks(l.plan.Dir); err == nil {
		l.plan.Dir = real
	}
	return nil
}

func (l *launch) cleanUp() {
	for _, one := range l.view.layers {
		if _, err := os.Stat(filepath.Join(one.dir, journalName)); err == nil && !one.done {
			one.lock.Close() // for Recover to finish
		} else {
			one.remove()
		}
	}
	if l.temp != "" {
		removeTree(l.temp)
	}
}

// stageCommand starts this binary again as the process inside, in new namespaces.
func stageCommand(p plan, namespaces uintptr, ctl *os.File) (*exec.Cmd, error) {
	planFile, err := memoryFile(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{stageName, "inside"}
	cmd.Env = []string{"GOMAXPROCS=2", "GODEBUG=" + os.Getenv("GODEBUG")}
	cmd.ExtraFiles = []*os.File{ctl, planFile}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: unix.SIGKILL}
	if namespaces&unix.CLONE_NEWUSER != 0 {
		if err := mapUsers(cmd.SysProcAttr); err != nil {
			return nil, err
		}
	}
	return cmd, nil
}

// memoryFile holds a plan or an order for another process, as JSON.
func memoryFile(p any) (*os.File, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mapUsers keeps all users as they are: root maps those it has itself, so that files keep
// their owners, others can map only themselves.
func mapUsers(attr *syscall.SysProcAttr) error {
	uid, gid := os.Geteuid(), os.Getegid()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	if uid == 0 && hasCaps(unix.CAP_SETUID, unix.CAP_SETGID) {
		var err1, err2 error
		attr.UidMappings, err1 = identityMap("/proc/self/uid_map")
		attr.GidMappings, err2 = identityMap("/proc/self/gid_map")
		attr.GidMappingsEnableSetgroups = true
		return errors.Join(err1, err2)
	}
	attr.AmbientCaps = append(attr.AmbientCaps, setupCaps...)
	return nil
}

func hasCaps(list ...int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return false
	}
	return !slices.ContainsFunc(list, func(c int) bool { return now[c/32].Effective&(1<<(c%32)) == 0 })
}

func identityMap(file string) ([]syscall.SysProcIDMap, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var start, outside, size int
		if _, err := fmt.Sscan(line, &start, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: start, HostID: start, Size: size})
	}
	return out, nil
}

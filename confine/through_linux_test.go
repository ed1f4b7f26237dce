package confine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listing names all files below a directory.
func listing(dir string) []string {
	var out []string
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		out = append(out, path)
		return nil
	})
	return out
}

// TestThrough writes at once, protects names, and leaves nothing behind.
func TestThrough(t *testing.T) {
	p := newPlace(t)
	prof := p.profile(Through)
	prof.Hidden = append(prof.Hidden, p.ws+"/later", p.home+"/.gitconfig")
	prof.ReadOnly = append(prof.ReadOnly, p.ws+"/.vscode/tasks.json")
	o := mustRun(t, p.sh(prof, `echo two > b; rm a.txt; mkdir -p .vscode; echo x > .vscode/tasks.json; echo y > .git/index`))
	if p.read(p.ws+"/b") != "two\n" || p.read(p.ws+"/.git/index") != "y\n" {
		t.Error("not written", o.errs)
	}
	if !slices.Equal(o.Appeared, []string{p.ws + "/.vscode/tasks.json"}) {
		t.Errorf("appeared: %v", o.Appeared)
	}
	if len(o.Gaps) != 4 {
		t.Errorf("gaps: %v", o.Gaps)
	}
	for _, name := range []string{p.ws + "/later", p.home + "/.gitconfig"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was made as a mount point", name)
		}
	}
	if p.read(p.ws+"/.env") != "SECRET-ENV" {
		t.Error(".env", p.read(p.ws+"/.env"))
	}
}

// TestKilled ends the caller in the middle: the command ends as well and nothing is left.
func TestKilled(t *testing.T) {
	if os.Getenv("CONFINE_KILLED") != "" {
		p := &place{t: t, base: os.Getenv("CONFINE_KILLED")}
		p.home, p.ws = p.base+"/home", p.base+"/home/ws"
		p.sh(p.profile(Mode(os.Getenv("CONFINE_MODE"))), `echo $$ > /proc/self/fd/1; (sleep 1000 & sleep 1000)`, func(c *Command) { c.Stdout = os.Stdout })
		return
	}
	for _, mode := range []Mode{Overlay, Through} {
		p := newPlace(t)
		before := listing(p.base)
		mark := "confine-killed-" + filepath.Base(p.base)
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestKilled$")
		cmd.Env = append(os.Environ(), "CONFINE_KILLED="+p.base, "CONFINE_MODE="+string(mode), "MARK="+mark)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		children := childrenOf(cmd.Process.Pid)
		if len(children) == 0 {
			t.Fatal("no process inside")
		}
		var inside []unix.PollFd
		for _, pid := range children {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			inside = append(inside, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		cmd.Process.Kill()
		cmd.Wait()
		for i := range inside {
			if n, err := unix.Poll(inside[i:i+1], 10_000); n != 1 {
				t.Errorf("process %d inside is still there: %v", children[i], err)
			}
		}
		if mode == Overlay {
			mustRun(t, p.sh(p.profile(mode), `true`)) // puts the state in order
			os.Remove(p.base + "/state")
		}
		if after := listing(p.base); !slices.Equal(before, after) {
			t.Errorf("%s: before %v, after %v", mode, before, after)
		}
	}
}

func TestLimits(t *testing.T) {
	p := newPlace(t)
	prof := p.profile(Through)
	prof.Limits = Limits{Time: 300 * time.Millisecond}
	if o := mustRun(t, p.sh(prof, `sleep 100`)); o.Ended != errTime.Error() || o.Exit != 137 {
		t.Errorf("time: %+v", o.Result)
	}
	prof.Limits = Limits{FileSize: 1000, Time: time.Minute}
	if o := mustRun(t, p.sh(prof, `head -c 5000 /dev/zero > big; stat -c %s big`)); !o.has("1000") {
		t.Errorf("file size: %+v %s", o.Result, o.out)
	}
	prof.Limits = Limits{Processes: 30, Time: time.Minute}
	o := mustRun(t, p.sh(prof, `i=0; while [ $i -lt 500 ]; do sleep 100 & i=$((i+1)); done; echo ALL`))
	if o.has("ALL") && o.Ended == "" {
		t.Errorf("processes: %+v %s", o.Result, o.out)
	}
	// The process inside has the limit, too, and starts a thread more on a busy machine.
	prof.Limits = Limits{Memory: 256 << 20, Time: time.Minute}
	if o := mustRun(t, p.sh(prof, `head -c 600000000 /dev/zero | tail -c 599999999 > /dev/null && echo ALL`)); o.has("ALL") {
		t.Errorf("memory: %+v %s", o.Result, o.out)
	}
	prof.Limits = Limits{Temp: 1 << 20, Time: time.Minute}
	if o := mustRun(t, p.sh(prof, `head -c 5000000 /dev/zero > /tmp/x && echo ALL`)); o.has("ALL") {
		t.Errorf("temporary files: %+v %s", o.Result, o.out)
	}
}

func TestContextEndsRun(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w, _ := os.Pipe()
	go func() { r.Read(make([]byte, 1)); cancel() }()
	res, err := Run(ctx, p.profile(Through), Command{Args: []string{"sh", "-c", "echo; sleep 1000"}, Stdout: w})
	if err != nil || res.Ended == "" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestExitStatus(t *testing.T) {
	p := newPlace(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143} {
		if o := mustRun(t, p.sh(p.profile(Through), script)); o.Exit != want {
			t.Errorf("%s: %d, want %d", script, o.Exit, want)
		}
	}
}

func TestBadInput(t *testing.T) {
	p := newPlace(t)
	run := func(prof Profile, args ...string) error {
		_, err := Run(context.Background(), prof, Command{Args: args})
		return err
	}
	prof := p.profile(Through)
	for name, err := range map[string]error{
		"the program is not visible": run(prof, p.base+"/nothing"),
		"no program to run":          run(prof),
		"is not visible":             run(Profile{}, "/bin/true"),
		"not an absolute":            run(Profile{Read: []string{"usr"}}, "/bin/true"),
		"no confinement":             run(Profile{Level: LevelNone}, "/bin/true"),
		"unknown level":              run(Profile{Level: "much"}, "/bin/true"),
		"does not exist":             run(Profile{Workspace: Workspace{Root: "/nowhere", Mode: Through}}, "/bin/true"),
		"lies inside":                run(Profile{Workspace: Workspace{Root: p.ws, Mode: Overlay, State: p.ws + "/s"}}, "/bin/true"),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}

// TestPoorMachines tells a lower level, and refuses where the Profile wants more.
func TestPoorMachines(t *testing.T) {
	ctx := context.Background()
	p := newPlace(t)
	for _, tt := range []struct {
		sim   simulation
		level Level
		why   string
	}{
		{simulation{ABI: -1}, LevelNone, "no Landlock"},
		{simulation{NoNamespaces: true}, LevelFiles, "namespaces"},
		{simulation{MaskedProc: true}, LevelFiles, "/proc"},
		{simulation{NoNamespaces: true, ABI: 2}, LevelNone, "truncate"},
		{simulation{NoNamespaces: true, ABI: 3}, LevelFiles, "namespaces"},
		{simulation{ABI: 1}, LevelFull, ""},
		{simulation{ABI: 2}, LevelFull, ""},
		{simulation{ABI: 3}, LevelFull, ""},
		{simulation{ABI: 4}, LevelFull, ""},
		{simulation{ABI: 5}, LevelFull, ""},
		{simulation{ABI: 6}, LevelFull, ""},
		{simulation{NoOverlay: true}, LevelFull, ""},
	} {
		r := probe(ctx, tt.sim)
		if r.Level != tt.level || !strings.Contains(r.Why, tt.why) {
			t.Errorf("%+v: %v, want %s: %s", tt.sim, r, tt.level, tt.why)
		}
		prof := p.profile(Through)
		prof.Hidden, prof.ReadOnly = []string{p.home + "/.ssh"}, nil
		o := p.sh(prof, `cat a.txt; cat ~/.ssh/id_ed25519 ../../other/x`, func(c *Command) { c.sim = tt.sim })
		var level *LevelError
		if tt.level == LevelFull {
			if o.err != nil || !o.has("one") || o.has("SECRET") {
				t.Errorf("%+v: %v %s", tt.sim, o.err, o.out+o.errs)
			}
		} else if !errors.As(o.err, &level) {
			t.Errorf("%+v: ran although the profile wants full: %v", tt.sim, o.err)
		}
		prof.Level = LevelFiles
		o = p.sh(prof, `cat a.txt; cat ~/.ssh/id_ed25519 ../../other/x`, func(c *Command) { c.sim = tt.sim })
		if ran := o.err == nil; ran != tt.level.Covers(LevelFiles) || ran && (o.Level != tt.level || !o.has("one") || o.has("SECRET")) {
			t.Errorf("%+v: %v %+v %s", tt.sim, o.err, o.Result, o.out+o.errs)
		}
	}
}

// TestFilesRefusesNames does not drop a protected name silently.
func TestFilesRefusesNames(t *testing.T) {
	p := newPlace(t)
	prof := p.profile(Through)
	prof.Level = LevelFiles
	var level *LevelError
	if o := p.sh(prof, "true", func(c *Command) { c.sim.Files = true }); !errors.As(o.err, &level) {
		t.Errorf("ran: %v", o.err)
	}
}

package undo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/killed"
	"github.com/obstat/obstat/internal/keep/statedir"
)

var everyCall = flag.Bool("every-call", false, "kill at every system call that changes files, not at some")

// confinedWork is a command with one change of each kind.
const confinedWork = `echo two >>a; rm -rf src; mkdir -p n/m; echo x >n/m/x; echo y >y; chmod 700 b; ln -sfn b l; rm ld; mkdir ld
	echo z >ld/z; rmdir empty; echo e >empty; mv untracked moved`

// A confinedScene is a project with obstat's state beside it, on another file system where that is asked for: then
// changes are copied into place instead of moved.
type confinedScene struct{ dir, state string }

func (s confinedScene) env(name string) string {
	return map[string]string{"XDG_STATE_HOME": s.state, "HOME": s.state}[name]
}

// process is this program as one that runs the work confined; with stop it ends when the work is done, before the
// first of its changes is kept.
func (s confinedScene) process(stop bool) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSTAT_UNDO_CONFINED="+s.dir, "XDG_STATE_HOME="+s.state, "HOME="+s.state, "GOMAXPROCS=1")
	if stop {
		cmd.Env = append(cmd.Env, "OBSTAT_UNDO_STOP=1")
	}
	cmd.Stderr = os.Stderr
	return cmd
}

// runsConfined is the part of the process.
func runsConfined(dir string) error {
	at, err := statedir.Dir(os.Getenv)
	if err != nil {
		return err
	}
	keep := &Run{Getenv: os.Getenv, Call: &obstat.Call{Tool: "Bash", Dir: dir, Session: "s"}, Root: dir,
		Secret: func(string) bool { return false }}
	p := confine.Profile{Read: []string{"/"}, Execute: []string{"/"}, Write: []string{dir}, Delete: []string{dir},
		Workspace: confine.Workspace{Root: dir, Mode: confine.Overlay, State: statedir.Layers(at)}}
	_, err = confine.Run(context.Background(), p, confine.Command{Args: []string{"/bin/bash", "-ec", confinedWork}, Dir: dir,
		Environ: []string{"PATH=" + os.Getenv("PATH")}, Stderr: os.Stderr,
		Judge: func(confine.Change) confine.Verdict { return confine.Commit },
		Before: func(list []confine.Change) {
			if os.Getenv("OBSTAT_UNDO_STOP") != "" {
				os.Exit(0)
			}
			keep.Before(list)
		}})
	return errors.Join(err, keep.After())
}

// TestKilledCommit kills a confined run at system calls that change files, from when its work is done to its end: the
// next one to settle finds the tree as before or as after, and as after it can be taken back.
func TestKilledCommit(t *testing.T) {
	if err := killed.Possible(); err != nil {
		t.Skipf("a process cannot be traced here: %v", err)
	}
	if m := confine.Probe(t.Context()); m.Level != confine.LevelFull {
		t.Skipf("commands cannot be run confined here: %s", m.Why)
	}
	t.Setenv("HOME", t.TempDir())
	from := template(t)
	for name, other := range map[string]string{"moved": "", "copied": "/dev/shm"} {
		t.Run(name, func(t *testing.T) {
			first, _, err := killed.At(0, newConfinedScene(t, from, other).process(true))
			if err != nil {
				t.Fatal(err)
			}
			total := killedCommit(t, from, other, 0)
			step := max(1, (total-first)/4)
			if *everyCall {
				step = 1
			}
			n := 0
			for at := first; at <= total; at += step {
				killedCommit(t, from, other, at)
				n++
			}
			t.Logf("killed at %d of %d system calls that change files", n, total-first+1)
		})
	}
}

func newConfinedScene(t *testing.T, from, other string) confinedScene {
	t.Helper()
	s := confinedScene{project(t, from), t.TempDir()}
	if other == "" {
		return s
	}
	state, err := os.MkdirTemp(other, "obstat-undo-")
	if err != nil {
		t.Skipf("there is no other file system: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	s.state = state
	return s
}

// killedCommit kills one run and looks at what is left. It returns how many system calls were seen.
func killedCommit(t *testing.T, from, other string, at int) int {
	t.Helper()
	sc := newConfinedScene(t, from, other)
	before := hashOf(t, sc.dir)
	seen, ended, err := killed.At(at, sc.process(false))
	if err != nil || at == 0 && !ended {
		t.Fatalf("killed at %d: ended %v, %v", at, ended, err)
	}
	if _, err := Settle(sc.env); err != nil {
		t.Fatalf("killed at %d: %v", at, err)
	}
	state, err := statedir.Dir(sc.env)
	if err != nil {
		t.Fatal(err)
	}
	if confine.Begun(statedir.Layers(state)) {
		t.Fatalf("killed at %d: it is not settled", at)
	}
	if left, _ := filepath.Glob(sc.dir + "/.obstat-*"); len(left) > 0 {
		t.Fatalf("killed at %d: left %s", at, left)
	}
	if is := hashOf(t, sc.dir); is != before && !isWorked(t, sc.dir) {
		t.Fatalf("killed at %d: the tree is neither as before nor as after", at)
	} else if is == before {
		return seen
	}
	s, err := Store(sc.env)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Standing(s, "s", time.Time{}, nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("killed at %d: %d changes are kept, %v", at, len(list), err)
	}
	p, err := s.Plan(list)
	if err == nil {
		_, err = p.Apply(changes.Of{})
	}
	if err != nil || hashOf(t, sc.dir) != before {
		t.Fatalf("killed at %d: it is not taken back: %v", at, err)
	}
	return seen
}

// isWorked tells whether all of the work is done.
func isWorked(t *testing.T, dir string) bool {
	err := run(t, dir, `set -e; [ "$(tail -1 a)" = minetwo ]; [ ! -e src ]; [ "$(cat n/m/x y ld/z empty)" = "$(printf 'x\ny\nz\ne')" ]
		[ "$(stat -c %a b)" = 700 ]; [ "$(readlink l)" = b ]; [ -d ld ]; [ ! -L ld ]; [ ! -e untracked ]; [ "$(cat moved)" = new ]`)
	if err != nil {
		t.Log(fmt.Errorf("not all of it is done: %w", err))
	}
	return err == nil
}

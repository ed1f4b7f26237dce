package changes

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/keep/killed"
)

var everyCall = flag.Bool("every-call", false, "kill at every system call that changes files, not at some")

// TestMain lets the test binary be the process that is killed: OBSTAT_CHANGES_DO says what it does.
func TestMain(m *testing.M) {
	if do := os.Getenv("OBSTAT_CHANGES_DO"); do != "" {
		if err := act(do, os.Getenv("OBSTAT_CHANGES_STORE"), os.Getenv("OBSTAT_CHANGES_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// act saves a project's files, notes their end, takes the only change back, or only opens the store.
func act(do, store, dir string) error {
	s, err := Open(store, Limits{})
	if err != nil {
		return err
	}
	switch do {
	case "save":
		_, err = s.Save(Of{Call: "c", Session: "s"}, reachOf(dir, []string{"/"}), false)
	case "end":
		_, err = s.End("c", "s")
	case "undo":
		err = takeBack(s)
	}
	return err
}

// takeBack takes the latest change back.
func takeBack(s *Store) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	p, err := s.Plan(list[:1])
	if err == nil {
		_, err = p.Apply(Of{Call: "undo"})
	}
	return err
}

// damage is a command that changes one path of each kind.
const damage = `echo 1 >a; rm -r d; mkdir -p x/y; echo 1 >x/y/z; chmod 600 run; rm l; mkdir l; echo 1 >l/f; rm -r empty
	ln -s x empty; echo 2 >hard`

// A scene is a store and a project.
type scene struct{ store, dir string }

func (sc scene) run(do string, at int) (seen int, ended bool, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSTAT_CHANGES_DO="+do, "OBSTAT_CHANGES_STORE="+sc.store, "OBSTAT_CHANGES_DIR="+sc.dir,
		"GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	return killed.At(at, cmd)
}

// TestKilledAtCalls kills saving, its end, taking back, and ending what was killed, at system calls that change files.
// Whatever is killed, the next one to open the store finds the tree as before or as after, and can take it back.
func TestKilledAtCalls(t *testing.T) {
	if err := killed.Possible(); err != nil {
		t.Skipf("a process cannot be traced here: %v", err)
	}
	for _, do := range []string{"save", "end", "undo", "open"} {
		t.Run(do, func(t *testing.T) {
			total := killedAt(t, do, 0)
			step := max(1, total/6)
			if *everyCall {
				step = 1
			}
			n := 0
			for at := 1; at <= total; at += step {
				killedAt(t, do, at)
				n++
			}
			t.Logf("%s: killed at %d of %d system calls that change files", do, n, total)
		})
	}
}

// killedAt makes a project, kills one thing that is done to it, and looks at what is left. It returns how many system
// calls were seen.
func killedAt(t *testing.T, do string, at int) int {
	t.Helper()
	sc := scene{store: filepath.Join(t.TempDir(), "changes"), dir: project(t)}
	before := hashOf(t, sc.dir)
	must := func(do string) {
		t.Helper()
		if err := act(do, sc.store, sc.dir); err != nil {
			t.Fatalf("%s, killed at %d: %v", do, at, err)
		}
	}
	if do != "save" {
		must("save")
		shell(t, sc.dir, damage)
	}
	after := hashOf(t, sc.dir)
	if do == "undo" || do == "open" {
		must("end")
	}
	if do == "open" { // in the middle of what a killed one had begun
		for at := 15; !Begun(sc.store); at += 10 { // one that is killed before it begins leaves all as it is
			if _, ended, err := sc.run("undo", at); err != nil || ended {
				t.Fatalf("it was not killed: %v", err)
			}
		}
	}
	seen, ended, err := sc.run(do, at)
	if err != nil || ended != (at == 0) {
		t.Fatalf("%s, killed at %d: ended %v, %v", do, at, ended, err)
	}
	s, err := Open(sc.store, Limits{}) // ends what was begun
	if err != nil {
		t.Fatalf("%s, killed at %d: %v", do, at, err)
	}
	is := hashOf(t, sc.dir)
	list, err := s.List()
	switch {
	case err != nil:
		t.Fatalf("%s, killed at %d: %v", do, at, err)
	case is != before && is != after:
		t.Fatalf("%s, killed at %d: the tree is neither as before nor as after", do, at)
	case Begun(sc.store):
		t.Fatalf("%s, killed at %d: it is not ended", do, at)
	}
	undone := len(list) > 0 && list[len(list)-1].Undone != ""
	if undone != (is == before && do != "save") {
		t.Fatalf("%s, killed at %d: the change is called taken back: %v", do, at, undone)
	}
	if do == "save" {
		must("save")
		shell(t, sc.dir, damage)
	}
	if !undone {
		if do == "save" || do == "end" {
			must("end")
		}
		if err := takeBack(s); err != nil {
			t.Fatalf("%s, killed at %d: %v", do, at, err)
		}
	}
	if got := hashOf(t, sc.dir); got != before {
		t.Fatalf("%s, killed at %d: it cannot be taken back", do, at)
	}
	if left, _ := filepath.Glob(sc.dir + "/.obstat-*"); len(left) > 0 {
		t.Fatalf("%s, killed at %d: left %s", do, at, strings.Join(left, " "))
	}
	return seen
}

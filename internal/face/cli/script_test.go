package cli_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/face/cli"
	"github.com/obstat/obstat/internal/guard/person/persontest"
	"github.com/obstat/obstat/policy"
)

var update = flag.Bool("update", false, "write what is printed into the scripts and docs/cli.md")

func TestMain(m *testing.M) {
	confine.Main()
	testscript.Main(m, map[string]func(){
		"obstat": func() {
			s := cli.System()
			s.Person = persontest.Typist
			os.Exit(int(cli.Main(os.Args[1:], s)))
		},
	})
}

// TestScripts runs the command as its users do: testdata/script has one file a
// subject, with the arguments, the exit code and what is printed.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			root, err := filepath.Abs("../../..")
			if err != nil {
				return err
			}
			env.Setenv("ROOT", root) // of the checkout, for the files that others run
			env.Setenv("HOME", "/home/user")
			env.Setenv("XDG_STATE_HOME", t.TempDir()) // outside of the project: it vouches for it
			return nil
		},
		Condition: func(cond string) (bool, error) {
			return cond == "confine" && confine.Probe(t.Context()).Level == confine.LevelFull, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "until": until, "accept": accept, "ledger": sampleLedger},
	})
}

// accept accepts what a directory has on disk: accept DIR.
func accept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: accept DIR")
	}
	w := &policy.Where{Dir: args[0], Home: ts.Getenv("HOME"), Getenv: ts.Getenv}
	f := new(policy.Finder)
	in, err := f.Find(w)
	ts.Check(err)
	ts.Check(f.Pin(context.Background(), in, w, "ann"))
}

// until runs a command again and again until what it prints matches: until REGEXP command.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP command...")
	}
	want := regexp.MustCompile(args[0])
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // it may fail until there is something to see
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s does not print %q", args[1], args[0])
}

// exitCode runs a command that has to end with the given code: code N command.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		got = ee.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

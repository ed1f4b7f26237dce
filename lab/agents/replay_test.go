package agents_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/lab/agents"
)

// TestNeverLooser gives the hook what the real agents gave it in the runs of docs/agents/never-looser.md. Each
// answer has to have the effect that it had there: one that turns from none into allow may lift what the agent
// refuses.
func TestNeverLooser(t *testing.T) {
	const root = "../.."
	programs, err := agents.ReadPrograms(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agents.PairAgents() {
		pairs, err := agents.ReadPairs(agents.PairsFile(root, name))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for i := range pairs {
			p := &pairs[i]
			if v := p.Judge(); v == agents.Looser || v == agents.Broken {
				t.Errorf("%s: %s", p.Cell.String(), v)
			}
			if p.With != nil {
				calls += replayPair(t, p, programs)
			}
		}
		if calls < len(pairs)/4 {
			t.Errorf("%s: only %d calls of the hook in %d pairs", name, calls, len(pairs))
		}
		t.Logf("%s: %d pairs, %d calls of the hook", name, len(pairs), calls)
	}
}

// replayPair gives the hook the calls of a pair, and returns how many there were.
func replayPair(t *testing.T, p *agents.Pair, programs map[string]string) int {
	dir := apart(t)
	if err := p.Lay(dir, programs); err != nil {
		t.Fatal(err)
	}
	for i := range p.With.Passed {
		was := &p.With.Passed[i]
		now := was.In(dir)
		out, code := again(&now, dir)
		if want, got := agents.Effect(was.Stdout, was.Exit), agents.Effect(out, code); got != want {
			t.Errorf("%s: the hook's answer was %s when the agent ran, and is %s now: %s\nRun the pairs again: make test-agents",
				p.Cell.String(), want, got, out)
		}
	}
	return len(p.With.Passed)
}

// again runs the hook on a call.
func again(p *agents.Passed, dir string) (stdout string, code int) {
	var out, errs bytes.Buffer
	home := filepath.Join(dir, "home")
	getenv := func(name string) string {
		if name == "XDG_STATE_HOME" {
			return filepath.Join(home, ".local", "state")
		}
		i := slices.IndexFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 {
			return ""
		}
		return p.Env[i][len(name)+1:]
	}
	codes := make(chan int, 2)
	o := &hook.Options{Agent: p.Args[len(p.Args)-1], Deadline: time.Minute, World: homed{dir: home}, NoPins: true, NoLedger: true,
		In: strings.NewReader(p.Stdin), Out: &out, Err: &errs, Getenv: getenv,
		Getwd: func() (string, error) { return filepath.Join(dir, "project"), nil }, Exit: func(code int) { codes <- code }}
	if i := slices.Index(p.Args, "hook"); i+1 < len(p.Args) {
		o.Agent = p.Args[i+1]
	}
	go func() { codes <- hook.Run(o) }()
	code = <-codes
	return out.String(), code
}

// homed is this machine, with another home.
type homed struct {
	obstat.OS
	dir string
}

// Home returns the home.
func (h homed) Home(string) (string, bool) { return h.dir, true }

// apart returns a new directory outside of those for temporary files, where a built-in policy lets agents
// write: the recorded runs had it otherwise.
func apart(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(cache, "obstat-replay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

package hook

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/agentlab"
)

// TestNeverLooser gives the hook what the real agents gave it in the runs of docs/agents/never-looser.md. Each
// answer has to have the effect that it had there: one that turns from none into allow may lift what the agent
// refuses.
func TestNeverLooser(t *testing.T) {
	const root = "../.."
	programs, err := agentlab.ReadPrograms(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agentlab.PairAgents() {
		pairs, err := agentlab.ReadPairs(agentlab.PairsFile(root, name))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for i := range pairs {
			p := &pairs[i]
			if v := p.Judge(); v == agentlab.Looser || v == agentlab.Broken {
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
func replayPair(t *testing.T, p *agentlab.Pair, programs map[string]string) int {
	dir := t.TempDir()
	if err := p.Lay(dir, programs); err != nil {
		t.Fatal(err)
	}
	for i := range p.With.Passed {
		was := &p.With.Passed[i]
		now := was.In(dir)
		out, code := again(&now, dir)
		if want, got := agentlab.Effect(was.Stdout, was.Exit), agentlab.Effect(out, code); got != want {
			t.Errorf("%s: the hook's answer was %s when the agent ran, and is %s now: %s\nRun the pairs again: make test-agents",
				p.Cell.String(), want, got, out)
		}
	}
	return len(p.With.Passed)
}

// again runs the hook on a call.
func again(p *agentlab.Passed, dir string) (stdout string, code int) {
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
	o := &Options{Agent: p.Args[len(p.Args)-1], Deadline: time.Minute, World: homed{dir: home}, noPins: true, NoLedger: true,
		In: strings.NewReader(p.Stdin), Out: &out, Err: &errs, Getenv: getenv,
		Getwd: func() (string, error) { return filepath.Join(dir, "project"), nil }, Exit: func(code int) { codes <- code }}
	if i := slices.Index(p.Args, "hook"); i+1 < len(p.Args) {
		o.Agent = p.Args[i+1]
	}
	go func() { codes <- Run(o) }()
	code = <-codes
	return out.String(), code
}

package agents

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options are the flags of the lab.
type options struct {
	root      string // of the checkout
	cache     string // where agents are installed
	agents    string
	scenarios string
	versions  string
	env       string // further variables for the agents
	overhead  int    // calls of which the time is taken; none: the scenarios are played
	keep      bool
	update    bool
	confined  bool   // play the test suite that is confined
	plugins   bool   // have the agents install obstat's plugins in place of its entries
	exports   bool   // play exported policies without obstat
	pairs     bool   // play the pairs with and without obstat
	without   bool   // of them only the halves without
	changed   bool   // and of the others those for which the hook answers otherwise by now
	seed      uint64 // by which the pairs are chosen
	tools     string // where obstat was built; "" is for the run that has the network
	out       io.Writer
}

// helpers are the programs that agents start: the tool server, the stand-in for obstat that records all that passes
// through it, and the client of Codex's app-server.
var helpers = map[string]func(args []string, in io.Reader, out, errs io.Writer) (int, error){
	"mcp":          serveMCP,
	"shim":         shim,
	"codex-client": codexClient,
}

func serveMCP(_ []string, in io.Reader, out, _ io.Writer) (int, error) {
	if err := ServeMCP(in, out); err != nil {
		return 1, err
	}
	return 0, nil
}

// Main is the program: `lab [flags]` or `lab mcp`. It returns the exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) > 0 && helpers[args[0]] != nil {
		code, err := helpers[args[0]](args[1:], in, out, errs)
		if err != nil {
			fmt.Fprintln(errs, err)
		}
		return code
	}
	o := &options{out: out}
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.root, "root", "../..", "the checkout")
	flags.StringVar(&o.cache, "cache", "", "where the agents are installed (default $OBSTAT_AGENTS, or .agents in the "+
		"checkout)")
	flags.StringVar(&o.agents, "agents", "", "only these, with commas")
	flags.StringVar(&o.scenarios, "scenarios", "", "only these, with commas")
	flags.StringVar(&o.versions, "versions", "", "other versions than the pinned ones, as in codex=0.166.0,gemini=latest")
	flags.StringVar(&o.env, "env", "", "start the agents with these variables as well, as in CLAUDE_CODE_SIMPLE=1, to "+
		"see what they switch off")
	flags.IntVar(&o.overhead, "overhead", 0, "play no scenarios, but time this many calls with obstat beside a hook that "+
		"only says yes")
	flags.BoolVar(&o.keep, "keep", false, "leave the directories of all runs, not only of failed ones")
	flags.BoolVar(&o.update, "update", false, "write docs/agents/results.md, or with -pairs docs/agents/never-looser.md")
	flags.BoolVar(&o.confined, "confined", false, "play a test suite that is after a key, a hook and a host, bare and "+
		"confined, and print the ledger's lines")
	flags.BoolVar(&o.plugins, "plugins", false, "have the agents install the plugins of this checkout, and play what "+
		"these hold, for agents that have one")
	flags.BoolVar(&o.exports, "exports", false, "play no scenarios, but policies that obstat exports, by the agents alone")
	flags.BoolVar(&o.pairs, "pairs", false, "play no scenarios, but the same calls with and without obstat")
	flags.BoolVar(&o.without, "without", false, "with -pairs: only the runs without obstat, which are kept for later")
	flags.BoolVar(&o.changed, "changed", false, "with -pairs: keep the recorded runs for whose calls obstat's hook "+
		"answers as it did")
	flags.Uint64Var(&o.seed, "seed", pairSeed, "with -pairs: choose the cells by this")
	flags.StringVar(&o.tools, "tools", "", "where obstat was built; for the lab itself, which starts once more without a "+
		"network")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := o.main(args); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) { // it said so itself
			fmt.Fprintln(errs, "lab:", err)
		}
		return 1
	}
	return 0
}

func (o *options) main(args []string) error {
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.cache == "" {
		o.cache = os.Getenv("OBSTAT_AGENTS")
	}
	if o.cache == "" {
		o.cache = filepath.Join(o.root, ".agents")
	}
	if o.cache, err = filepath.Abs(o.cache); err != nil {
		return err
	}
	agents, err := o.chosen()
	if err != nil {
		return err
	}
	if o.tools != "" {
		return o.inner(agents)
	}
	if err := o.install(agents); err != nil {
		return err
	}
	if o.tools, err = os.MkdirTemp("", "obstat-lab-bin-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.tools)
	if err := o.build(); err != nil {
		return err
	}
	return o.again(args)
}

// again starts this program once more, without a network.
func (o *options) again(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args = append(slices.Clone(args), "-tools", o.tools)
	start := func(apart bool) (*exec.Cmd, error) {
		cmd := exec.Command(self, args...)
		cmd.Stdout, cmd.Stderr = o.out, os.Stderr
		if apart {
			offline(cmd)
		}
		return cmd, cmd.Start()
	}
	cmd, err := start(true)
	if err != nil {
		fmt.Fprintf(o.out, "the agents run with the network, since it cannot be taken from them: %v\n", err)
		if cmd, err = start(false); err != nil {
			return err
		}
	}
	defer onSignal(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	return cmd.Wait()
}

// chosen returns the agents of the flags, at the versions of the flags.
func (o *options) chosen() ([]Agent, error) {
	all := Agents()
	if o.confined {
		all = append(all, onlyConfined()...)
	}
	for _, v := range fields(o.versions) {
		name, version, ok := strings.Cut(v, "=")
		found := false
		for i := range all {
			if all[i].Name == name {
				all[i].Version, found = version, true
			}
		}
		if !ok || !found {
			return nil, fmt.Errorf("-versions: %q is no agent=version", v)
		}
	}
	only := fields(o.agents)
	if len(only) == 0 {
		return all, nil
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(a Agent) bool { return a.Name == name }) {
			return nil, fmt.Errorf("there is no agent %q here", name)
		}
	}
	return slices.DeleteFunc(all, func(a Agent) bool { return !slices.Contains(only, a.Name) }), nil
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// atOnce is how many agents run at the same time.
const atOnce = 2

// inner plays all scenarios with all agents; it runs without a network.
func (o *options) inner(agents []Agent) error {
	if err := loopback(); err != nil {
		fmt.Fprintf(o.out, "the loopback interface: %v\n", err)
	}
	policies := map[policyState]string{}
	for which, text := range map[policyState]string{usual: rules, lax: laxRules} {
		var err error
		if policies[which], err = o.program(text); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	base, err := os.MkdirTemp(o.base(), "obstat-lab-")
	if err != nil {
		return err
	}
	defer onSignal(func() { // the agents are in process groups of their own
		endStrays(mark(base))
		os.Exit(1)
	})()
	begin := time.Now()
	newRun := func(a *Agent, n int) *run {
		return &run{dir: filepath.Join(base, fmt.Sprint(n)), packages: o.packages(a), lab: self, tools: o.tools,
			policies: policies, root: o.root, plugins: o.plugins, keep: o.keep, extra: fields(o.env)}
	}
	switch {
	case o.overhead > 0:
		return o.compare(agents, newRun)
	case o.exports:
		return o.playExports(agents, newRun)
	case o.pairs:
		return o.playPairs(agents, newRun)
	}
	results := o.play(agents, newRun)
	_ = os.Remove(base) // stays where a run in it does
	broken, driven := 0, 0
	for _, r := range results {
		if r.Broken != "" {
			broken++
		}
		if r.Outcome != outNotDriven {
			driven++
		}
	}
	fmt.Fprintf(o.out, "%d runs in %s, %d of them not driven, %d of obstat's promises broken\n", len(results),
		time.Since(begin).Round(time.Second), len(results)-driven, broken)
	if driven == 0 {
		return errors.New("no agent could be driven")
	}
	if o.update {
		if err := o.writeTable(agents, results); err != nil {
			return err
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d of obstat's promises did not hold", broken)
	}
	return nil
}

// forPlugins are the scenarios that are played with plugins: what an entry of obstat's is not looked for.
var forPlugins = []string{"harmless", "denied", "env", "compound", "write", "write-denied", "mcp", "mcp-denied",
	"subagent-denied", "broken", "below", "opencode", "native", "outcome", "killed", "missing"}

// onSignal does something when the program is told to end; stop undoes that.
func onSignal(do func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, told := <-signals; told {
			do()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// play runs the scenarios, a few at once, and returns the results in order.
func (o *options) play(agents []Agent, newRun func(*Agent, int) *run) []Result {
	type job struct {
		agent    *Agent
		scenario scenario
	}
	var jobs []job
	list, only := scenarios(), fields(o.scenarios)
	if o.confined {
		agents, list = confinedAgents(agents), confinedScenarios()
	}
	if o.plugins {
		agents = slices.DeleteFunc(slices.Clone(agents), func(a Agent) bool { return a.driver.entry.plugin == nil })
		list = slices.DeleteFunc(list, func(s scenario) bool { return !slices.Contains(forPlugins, s.name) })
	}
	for i := range agents {
		for _, s := range list {
			s := s.forAgent(&agents[i])
			if len(only) == 0 || slices.Contains(only, s.name) {
				jobs = append(jobs, job{&agents[i], s})
			}
		}
	}
	results := make([]Result, len(jobs))
	var group sync.WaitGroup
	var print sync.Mutex
	slots := make(chan struct{}, atOnce)
	for i, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			r := newRun(j.agent, i+1)
			res := j.scenario.try(j.agent, r)
			keep := o.keep || res.Broken != "" || res.Outcome == outNotDriven
			if !keep {
				_ = r.tidy()
			}
			print.Lock()
			defer print.Unlock()
			fmt.Fprintf(o.out, "%3d/%d %s\n", i+1, len(jobs), res.line(r, keep))
			results[i] = res
		})
	}
	group.Wait()
	return results
}

// line returns the line that is printed of a run.
func (res *Result) line(r *run, kept bool) string {
	s := fmt.Sprintf("%-16s %-16s %-10s %5.1fs", res.Agent, res.Scenario, res.Outcome, res.Took.Seconds())
	if res.Note != "" {
		s += "\n        " + res.Note
	}
	if res.Broken != "" {
		s += "\n        BROKEN: " + res.Broken
	}
	if res.Detail != "" {
		s += "\n        " + strings.ReplaceAll(res.Detail, "\n", "\n        ")
	}
	if kept {
		s += "\n        in " + r.dir
	}
	return s
}

// program has obstat turn rules into the one file that it reads before any
// agent's own.
func (o *options) program(rules string) (string, error) {
	return o.programOf("claudecode", "settings.json", rules)
}

// programOf is program for a file of another dialect.
func (o *options) programOf(dialect, name, rules string) (string, error) {
	dir, err := os.MkdirTemp("", "obstat-lab-policy-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(filepath.Join(o.tools, "obstat"), "policy", "show", "--format", "json", "--dialect", dialect, file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("obstat policy show: %w: %s", err, errs.String())
	}
	return strings.ReplaceAll(out.String(), dir+string(filepath.Separator), ""), nil
}

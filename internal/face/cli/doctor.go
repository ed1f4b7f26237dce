package cli

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/guard/doctor"
	"github.com/obstat/obstat/internal/guard/drive"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/internal/study/explain"
	inforce "github.com/obstat/obstat/policy"
)

// doctorOptions are the options of obstat doctor.
type doctorOptions struct {
	*Factory
	Agents []string
	Dir    string `flag:"dir C"`
	Drive  bool   `flag:"drive"`
	Getenv func(string) string
}

func newDoctor(f *Factory) *cobra.Command {
	o := &doctorOptions{Factory: f, Getenv: os.Getenv}
	return takesAgents(command("doctor", some(0, -1), o, o.run), installable())
}

// newCanary answers a call of an agent that obstat doctor --drive has started. It is hidden: nobody else calls it.
func newCanary(f *Factory) *cobra.Command {
	cmd := command("canary", some(1, 1), nil, func(_ context.Context, args []string) error {
		return done(ExitCode(drive.Canary(args[0], f.IO.In, f.IO.Out, f.IO.Err)))
	})
	cmd.Hidden = true
	return cmd
}

// doctorJSON is the output of --json.
type doctorJSON struct {
	V  int  `json:"v"`
	OK bool `json:"ok"`
	*doctor.Report
}

func (o *doctorOptions) run(ctx context.Context, args []string) error {
	o.Agents = args
	for _, name := range args {
		if a := agent.Of(name); a == nil || !a.Installable() {
			return mistyped(fmt.Sprintf("there is nothing known about an agent %q; the agents are %s", name,
				strings.Join(installable(), ", ")), name, installable())
		}
	}
	dir, err := o.dir(o.Dir)
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "obstat-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	home, _ := o.World.Home("")
	opts := &doctor.Options{Where: &agent.Where{Home: home, Projects: []string{dir}, Getenv: o.Getenv}, Agents: o.Agents,
		Dir: dir, Env: o.Getenv,
		Self: selfBinary(), Inspect: inspect, Deadline: hook.Longest, Installed: installedVersion,
		Run: func(ctx context.Context, c *doctor.Command) *agent.Reply {
			return runCanary(ctx, c, c.Environ(o.Getenv, state))
		},
		Find: func(agent string) ([]*dialect.Loaded, error) {
			f, err := new(inforce.Finder).Find(&inforce.Where{Agent: agent, Dir: dir, Home: home, Getenv: o.Getenv})
			if err != nil {
				return nil, err
			}
			var out []*dialect.Loaded
			for _, p := range f.Policies {
				if p.Dialect.Name() != native.BuiltinName {
					out = append(out, p.Loaded)
				}
			}
			return out, f.Err()
		}}
	if dir == home {
		opts.Where.Projects = nil
	}
	r := doctor.Examine(ctx, opts)
	o.prove(ctx, r)
	o.tell(ctx, r)
	code := ExitOK
	if !r.OK() {
		code = ExitError
	}
	if r.Agents == nil {
		r.Agents = []*doctor.Agent{}
	}
	return cmp.Or(o.show(doctorJSON{explain.Version, r.OK(), r}, func(s *screen) { s.report(r, home) }), done(code))
}

// tell has the findings shown by obstat status, and on the console's page of agents: that of the server which this
// machine has joined, and that which obstat serve shows of the store here.
func (o *doctorOptions) tell(ctx context.Context, r *doctor.Report) {
	var proofs []client.Proof
	for _, a := range r.Agents {
		proofs = append(proofs, client.Proof{Agent: a.Name, State: string(a.State)})
	}
	dir, err := statedir.Dir(o.Getenv)
	if err != nil || len(proofs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := sqlite.Open(ctx, statedir.Store(dir))
	if err == nil {
		err = errors.Join(server.KeepProofs(ctx, s, proofs), s.Close())
	}
	if j, gone := remote.Load(dir); gone == nil {
		var c *client.Client
		if c, gone = j.Client(); gone == nil {
			err = errors.Join(err, c.SendProofs(ctx, proofs))
		}
	}
	if err != nil {
		fmt.Fprintf(o.IO.Err, "obstat: status and console do not show this: %s\n", visible(err.Error()))
	}
}

// canaryLimit is longer than obstat's own deadline.
const canaryLimit = hook.DefaultDeadline + 10*time.Second

// runCanary runs a hook.
func runCanary(ctx context.Context, c *doctor.Command, env []string) *agent.Reply {
	ctx, cancel := context.WithTimeout(ctx, canaryLimit)
	defer cancel()
	argv := slices.Clone(c.Argv)
	if _, err := exec.LookPath(argv[0]); err != nil && argv[0] == "bash" {
		argv[0] = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, words limited
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, env, bytes.NewReader(c.Stdin), &out, &words
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	r := &agent.Reply{Stdout: out.Bytes(), Stderr: words.Bytes(), Exit: -1}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil: // every agent drops the output of a late hook
		return &agent.Reply{Exit: -1, Stderr: []byte("no answer within " + canaryLimit.String())}
	case err == nil || errors.As(err, &ended):
		r.Exit = cmd.ProcessState.ExitCode()
	default:
		r.Stderr = append(r.Stderr, err.Error()...)
	}
	return r
}

// limited is a buffer that keeps the first megabyte.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	const most = 1 << 20
	if room := most - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

var _ io.Writer = (*limited)(nil)

func selfBinary() doctor.Binary {
	v := thisVersion()
	return doctor.Binary{Obstat: true, Version: v.Version, Revision: v.Revision}
}

// release is the stamp of a release in the bytes of its program: make dist leaves it out of the build information.
var release = regexp.MustCompile(`obstat-release ([^ ()]{1,80}) ([0-9a-f]{7,40}) [0-9]{4}-`)

// inspect reads the build information in a program file, and the stamp of a release; the program is not run.
func inspect(path string) (*doctor.Binary, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &doctor.Binary{Version: info.Main.Version}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if self, ok := debug.ReadBuildInfo(); ok {
		b.Obstat = info.Main.Path == self.Main.Path
	}
	if data, err := os.ReadFile(path); err == nil && b.Obstat {
		if m := release.FindSubmatch(data); m != nil {
			b.Version, b.Revision = string(m[1]), string(m[2])
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value[:min(12, len(s.Value))]
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if st, err := os.Stat(real); err == nil {
			b.Writable = st.Mode().Perm()&0o022 != 0
		}
	}
	return b, nil
}

// report writes a report of the doctor's.
func (s *screen) report(r *doctor.Report, home string) {
	s.margin = 10
	if len(r.Agents) == 0 {
		s.prose("No agent that obstat knows is used here. See: obstat install --help")
	}
	for i, a := range r.Agents {
		if i > 0 && (a.State != doctor.Open || r.Agents[i-1].State != doctor.Open) {
			s.printf("\n")
		}
		s.agent(a, home)
	}
	if len(r.Policy) > 0 {
		s.printf("\n%s\n", s.io.paint(bold, "Policy"))
		s.findings(r.Policy, home)
	}
}

func (s *screen) agent(a *doctor.Agent, home string) {
	k, word := red, "does not hold"
	switch a.State {
	case doctor.Holds:
		k, word = green, "holds"
	case doctor.Open:
		k, word = yellow, "does not ask obstat: obstat install "+a.Name
	}
	s.printf("%s %s\n", s.io.paint(bold, a.Title), s.io.paint(k, word))
	s.findings(a.Findings, home)
	var hooks, proofs, open, partly [][2]string
	events := groups{}
	for _, e := range a.Entries {
		events.add(e.File, e.Event)
	}
	for _, e := range a.Entries {
		if list, ok := events[e.File]; ok {
			hooks = append(hooks, [2]string{"", fmt.Sprintf("%s:%d (%s)", inHome(e.File, home), e.Line, e.Scope)},
				[2]string{"", list})
			delete(events, e.File)
		}
	}
	s.rows("hook", hooks...)
	for _, p := range a.Proofs {
		if !slices.ContainsFunc(proofs, func(r [2]string) bool { return r[0] == p.Canary }) {
			proofs = append(proofs, [2]string{p.Canary, outcomes(a.Proofs, p.Canary)})
		}
	}
	if a.Driven {
		proofs = append(proofs, [2]string{"started, with a model of obstat's", "runs the changed command, and not the denied one"})
	}
	s.rows("proof", proofs...)
	s.rows("modes", modeRows(a.Modes)...)
	for _, l := range a.Limits {
		switch l.Held {
		case agent.No:
			open = append(open, [2]string{l.About, l.Says})
		case agent.Partly:
			partly = append(partly, [2]string{l.About, l.Says})
		}
	}
	s.rows("not held", open...)
	s.rows("partly", partly...)
}

// modeRows has the outcome of an allow and an ask in an agent's modes; equal ones at an event
// share a row.
func modeRows(modes []doctor.Mode) (out [][2]string) {
	for i, m := range modes {
		says := fmt.Sprintf("an allow is told: %s; an ask goes to %s", m.Allow, m.Ask)
		name := strings.TrimSpace(strings.Replace(m.Mode, "*", "every other", 1) + " " + m.Event)
		if i > 0 && modes[i-1].Event == m.Event && len(out) > 0 && out[len(out)-1][1] == says {
			out[len(out)-1][0] = strings.TrimSuffix(out[len(out)-1][0], " "+m.Event) + ", " + name
			continue
		}
		out = append(out, [2]string{name, says})
	}
	return out
}

// groups are lists of different words, by name.
type groups map[string]string

// add adds a word to a list.
func (g groups) add(name, word string) {
	switch list, ok := g[name]; {
	case !ok:
		g[name] = word
	case !slices.Contains(strings.Split(list, ", "), word):
		g[name] = list + ", " + word
	}
}

// outcomes names the outcome of a canary: "blocked", or "RUNS at PreToolUse; blocked at
// PermissionRequest" where it differs.
func outcomes(proofs []doctor.Proof, canary string) string {
	words := map[string]string{"runs": "RUNS", "asks": "asked", "blocked": "blocked"}
	events := groups{}
	for _, p := range proofs {
		if p.Canary == canary {
			events.add(p.Outcome, p.Event)
		}
	}
	var parts []string
	for _, outcome := range []string{"runs", "asks", "blocked"} {
		at, ok := events[outcome]
		switch {
		case ok && len(events) == 1:
			return words[outcome]
		case ok:
			parts = append(parts, words[outcome]+" at "+at)
		}
	}
	return strings.Join(parts, "; ")
}

func (s *screen) findings(list []doctor.Finding, home string) {
	for _, f := range list {
		label := "wrong"
		if s.label = red; f.Level == doctor.Warning {
			label, s.label = "note", yellow
		}
		text := f.Msg
		if at := inHome(f.File, home); f.Line > 0 {
			text = fmt.Sprintf("%s:%d: %s", at, f.Line, text)
		} else if at != "" {
			text = at + ": " + text
		}
		s.text(label, text)
		if f.Hint != "" {
			s.text("", "to do: "+f.Hint)
		}
	}
	s.label = dim
}

// inHome writes a path in the home directory with ~.
func inHome(name, home string) string {
	if rest, ok := strings.CutPrefix(name, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return name
}

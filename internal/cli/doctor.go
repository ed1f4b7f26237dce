package cli

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/builtin"
	"github.com/obstat/obstat/internal/doctor"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/hook"
	inforce "github.com/obstat/obstat/policy"
)

// doctorOptions are the options of obstat doctor.
type doctorOptions struct {
	*Factory
	Agents []string
	Dir    string
	Getenv func(string) string
}

func newDoctor(f *Factory) *cobra.Command {
	o := &doctorOptions{Factory: f, Getenv: os.Getenv}
	cmd := command("doctor", some(0, -1), func(ctx context.Context, args []string) error {
		o.Agents = args
		for _, name := range args {
			if a := agent.Of(name); a == nil || !a.Installable() {
				return usagef("there is nothing known about an agent %q; the agents are %s", name, strings.Join(installable(), ", "))
			}
		}
		return doctorRun(ctx, o)
	})
	takesAgents(cmd, installable())
	cmd.Flags().StringVarP(&o.Dir, "dir", "C", "", "the project's `directory` (default: the current one)")
	return cmd
}

// doctorJSON is the output of --json.
type doctorJSON struct {
	V  int  `json:"v"`
	OK bool `json:"ok"`
	*doctor.Report
}

func doctorRun(ctx context.Context, o *doctorOptions) error {
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
	opts := &doctor.Options{Where: &agent.Where{Home: home, Projects: []string{dir}, Getenv: o.Getenv}, Agents: o.Agents, Dir: dir, Env: o.Getenv,
		Self: selfBinary(), Inspect: inspect, Deadline: hook.Longest,
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
				if p.Dialect.Name() != builtin.Name {
					out = append(out, p.Loaded)
				}
			}
			return out, f.Err()
		}}
	if dir == home {
		opts.Where.Projects = nil
	}
	r := doctor.Examine(ctx, opts)
	code := ExitOK
	if !r.OK() {
		code = ExitError
	}
	if o.jsonFlag {
		if r.Agents == nil {
			r.Agents = []*doctor.Agent{}
		}
		return errors.Join(writeJSON(o.IO.Out, doctorJSON{explain.Version, r.OK(), r}), done(code))
	}
	(&doctorScreen{io: o.IO, home: home}).print(r)
	return done(code)
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
	case ctx.Err() != nil: // what is printed by then is lost with every agent
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

// inspect reads the build information in a program file; the program is not run.
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

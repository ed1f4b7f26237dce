package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/face/hook"
	inforce "github.com/obstat/obstat/policy"
)

// hookOptions are the options of obstat hook.
type hookOptions struct {
	*Factory
	Agent       string
	Policy      policyOptions
	Interactive bool // of entries of older versions; it changes nothing
	Remember    bool
	Ledger      string
	Wait        string
	Server      string
	Deadline    time.Duration
	Serve       bool
	Getenv      func(string) string
}

func newHook(f *Factory) *cobra.Command {
	o := &hookOptions{Factory: f, Getenv: os.Getenv}
	cmd := command("hook", some(0, 1), func(_ context.Context, args []string) error { return hookRun(o, args) })
	takesAgents(cmd, agent.Agents())
	o.flags(cmd)
	return cmd
}

func (o *hookOptions) flags(cmd *cobra.Command) {
	o.Policy.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Interactive, "interactive", false, "changes nothing any more")
	_ = cmd.Flags().MarkHidden("interactive") // the flag is there
	cmd.Flags().BoolVar(&o.Remember, "remember", false, "have the agent remember what was granted, too, where it can: Claude Code")
	cmd.Flags().StringVar(&o.Ledger, "ledger", "on", "whether decisions are written down: `on` or off")
	cmd.Flags().StringVar(&o.Wait, "wait", "auto", "wait for an answer in obstat ask: `auto`, off, or how long")
	cmd.Flags().StringVar(&o.Server, "server", "", "`URL` of the server that this machine has joined: decide by its policy, ask the people there")
	cmd.Flags().DurationVar(&o.Deadline, "deadline", hook.DefaultDeadline, "deny what takes longer; agents run the call when their hook is late")
	cmd.Flags().BoolVar(&o.Serve, "serve", false, "answer calls until the input ends, a line each: NUMBER CALL, answered by NUMBER CODE REPLY")
	complete(cmd, "ledger", "on", "off")
}

// hookMemory is how much memory the hook of one call takes before it collects any. With Go's
// default a command of 64 kB spent a third of its time in collections.
const hookMemory = 36 << 20

// hookMain runs obstat hook without the other commands: a mistake in its
// arguments has to be a denial, too, and its start is paid for on every call. So
// the command itself, with its help, is made only where there is a mistake, or
// help is wanted.
func hookMain(f *Factory, args []string) ExitCode {
	if !slices.Contains(args, "--serve") { // one call, and then the process is gone
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(hookMemory)
	}
	o, flags := &hookOptions{Factory: f, Getenv: os.Getenv}, new(cobra.Command)
	o.flags(flags)
	var err error
	helped := false
	if flags.Flags().Parse(args) == nil && flags.Flags().NArg() <= 1 {
		err = hookRun(o, flags.Flags().Args())
	} else {
		cmd := newHook(f)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "obstat hook"}
		cmd.SetArgs(args)
		cmd.SetOut(f.IO.Err) // --help is nothing for an agent to read
		cmd.SetErr(f.IO.Err)
		err = cmd.Execute()
		helped = cmd.Flags().Changed("help")
	}
	code, isExit := err.(exit)
	switch {
	case err == nil && helped && !f.IO.InTTY:
		return ExitDeny // an agent gets no answer from this, and would run the call
	case err == nil:
		return ExitOK
	case isExit:
		return ExitCode(code)
	}
	return calledWrongly(f, args, err)
}

// calledWrongly denies, in the form of the agent that the arguments name: not
// all of them honour an exit code.
func calledWrongly(f *Factory, args []string, err error) ExitCode {
	i := slices.IndexFunc(args, func(a string) bool { return slices.Contains(agent.Agents(), a) })
	if i < 0 {
		fmt.Fprintf(f.IO.Err, "obstat hook: denied, since it was called wrongly: %s\n", visible(err.Error()))
		return ExitDeny
	}
	r := (&agent.Event{Agent: args[i]}).Refuse("obstat hook was called wrongly: " + visible(err.Error()))
	_, _ = f.IO.Err.Write(r.Stderr)
	if _, err := f.IO.Out.Write(r.Stdout); err != nil {
		return ExitDeny
	}
	return ExitCode(r.Exit)
}

func hookRun(o *hookOptions, args []string) error {
	if len(args) > 0 {
		o.Agent = args[0]
	}
	if o.Ledger != "on" && o.Ledger != "off" {
		return usagef("--ledger takes on or off, not %q", o.Ledger)
	}
	run, err := o.run()
	if err != nil {
		return err
	}
	if o.Serve {
		if o.Agent == "" {
			return usagef("--serve takes the name of the agent, as in obstat hook opencode --serve")
		}
		return done(ExitCode(hook.Serve(run)))
	}
	return done(ExitCode(hook.Run(run)))
}

// noWait is the variable by which obstat doctor says that no person is to be
// asked about its canaries: what asks is denied at once.
const noWait = "OBSTAT_WAIT"

// run returns the hook's options.
func (o *hookOptions) run() (*hook.Options, error) {
	opts, err := o.Policy.options()
	if err != nil {
		return nil, err
	}
	w, err := hook.ParseWaiting(o.Wait)
	if err != nil {
		return nil, usagef("%s", err)
	}
	if o.Getenv(noWait) == "off" {
		w = hook.Waiting{Off: true}
	}
	f := o.Factory
	run := hook.System(&hook.Options{Agent: o.Agent, Deadline: o.Deadline, NoLedger: o.Ledger == "off", Remember: o.Remember,
		Waiting: w, Server: o.Server, Notify: hook.Desktop(o.Getenv), Dir: o.Policy.Dir,
		Policy: inforce.Named{Files: o.Policy.Files, Dialect: o.Policy.Dialect, Options: opts}})
	run.In, run.Out, run.Err, run.Getenv, run.Getwd, run.World = f.IO.In, f.IO.Out, f.IO.Err, o.Getenv, os.Getwd, f.World
	return run, nil
}

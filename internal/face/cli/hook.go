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
)

// hookOptions are the options of obstat hook.
type hookOptions struct {
	*Factory
	Agent       string
	Policy      policyOptions
	Interactive bool          `flag:"interactive"` // of entries of older versions; it changes nothing
	Remember    bool          `flag:"remember"`
	Ledger      string        `flag:"ledger" words:"on off"`
	Mask        string        `flag:"mask" words:"on off"`
	Wait        string        `flag:"wait"`
	Server      string        `flag:"server"`
	Deadline    time.Duration `flag:"deadline"`
	Serve       bool          `flag:"serve"`
	Getenv      func(string) string
}

func newHook(f *Factory) *cobra.Command {
	o := newHookOptions(f)
	cmd := takesAgents(command("hook", some(0, 1), o, o.run), agent.Agents())
	_ = cmd.Flags().MarkHidden("interactive") // the flag is there
	return cmd
}

func newHookOptions(f *Factory) *hookOptions {
	return &hookOptions{Factory: f, Ledger: "on", Mask: "on",
		Wait: "auto", Deadline: hook.DefaultDeadline, Getenv: os.Getenv}
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
	o, flags := newHookOptions(f), new(cobra.Command)
	_, _, listed, _, _ := helpOf("hook")
	bind(flags, listed, o)
	var err error
	helped := false
	if flags.Flags().Parse(args) == nil && flags.Flags().NArg() <= 1 {
		err = o.run(context.Background(), flags.Flags().Args())
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

func (o *hookOptions) run(_ context.Context, args []string) error {
	if len(args) > 0 {
		o.Agent = args[0]
	}
	if o.Ledger != "on" && o.Ledger != "off" {
		return usagef("--ledger takes on or off, not %q", o.Ledger)
	}
	if o.Mask != "on" && o.Mask != "off" {
		return usagef("--mask takes on or off, not %q", o.Mask)
	}
	run, err := o.options()
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
// asked about its canaries: an ask is denied at once.
const noWait = "OBSTAT_WAIT"

// waiting reads --wait.
func waiting(text string, getenv func(string) string) (hook.Waiting, error) {
	w, err := hook.ParseWaiting(text)
	if err != nil {
		return w, usagef("%s", err)
	}
	if getenv(noWait) == "off" {
		w = hook.Waiting{Off: true}
	}
	return w, nil
}

// options returns the hook's options.
func (o *hookOptions) options() (*hook.Options, error) {
	named, err := o.Policy.named()
	if err != nil {
		return nil, err
	}
	w, err := waiting(o.Wait, o.Getenv)
	if err != nil {
		return nil, err
	}
	f := o.Factory
	run := hook.System(&hook.Options{Agent: o.Agent, Deadline: o.Deadline,
		NoLedger: o.Ledger == "off", NoMask: o.Mask == "off",
		Remember: o.Remember,
		Waiting:  w, Server: o.Server, Notify: hook.Desktop(o.Getenv), Dir: o.Policy.Dir,
		Policy: named})
	run.In, run.Out, run.Err, run.Getenv, run.Getwd, run.World = f.IO.In, f.IO.Out, f.IO.Err, o.Getenv, os.Getwd, f.World
	return run, nil
}

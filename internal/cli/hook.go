package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/hook"
)

// hookOptions are the options of obstat hook.
type hookOptions struct {
	Factory     *Factory
	Agent       string
	Policy      policyOptions
	Interactive bool
	Deadline    time.Duration
	Getenv      func(string) string
}

// maxPayload bounds what an agent may send.
const maxPayload = 10 << 20

func newHook(f *Factory, runF func(*hookOptions) error) *cobra.Command {
	o := &hookOptions{Factory: f, Getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "hook [flags] [AGENT]",
		Short: "Answer an agent's hook: a call on standard input, the answer in the agent's own form",
		Long: `Answer an agent's hook. The agent writes the call to standard input; the answer
goes to standard output, standard error and the exit code, in the form that this
agent honours. Who asks is told by what is sent, also where AGENT says otherwise.

Whatever goes wrong is a denial: a call that cannot be read, a policy that does
not load, a panic, more time than --deadline.

The policy is the one of the project that the call is made in. Where there are
several, obstat.json counts, then the agent's own. Without --interactive, agents
that would wait for ever for an answer that nobody gives are told deny instead of
ask.

The agents are ` + strings.Join(hook.Agents(), ", ") + `.`,
		Example: `  obstat hook claude-code < payload.json
  obstat hook --policy ~/policy.json codex`,
		Args: some(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Agent = args[0]
			}
			if runF != nil {
				return runF(o)
			}
			return hookRun(o)
		},
	}
	o.Policy.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Interactive, "interactive", false, "somebody sits at the agent and can be asked")
	cmd.Flags().DurationVar(&o.Deadline, "deadline", 20*time.Second, "deny what takes longer; agents run the call when their hook is late")
	return cmd
}

// hookMain runs obstat hook without the other commands: a mistake in its
// arguments has to be a denial, too, and its start is paid for on every call.
func hookMain(f *Factory, args []string) ExitCode {
	cmd := newHook(f, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(f.IO.Err) // --help is nothing for an agent to read
	cmd.SetErr(f.IO.Err)
	err := cmd.Execute()
	code, isExit := err.(exit)
	switch {
	case err == nil:
		return ExitOK
	case isExit:
		return ExitCode(code)
	}
	fmt.Fprintf(f.IO.Err, "obstat hook: denied, since it was called wrongly: %s\n", visible(err.Error()))
	return ExitDeny
}

func hookRun(o *hookOptions) error {
	var event atomic.Pointer[hook.Event]
	event.Store(&hook.Event{Agent: o.Agent})
	answers := make(chan hook.Reply, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				answers <- event.Load().Refuse(fmt.Sprintf("something in obstat is broken: %v", r))
			}
		}()
		answers <- o.answer(&event)
	}()
	var r hook.Reply
	select {
	case r = <-answers:
	case <-time.After(o.Deadline):
		r = event.Load().Refuse(fmt.Sprintf("it took longer than %s; nobody has refused it", o.Deadline))
	}
	return o.write(r)
}

// write prints the reply. An agent that reads half of it may take it for an
// allow, so that what cannot be written whole is a denial by exit code.
func (o *hookOptions) write(r hook.Reply) error {
	s := o.Factory.IO
	if len(r.Stderr) > 0 {
		_, _ = s.Err.Write(r.Stderr)
	}
	if len(r.Stdout) > 0 {
		if _, err := s.Out.Write(r.Stdout); err != nil {
			fmt.Fprintf(s.Err, "obstat: the answer could not be written: %v\n", err)
			return exit(ExitDeny)
		}
	}
	return done(ExitCode(r.Exit))
}

// answer reads, decides and encodes; event is what is known of the caller so
// far.
func (o *hookOptions) answer(event *atomic.Pointer[hook.Event]) hook.Reply {
	data, err := io.ReadAll(io.LimitReader(o.Factory.IO.In, maxPayload+1))
	if err == nil && len(data) > maxPayload {
		err = fmt.Errorf("the call is larger than %d bytes", maxPayload)
		data = nil
	}
	e, bad := hook.Decode(o.Agent, data, o.Getenv)
	event.Store(e)
	switch {
	case err != nil:
		return e.Refuse(err.Error())
	case bad != nil:
		return e.Refuse(bad.Error())
	case e.Call == nil:
		return e.Encode(&obstat.Decision{}, nil)
	}
	d := o.decide(e)
	return e.Encode(&d, &hook.Options{Interactive: o.Interactive})
}

// decide answers the call by the policies of its project and of the directory
// that the agent started the hook in: a call can choose where it is made, so
// the stricter of the two counts.
func (o *hookOptions) decide(e *hook.Event) obstat.Decision {
	var out *obstat.Decision
	policies, err := o.policies(e)
	if err != nil {
		return obstat.Decision{Tool: e.Call.Tool, Faults: []obstat.Fault{{Msg: "the policy cannot be loaded: " + firstProblem(err)}}}
	}
	for _, p := range policies {
		call := *e.Call
		if _, has := p.Program.Pipelines[call.Mode]; !has || e.Agent != hook.ClaudeCode {
			call.Mode = "" // another agent's word is no mode of this policy
		}
		if d := p.Policy.Decide(&call, o.Factory.World); out == nil || d.Verdict < out.Verdict {
			out = &d
		}
	}
	if out == nil {
		return obstat.Decision{Verdict: obstat.Ask, Tool: e.Call.Tool, Stage: "no policy",
			Note: "there is no policy for " + e.Call.Dir + "; write an obstat.json there, or name one with --policy"}
	}
	o.protect(e.Call, policies, out)
	return *out
}

// firstProblem returns the first line of an error.
func firstProblem(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

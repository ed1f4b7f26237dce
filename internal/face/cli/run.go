package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/shell"
	"github.com/obstat/obstat/store"
)

// exitNotStarted is the exit code where a confined command was not started, as other programs that
// run one have it.
const exitNotStarted ExitCode = 125

// exitRefused is the exit code where a command ended well and changes of it do not count; sysexits(3) has it for
// a permission that is missing.
const exitRefused ExitCode = 77

// runOptions are the options of obstat run.
type runOptions struct {
	*Factory
	Policy  policyOptions
	Roots   []string `flag:"root"`
	Agent   string   `flag:"agent"`
	Command string   `flag:"command c"`
	Ticket  string   `flag:"ticket"`
	Server  string   `flag:"server"`
	Where   string   `flag:"where"`
	Explain bool     `flag:"explain"`
	Stop    bool     `flag:"stop"`
	Left    bool     `flag:"left"`
	Getenv  func(string) string
}

func newRun(f *Factory) *cobra.Command {
	o := &runOptions{Factory: f, Getenv: os.Getenv}
	cmd := command("run", nil, o, func(ctx context.Context, args []string) error { return runRun(ctx, o, args) })
	cmd.Flags().SetInterspersed(false) // flags behind the command are its own
	return cmd
}

func runRun(ctx context.Context, o *runOptions, args []string) error {
	state, err := statedir.Dir(o.Getenv)
	if err != nil {
		return err
	}
	if o.Command == "" {
		o.Command = shellText(args)
	} else if len(args) > 0 {
		return usagef("give --command or COMMAND, not both")
	}
	switch {
	case o.Where != "":
		return o.where(state)
	case o.Stop:
		return o.stop(state)
	case o.Left:
		return o.left(state)
	case o.Command == "":
		return usagef("name a COMMAND")
	case o.Ticket != "":
		return o.spend(ctx, state)
	}
	return o.byHand(ctx, state)
}

// shellText returns arguments as one text for the shell; one alone is such a text.
func shellText(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shell.Quote(arg)
	}
	return strings.Join(words, " ")
}

// where prints the directory that a command ended in, or the current one.
func (o *runOptions) where(state string) error {
	dir := confined.Took(state, o.Where)
	if dir == "" {
		dir, _ = os.Getwd() // an empty line leaves the shell where it is
	}
	_, err := fmt.Fprintln(o.IO.Out, dir)
	return err
}

// leftJSON is the output of `obstat run --left --json`.
type leftJSON struct {
	V    int            `json:"v"`
	Left []confine.Kept `json:"left"`
}

func leftBehind(state string) (out []confine.Kept, dirs []string, err error) {
	dirs, err = confined.Sessions(state)
	for _, dir := range dirs {
		list, lerr := confine.Left(dir)
		if errors.Is(lerr, confine.ErrUnsupported) {
			return nil, nil, nil
		}
		out, err = append(out, list...), errors.Join(err, lerr)
	}
	return out, dirs, err
}

func (o *runOptions) left(state string) error {
	list, _, err := leftBehind(state)
	if err != nil {
		return err
	}
	return o.show(leftJSON{1, append([]confine.Kept{}, list...)}, func(s *screen) { s.kept(list) })
}

// kept lists confined commands in the background.
func (s *screen) kept(list []confine.Kept) {
	for _, k := range list {
		what := strings.Join(k.Args[min(2, len(k.Args)):], " ")
		text := fmt.Sprintf("%s, since %s", what, k.Since.Local().Format(time.DateTime))
		if len(k.Ports) > 0 {
			text += fmt.Sprintf(", on ports %v", k.Ports)
		}
		s.text("runs", visible(text)+" (obstat run --stop ends it)")
	}
}

func (o *runOptions) stop(state string) error {
	_, dirs, err := leftBehind(state)
	for _, dir := range dirs {
		err = errors.Join(err, confine.Stop(dir))
	}
	return err
}

// byHand runs a command that a person names.
func (o *runOptions) byHand(ctx context.Context, state string) error {
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	defer p.close()
	g, call, b, err := o.bounds(ctx, p)
	switch {
	case err != nil:
		return err
	case o.Explain:
		return o.explain(b)
	}
	return o.start(ctx, g, call, &confined.Run{Command: o.Command, Dir: p.Dir, Bounds: b, State: state}, nil)
}

// bounds returns what a command that a person names is held to.
func (o *runOptions) bounds(ctx context.Context, p *loaded) (*gate.Gate, *obstat.Call, *confined.Bounds, error) {
	call := &obstat.Call{Tool: "Bash", Agent: o.Agent, Dir: p.Dir, Roots: o.Roots, Session: "by hand"}
	if len(call.Roots) == 0 {
		call.Roots = []string{p.Dir}
	}
	var err error
	if call.Input, err = json.Marshal(map[string]string{"command": o.Command}); err != nil {
		return nil, nil, nil, err
	}
	state, _ := statedir.Dir(os.Getenv) // "" remembers nothing
	g, err := gate.Open(ctx, gate.Options{Policy: p, World: o.World, NoStart: true,
		Confine: &gate.Confining{Machine: confined.Machine(state)}})
	if err != nil {
		return nil, nil, nil, err
	}
	var d obstat.Decision
	var b *confined.Bounds
	if o.Server != "" {
		call.Session = "server " + o.Server
		d, b, err = g.ServerBounds(ctx, call, o.Server)
	} else {
		d, b, err = g.Bounds(ctx, call)
	}
	switch {
	case d.Verdict == obstat.Deny:
		fmt.Fprintf(o.IO.Err, "obstat: denied: %s\n", visible(d.Reason()))
		err = exit(exitNotStarted)
	case err != nil:
		err = o.notStarted(err)
	}
	return g, call, b, err
}

func (o *runOptions) notStarted(err error) error {
	fmt.Fprintf(o.IO.Err, "obstat: the command was not started: it cannot run confined: %s\n", visible(err.Error()))
	return exit(exitNotStarted)
}

// boundsJSON is the output of `obstat run --explain --json`.
type boundsJSON struct {
	V      int    `json:"v"`
	Digest string `json:"digest"`
	confined.Bounds
}

func (o *runOptions) explain(b *confined.Bounds) error {
	out := boundsJSON{1, b.Profile.Digest(), *b}
	return o.show(out, func(s *screen) {
		for line := range strings.Lines(b.Profile.String()) {
			s.sentence(strings.TrimSuffix(line, "\n"))
		}
		for _, f := range b.Registries {
			s.sentence(fmt.Sprintf("The registry %s:%d is named by %s.", f.Host, f.Port, f.From))
		}
		for _, gap := range confine.Gaps(b.Profile) {
			s.sentence("Not enforced: " + gap.String() + ".")
		}
		if b.Stays {
			s.sentence("It may stay in the background.")
		}
	})
}

// sentence writes a line; on a terminal its rest stands indented below it, and elsewhere it stays one line, for grep.
func (s *screen) sentence(text string) {
	lines := []string{visible(text)}
	if s.io.OutTTY {
		lines = wrap(lines[0], s.width-2)
	}
	s.printf("%s\n", strings.Join(lines, "\n  "))
}

// spend runs the command of a ticket.
func (o *runOptions) spend(ctx context.Context, state string) error {
	dir, err := os.Getwd()
	if err != nil {
		return o.notStarted(err)
	}
	t, err := confined.Redeem(state, o.Ticket, o.Command, dir, time.Now())
	if err != nil {
		return o.notStarted(err)
	}
	files := &gate.Files{Names: t.Files, Dialect: t.Dialect, Options: t.Options, Start: dir, Agent: t.Call.Agent,
		Getenv: o.Getenv}
	files.Home, _ = o.World.Home("")
	if a := agent.Of(t.Call.Agent); a != nil {
		files.Chosen = a.ModelDir
	}
	if under := (person.Above{PID: t.PID, Started: t.Started}); !under.Has() {
		return o.notStarted(confined.ErrSession)
	}
	opts := gate.Options{Policy: files, World: o.World, Getenv: o.Getenv, NoStart: true}
	defer o.asks(&opts, state)()
	g, err := gate.Open(ctx, opts)
	if err != nil {
		return o.notStarted(err)
	}
	r := &confined.Run{Command: t.Command, Dir: dir, Bounds: &t.Bounds, State: state, Ticket: o.Ticket}
	return o.start(ctx, g, &t.Call, r, t)
}

// start runs a command, tells what was refused and returns its exit code.
func (o *runOptions) start(ctx context.Context, g *gate.Gate, call *obstat.Call, r *confined.Run,
	t *confined.Ticket) error {
	if err := o.settle(); err != nil {
		return o.notStarted(err)
	}
	keep, stop := o.prepare(ctx, g, call, r)
	defer stop()
	asker := &runAsker{gate: g, call: call}
	if t != nil && r.Bounds.During {
		r.During = func(path string) bool { return asker.file(ctx, path) }
	}
	began := time.Now()
	end, err := r.Do(ctx)
	if end == nil {
		return o.notStarted(err)
	}
	o.keptFor(keep)
	if t != nil {
		if lerr := o.record(r.State, t, end, keep.Surprises, time.Since(began)); lerr != nil {
			fmt.Fprintf(o.IO.Err, "obstat: the run could not be written down: %v\n", lerr)
		}
	}
	if err != nil {
		fmt.Fprintf(o.IO.Err, "obstat: %s\n", visible(err.Error()))
	}
	o.tell(end, t == nil)
	if t != nil && len(end.Told) > 0 && deskTaken(r.State) {
		o.offerAgain(asker.again(ctx, end.Told))
	}
	if end.Exit == 0 && end.Lost > 0 {
		return exit(exitRefused)
	}
	return done(ExitCode(end.Exit))
}

// prepare gives a run its terminal, its judges and what keeps its changes; stop ends passing signals on.
func (o *runOptions) prepare(ctx context.Context, g *gate.Gate, call *obstat.Call, r *confined.Run) (
	keep *undo.Run, stop func()) {
	limits, analysis := g.Judges(ctx, call, r)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	r.Signals = signals
	r.Session = confined.SessionDir(r.State, confined.SessionOf(call))
	r.Environ = os.Environ()
	r.Stdin, r.Stdout, r.Stderr = o.IO.In, o.IO.Out, o.IO.Err
	keep = &undo.Run{Getenv: o.Getenv, Call: call, Reason: "it ran confined", Root: r.Bounds.Root,
		Limits: limits, Analysis: analysis}
	keep.Secret = func(path string) bool {
		d := r.Ask(obstat.FaceRead, path)
		return d.Verdict != obstat.Allow
	}
	r.Before = keep.Before
	return keep, func() { signal.Stop(signals) }
}

// keptFor notes what the changed paths have become, and says so where undo will not know.
func (o *runOptions) keptFor(keep *undo.Run) {
	if err := keep.After(); err != nil {
		fmt.Fprintf(o.IO.Err, "obstat: what it changed could not be kept for undo: %s\n", visible(err.Error()))
	}
}

// tell says what the command did not get, and by hand at which level it ran.
func (o *runOptions) tell(end *confined.Ended, all bool) {
	say := func(format string, args ...any) { fmt.Fprintf(o.IO.Err, "obstat: "+format+"\n", args...) }
	if all {
		say("ran confined at level %s", end.Level)
	}
	if lost := confined.Abandoned(end); lost != "" {
		say("an earlier confined run was killed, and its changes do not count: %s", visible(lost))
	}
	for i := range end.Told {
		say("%s", visible(end.Told[i].String()))
	}
	if end.More > 0 {
		say("and %d more were refused", end.More)
	}
	if end.Stayed > 0 {
		say("%d temporary files that it deleted were not its own, and stay", end.Stayed)
	}
	for _, dir := range end.Private {
		say("%s was its own: there are too many files in the real one to ask the policy about; it is as it was", visible(dir))
	}
	if end.Lost > 0 {
		code := ""
		if end.Exit == 0 {
			code = fmt.Sprintf("; the exit code is %d instead of 0", exitRefused)
		}
		say("not counted: %s of this command%s", plural(end.Lost, "change"), code)
	}
	if len(end.Told) > 0 {
		say("it ran confined to what the policy allows: do not work around a refusal. A person can allow it with a rule; " +
			"then run it again")
	}
	for _, kept := range end.Kept {
		say("it %s", visible(kept))
	}
	if len(end.Kept) > 0 && end.Exit != 0 {
		say("if it failed over one of these, that is why")
	}
	if end.Ended != "" {
		say("it was ended: %s", visible(end.Ended))
	}
	if end.Left > 0 {
		say("left in the background, confined: %d; obstat run --left lists, obstat run --stop ends them", end.Left)
	}
}

// ranJSON is the detail of the record of a confined run.
type ranJSON struct {
	Level   confine.Level      `json:"level"`
	Profile string             `json:"profile"`
	Exit    int                `json:"exit"`
	Refused []confined.Refused `json:"refused,omitempty"`
	Gaps    []string           `json:"not_enforced,omitempty"`
	Left    int                `json:"left,omitempty"`
	// Unpredicted are paths that it changed and that were not known before.
	Unpredicted []undo.Surprise `json:"unpredicted,omitempty"`
}

// ranText says in a line how a confined run ended: `ran confined at level full; refused: connect example.org`.
func ranText(end *confined.Ended) string {
	text := fmt.Sprintf("ran confined at level %s", end.Level)
	const most = 3
	for i := range end.Told[:min(len(end.Told), most)] {
		text += []string{"; refused: ", ", ", ", "}[i] + end.Told[i].Kind + " " + end.Told[i].What
	}
	if more := len(end.Told) + end.More - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	for i, gap := range end.Gaps {
		text += map[bool]string{true: "; not enforced: ", false: ", "}[i == 0] + gap.What
	}
	return text
}

// record writes down how a confined run ended.
func (o *runOptions) record(state string, t *confined.Ticket, end *confined.Ended, surprises []undo.Surprise,
	took time.Duration) error {
	more := ranJSON{Level: end.Level, Profile: t.Bounds.Profile.Digest(), Exit: end.Exit, Refused: end.Told,
		Left: end.Left, Unpredicted: surprises}
	for _, gap := range end.Gaps {
		more.Gaps = append(more.Gaps, gap.String())
	}
	detail, err := json.Marshal(map[string]any{"confined": more})
	if err != nil {
		return err
	}
	c := &t.Call
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Outcome, Agent: c.Agent, Session: c.Session, User: c.User,
		Dir: c.Dir, Tool: c.Tool, Call: t.Digest, Policy: t.Policy, Verdict: "ran", Detail: detail, Nanos: took.Nanoseconds(),
		Reason: ranText(end)}
	log, err := store.Log(statedir.Store(state), o.Getenv)
	if err != nil {
		return err
	}
	ctx := context.Background()
	return errors.Join(log.Append(ctx, rec), log.Close())
}

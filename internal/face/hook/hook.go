// Package hook is the face of the gate that agents start for every call: it reads
// the call that an agent writes to standard input, puts it to a gate and answers
// in the agent's own form.
//
// It owns that every way this can go wrong ends in a denial, and before the
// agent stops waiting: nearly all agents run the call when their hook fails. The
// gate decides, asks and records; the protocols are package agent's.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/desk"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
	"github.com/obstat/obstat/store"
)

// Exit codes, as `obstat hook` has them.
const (
	ExitOK   = 0
	ExitDeny = 2
)

// DefaultDeadline is how long a hook takes at most: less than agents are told
// to wait for it.
const DefaultDeadline = 20 * time.Second

// Options are the surroundings of a hook. The zero value of each is safe.
type Options struct {
	Agent string // according to the caller; "" is told by the payload
	// Policy is the policy that a person has named, and Dir the project, if any.
	Policy   policy.Named
	Dir      string
	Deadline time.Duration // zero is [DefaultDeadline]
	// NoLedger leaves decisions unrecorded.
	NoLedger bool
	// NoMask lets the model see the secrets that tools print.
	NoMask bool
	// Remember has an agent that can remember grants do so, too.
	Remember bool
	Waiting  Waiting
	// Server is the URL of the server that this machine has joined: its policy counts,
	// asks and records go to it. "" works alone.
	Server string
	// Notify shows a notification that there is something to answer; nil shows none.
	Notify func(title, text string)

	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Getwd    func() (string, error)
	World    obstat.World
	Exe      string // where this program is, "" if that is not known
	// Exit ends the process when the time is up while something still runs.
	Exit func(code int)

	// files finds the policies of all calls of a process that stays; nil: of one alone.
	files *gate.Files
	// repeats counts equal calls in a row, of all calls of a process that stays.
	repeats *gate.Repeats

	// These are for tests; nil is [store.Open], [desk.Taken] and the hooks' ledger.
	open   func(ctx context.Context, db string) (store.Store, error)
	taken  func(db string) bool
	ledger ledger.Appender
	// machine tells the level of the machine; nil is [confined.Machine].
	machine func(context.Context) confine.Report
	// started returns the agent's command line; nil reads the processes above.
	started func() []string
	NoPins  bool
}

// maxPayload bounds an agent's payload.
const maxPayload = 10 << 20

// A run is one hook at work.
type run struct {
	Options

	began time.Time
	timer *time.Timer

	mu       sync.Mutex
	answered bool
	event    *agent.Event
	deadline time.Duration
}

// A reply goes to the agent. asItIs: the call is allowed, unchanged.
type reply struct {
	agent.Reply
	asItIs bool
}

// Run answers one call and returns the exit code.
func Run(o *Options) int { return newRun(o).run() }

func newRun(o *Options) *run {
	r := &run{Options: *o}
	if r.open == nil {
		r.open = store.Open
	}
	if r.taken == nil {
		r.taken = desk.Taken
	}
	if r.started == nil {
		r.started = func() []string { return startedBy(os.Getppid()) }
	}
	return r
}

func (r *run) run() int {
	code, mine := r.once()
	if !mine {
		select {} // the timer's answer is on its way, and ends the process
	}
	return code
}

// once answers the call; mine is false where the time was up, and that was the answer.
func (r *run) once() (code int, mine bool) {
	r.event, r.began, r.deadline = &agent.Event{Agent: r.Agent}, time.Now(), r.Deadline
	if r.deadline <= 0 {
		r.deadline = DefaultDeadline
	}
	// A timer and no second goroutine: starting one more thread is a good part
	// of a hook's cost.
	r.timer = time.AfterFunc(r.deadline, func() {
		if code, mine := r.write(reply{Reply: r.refuse("")}); mine {
			r.recordLate()
			r.Exit(code)
		}
	})
	defer r.timer.Stop()
	return r.write(r.guarded())
}

// guarded answers, and makes a denial of a panic.
func (r *run) guarded() (out reply) {
	defer func() {
		if p := recover(); p != nil {
			why := fmt.Sprintf("something in obstat is broken: %v", p)
			r.record(why)
			out = reply{Reply: r.refuse(why)}
		}
	}()
	return r.answer()
}

// is remembers whom to answer.
func (r *run) is(e *agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event = e
}

// refuse denies; without a reason, it is that the time is up.
func (r *run) refuse(why string) agent.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == "" {
		why = fmt.Sprintf("it took longer than %s; nobody has refused it", r.deadline)
	}
	return r.event.Refuse(why)
}

// write prints the reply, if none was printed before. An agent that reads half
// of it may take it for an allow, so that one that cannot be written whole is a
// denial by exit code.
func (r *run) write(out reply) (code int, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return 0, false
	}
	r.answered = true
	if len(out.Stderr) > 0 {
		_, _ = r.Err.Write(out.Stderr)
	}
	if len(out.Stdout) > 0 {
		switch err := say(r.Out, out.Stdout); {
		case err == errNobody && out.asItIs && out.Exit == ExitOK:
			// The exit code says no less.
		case err != nil:
			fmt.Fprintf(r.Err, "obstat: the answer could not be written: %v\n", err)
			return ExitDeny, true
		}
	}
	return out.Exit, true
}

var errNobody = errors.New("nobody reads it")

// say writes an answer, unless it would be lost.
func say(w io.Writer, text []byte) error {
	if f, ok := w.(*os.File); ok && !heard(f) {
		return errNobody
	}
	_, err := w.Write(text)
	return err
}

// heard tells whether a text that is written to a file may be read. A standard
// output that was closed when the process began leads nowhere by now, and would
// swallow a denial.
func heard(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return err == nil
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(st, null)
}

// read reads the payload.
func (r *run) read() ([]byte, error) {
	buf := make([]byte, 0, 8<<10) // most payloads fit
	for {
		n, err := r.In.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > maxPayload:
			return nil, fmt.Errorf("the call is larger than %d bytes", maxPayload)
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, err
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// answer reads, decides and encodes.
func (r *run) answer() reply {
	data, err := r.read()
	e, bad := agent.Decode(r.Agent, data, r.Getenv)
	r.is(e)
	if err == nil {
		err = bad
	}
	switch {
	case err != nil:
		r.record(err.Error())
		return reply{Reply: e.Refuse(err.Error())}
	case e.Done != nil:
		return reply{Reply: e.Encode(&obstat.Decision{}, r.report(e))}
	case e.Call == nil:
		return reply{Reply: e.Encode(&obstat.Decision{}, nil)}
	case e.Call.Dir != "" && !filepath.IsAbs(e.Call.Dir):
		why := fmt.Sprintf("the working directory %q is none of this machine's", e.Call.Dir)
		r.record(why)
		return reply{Reply: e.Refuse(why)}
	}
	if e.Who().ReadsStart() {
		e.Started = r.started()
	}
	a := (&turn{run: r, event: e}).decide(context.Background())
	o := &agent.Options{Accepted: a.remember, Answered: byPerson(&a.Decision), Shown: a.shown}
	return reply{e.Encode(&a.Decision, o),
		a.Verdict == obstat.Allow && a.Input == nil}
}

// System fills o from the process.
func System(o *Options) *Options {
	o.In, o.Out, o.Err = os.Stdin, os.Stdout, os.Stderr
	o.Getenv, o.Getwd, o.Exit = os.Getenv, os.Getwd, os.Exit
	o.World = obstat.OS{}
	o.Exe, _ = os.Executable() // "" where that is not known
	return o
}

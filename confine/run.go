package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// A Command is a program to be run under a Profile, and the functions that Run calls meanwhile.
type Command struct {
	// Args are the program, found by the PATH it is given, and its arguments.
	Args []string
	// Dir is where it starts; empty means the workspace's root.
	Dir            string
	Stdin          io.Reader // nil reads as empty; an *os.File is handed over as it is
	Stdout, Stderr io.Writer // nil drops; an *os.File is handed over as it is
	// Environ is where Env.Keep takes variables from; nil means the caller's own.
	Environ []string

	// Judge is asked about each change of an overlay workspace; nil drops them all.
	Judge func(Change) Verdict
	// Before is called with all changes once they are judged, before the first counts. It may drop some by their
	// Outcome.
	Before func([]Change)
	// Dial connects to an allowed host (`example.org:443`) in place of the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Ask is called, while the command stands still, for each file that it opens for reading and
	// that the Profile hides or leaves out; true hands it the file. Nil asks nothing. Only
	// openat(2) stands still: a file that is looked at by other calls stays refused.
	Ask func(Opening) bool

	// Signals are passed on to all processes of the run, but for an interrupt that the terminal has sent them
	// already. Those that a request to end (SIGTERM, SIGHUP) has not ended after a moment are killed. The changes that
	// were made until then are judged like all others.
	Signals <-chan os.Signal

	// Keep lets processes that the command leaves behind run on inside Session.
	Keep bool
	// Session is a directory of state shared by runs that reach each other. Required by Keep.
	Session string

	sim simulation
}

// simulation makes a machine look poorer than it is, for tests.
type simulation struct {
	ABI          int  `json:",omitempty"` // Landlock ABI, -1 for none
	NoNamespaces bool `json:",omitempty"`
	NoOverlay    bool `json:",omitempty"`
	MaskedProc   bool `json:",omitempty"`
	Files        bool `json:",omitempty"` // run at level files although the machine has more
	KillCommit   int  `json:",omitempty"` // stop a commit after so many steps
}

// A Result tells how a confined command ended.
type Result struct {
	Level  Level `json:"level"`            // in force during the run
	Exit   int   `json:"exit"`             // its exit status; 128 + the signal that ended it
	Signal int   `json:"signal,omitempty"` // that ended it, if any
	// Ended says why Run ended it: a limit of the Profile, or the caller's context.
	Ended string `json:"ended,omitempty"`
	// Gaps are the things that were not enforced in this run, and why.
	Gaps    []Gap     `json:"gaps,omitempty"`
	Refused []Refusal `json:"refused,omitempty"`
	// Changes are those of an overlay workspace, each with its Outcome.
	Changes []Change `json:"changes,omitempty"`
	// Earlier are changes of runs with the same State that were killed: committed where that had begun, else dropped.
	Earlier []Change `json:"earlier,omitempty"`
	// Appeared are protected names that did not exist when the run began, and exist now, in a
	// tree that is written through.
	Appeared []string `json:"appeared,omitempty"`
	// Left is the number of processes that stayed behind in the Session.
	Left int `json:"left,omitempty"`
}

// A Refusal is a thing that a command tried and did not get.
type Refusal struct {
	Kind string `json:"kind"` // "name" (looked up), "connect", "write", "open"
	Name string `json:"name"`
	// Exact is false where only a notification was seen before the fact: the command *seems* to
	// have been refused.
	Exact bool   `json:"exact"`
	Why   string `json:"why,omitempty"`
}

// An Opening is a file that a command wants to read while it stands still.
type Opening struct {
	Path string // real, without links
	PID  int    // of the process, as the caller sees it
}

// Run runs a command under a Profile and waits for it. The error is about the confinement; how
// the command itself ended is in the Result. Where the error is not nil and Result.Level is
// empty, the command never started.
func Run(ctx context.Context, p Profile, c Command) (Result, error) {
	if err := p.Check(); err != nil {
		return Result{}, err
	}
	if err := c.check(p); err != nil {
		return Result{}, err
	}
	return run(ctx, p, c)
}

func (c Command) check(p Profile) error {
	switch {
	case len(c.Args) == 0 || c.Args[0] == "":
		return errors.New("confine: no program to run")
	case c.Keep && c.Session == "":
		return errors.New("confine: Keep needs a Session")
	case c.Session != "" && !isCleanPath(c.Session):
		return fmt.Errorf("confine: the session %q is not an absolute, clean path", c.Session)
	case c.Keep && p.Workspace.Mode == Overlay:
		return errors.New("confine: an overlay is judged when all is over, so nothing can stay behind; use through")
	case p.Level == LevelNone:
		return errors.New("confine: level none is no confinement")
	}
	return nil
}

// Probe tells the level that this machine gives, by setting one up and ending it again.
func Probe(ctx context.Context) Report { return probe(ctx, simulation{}) }

// Package person tells whether a person stands behind a command that loosens
// something: accepts a policy, answers a request, takes the guard away.
//
// [Here] is the one guard, and every such command of obstat's calls it before it
// writes. It acts for a process at a terminal that no agent's process tree reaches, and
// without a terminal only below [TrustVariable], which counts from the environments
// that the processes above were started with. It answers with a [Who], for the record,
// or a [*Refusal], which says why not and how to go on.
//
// It reads processes and terminals and nothing else: which command loosens, and how
// it shows that before, is its callers' business. Names of agents, their variables, and programs
// that open terminals are in package agent and in known.txt.
package person

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/paths"
)

// TrustVariable names directories in which nothing has to be accepted, for machines
// without a person: `OBSTAT_TRUST=/builds:/srv`.
const TrustVariable = "OBSTAT_TRUST"

// A Who is the person, or the machine's own setting, that an acceptance comes from.
type Who struct {
	User     string `json:"user"`
	Terminal string `json:"terminal,omitempty"` // "pts/3"; "" below Trust
	// Trust is the directory of [TrustVariable] that counted; "" at a terminal.
	Trust   string    `json:"trust,omitempty"`
	Process Process   `json:"process"`
	Parents []Process `json:"parents,omitempty"` // the nearest first
	// Typed: a shell at its prompt started the command, no script, Makefile or hook.
	Typed bool `json:"typed,omitempty"`
}

// A Process is one that was seen.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// Asked returns w for a change that the person has said yes to: it needs no further
// question.
func (w *Who) Asked() *Who {
	out := *w
	out.Typed = true
	return &out
}

// String returns "ann at pts/3 (obstat 812, bash 640, sshd 590)".
func (w *Who) String() string {
	at := "at " + w.Terminal
	if w.Trust != "" {
		at = "below " + TrustVariable + "=" + w.Trust
	}
	var names []string
	for _, p := range append([]Process{w.Process}, w.Parents...) {
		names = append(names, fmt.Sprintf("%s %d", p.Name, p.PID))
	}
	return fmt.Sprintf("%s %s (%s)", w.User, at, strings.Join(names, ", "))
}

// A Reason is why no person was found.
type Reason string

// The reasons.
const (
	ByAgent    Reason = "agent"      // an agent started it
	Orphan     Reason = "orphan"     // the process that started it has ended
	Foreign    Reason = "foreign"    // its terminal was opened by a program that may be an agent's
	NoTerminal Reason = "terminal"   // it has no terminal, or that is closed
	Behind     Reason = "background" // it does not run in the foreground of its terminal
	Later      Reason = "later"      // cron or at runs it
	Unseen     Reason = "unseen"     // its ancestry cannot be read
)

// A Refusal says why nothing is accepted, and how to go on.
type Refusal struct {
	Reason Reason
	Why    string
	Do     string
}

// Error returns why, and how to go on.
func (r *Refusal) Error() string { return r.Why + "; " + r.Do }

// elsewhere tells a person how to go on after a refusal.
const elsewhere = "a person runs it in a terminal of their own; on a machine without one, " + TrustVariable +
	" names the directory in the environment that the machine's own processes are started with"

func refuse(why Reason, format string, args ...any) *Refusal {
	return &Refusal{why, fmt.Sprintf(format, args...), elsewhere}
}

// Here returns the person behind this process, or a [*Refusal]. place is the file or
// directory that is loosened: [TrustVariable] has to name a directory above it.
func Here(place string) (*Who, error) {
	who, no := system().judge(os.Getpid(), place)
	if no != nil {
		return nil, no
	}
	who.User = userName()
	return who, nil
}

// userName returns the name of the user of this process.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}

// Marks returns the variable by which an agent has marked an environment, `CLAUDECODE` of
// `CLAUDECODE=1`; "" for none.
func Marks(environ []string) string {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && known().is(agent.MarkTrait, name) {
			return name
		}
	}
	return ""
}

// Started tells whether a process above this one was started with a value of a variable,
// and by no agent. Variables that an agent adds to its own environment later are not in
// the environment that it was started with. known is false where environments cannot be
// read.
func Started(name, value string) (own, known bool) {
	m := system()
	if !m.reads {
		return false, false
	}
	return m.started(os.Getppid(), name, value)
}

// started is [Started] for a process and those above it. An agent's mark undoes a value that was
// found below it: the agent may have started that with any environment, also one without its mark
// (`env -u CLAUDECODE OBSTAT_TRUST=/ claude`). The first process of a container counts as
// well: it may be the agent.
func (m *machine) started(pid int, name, value string) (own, known bool) {
	chain, _ := m.chain(pid)
	for _, p := range chain {
		own = Marks(p.environ) == "" && (own || slices.Contains(p.environ, name+"="+value))
	}
	return own, len(chain) > 0
}

// Trusts returns the directory of a list, as [TrustVariable] has it, that a place lies in;
// "" for none. place may not be there yet.
func Trusts(list, place string) string {
	if !filepath.IsAbs(place) {
		return ""
	}
	place = resolve(place)
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) && paths.Inside(resolve(filepath.Clean(dir)), place) {
			return dir
		}
	}
	return ""
}

// resolve follows the links of as much of a path as there is.
func resolve(name string) string {
	name = filepath.Clean(name)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if dir := filepath.Dir(name); dir != name {
		return filepath.Join(resolve(dir), filepath.Base(name))
	}
	return name
}

package agent

import (
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// An Invocation is how an agent calls obstat's hook.
type Invocation struct {
	Program string // path of obstat
	// Args are the arguments of `obstat hook`: options, and the agent's name.
	Args []string
}

// oldProgram was a small program beside obstat in the place of `obstat hook`.
// Entries that call it are still recognised, and brought up to date.
const oldProgram = "obstat-hook"

// base returns a program's name without its directory and ending.
func base(program string) string {
	program = strings.TrimSuffix(strings.ReplaceAll(program, `\`, "/"), ".exe")
	return path.Base(program)
}

// Old tells whether the program is one that obstat no longer has.
func (c Invocation) Old() bool { return base(c.Program) == oldProgram }

// Argv returns the words of the command.
func (c Invocation) Argv() []string {
	if c.Old() {
		return append([]string{c.Program}, c.Args...)
	}
	return append([]string{c.Program, "hook"}, c.Args...)
}

// option returns the value of an option, "" if it is not given.
func (c Invocation) option(name string) string {
	for i, arg := range c.Args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			return v
		}
		if arg == name && i+1 < len(c.Args) {
			return c.Args[i+1]
		}
	}
	return ""
}

// with returns the invocation with the options of another in the place of its own
// of the same names.
func (c Invocation) with(other Invocation) Invocation {
	out := Invocation{Program: other.Program}
	for i := 0; i < len(c.Args); i++ {
		name, _, inline := strings.Cut(c.Args[i], "=")
		if !strings.HasPrefix(name, "--") || other.option(name) == "" {
			out.Args = append(out.Args, c.Args[i])
		} else if !inline {
			i++
		}
	}
	out.Args = append(slices.Clone(other.Args[:len(other.Args)-1]), out.Args...)
	return out
}

// A guard is the shell text around the command by which a program that is missing
// or dies denies, too: most agents run the call then.
type guard uint8

const (
	guardNone   guard = iota
	guardSuffix       // the agent runs the command with a POSIX shell
	guardShell        // it may be any shell
)

const (
	onFailure = ` || { [ $? = 2 ] || echo obstat did not answer >&2; exit 2; }`
	// onMissing is onFailure for a program that is looked for on PATH: 127 says that it is not there.
	onMissing = ` || { case $? in 2) ;; 127) echo ` + Missing + ` >&2 ;; *) echo obstat did not answer >&2 ;; esac; ` +
		`exit 2; }`
)

// OnPath is the program of an entry that a project shares: each machine has its own place for obstat.
const OnPath = "obstat"

// Missing is what a person reads where such an entry finds no obstat.
const Missing = "'this project asks obstat before every call, and obstat is not on PATH: install it, as " +
	"https://github.com/obstat/obstat says; until then every call is denied'"

// line returns the command line that an agent is given.
func (a *Agent) line(c Invocation) string {
	if runtime.GOOS == "windows" {
		return windowsWords(c.Argv())
	}
	words, failed := shellWords(c.Argv()), onFailure
	if c.Program == OnPath {
		failed = onMissing
	}
	switch a.guard {
	case guardSuffix:
		return words + failed
	case guardShell:
		return "/bin/sh -c " + shell.Quote(words+failed)
	}
	return words
}

// lineOf returns the command line for an event. That of one that tells the outcome of a call ends
// at once, and leaves obstat behind with the payload: the agent does not wait for a record.
func (a *Agent) lineOf(event string, c Invocation) string {
	if !among(a.after, event) || runtime.GOOS == "windows" {
		return a.line(c)
	}
	words := readFirst + shellWords(c.Argv()) + inBackground
	if a.Replaces(event) { // the agent waits for the answer
		words = shellWords(c.Argv())
	}
	if a.guard == guardShell {
		return "/bin/sh -c " + shell.Quote(words)
	}
	return words
}

// readFirst takes the payload before the shell ends: Codex stops writing it then. inBackground leaves
// the command behind, which lets go of the agent's pipes.
const (
	readFirst    = `call=$(cat); printf %s "$call" | `
	inBackground = " >/dev/null 2>&1 &"
)

// all returns the events that obstat has an entry for.
func (a *Agent) all() []string {
	return append(slices.Clone(a.events), strings.Fields(a.after)...)
}

// shellWords writes words for a POSIX shell.
func shellWords(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = shell.Quote(w)
	}
	return strings.Join(out, " ")
}

// runsText tells whether a flag has a shell run its argument: `-c`, `-lc`.
func runsText(flag string) bool { return strings.HasPrefix(flag, "-") && strings.HasSuffix(flag, "c") }

// windowsWords writes words for cmd and PowerShell, both of which take a quoted
// program.
func windowsWords(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		if out[i] = w; strings.ContainsAny(w, " &()'`;,") {
			out[i] = `"` + w + `"`
		}
	}
	return strings.Join(out, " ")
}

// invocation reads the words of a command, and tells whether they call obstat's
// hook.
func (a *Agent) invocation(words []string) (c Invocation, ours bool) { return a.within(words, 2) }

// within is invocation with at most depth shells in between.
func (a *Agent) within(words []string, depth int) (Invocation, bool) {
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	if len(words) == 0 {
		return Invocation{}, false
	}
	program, args := words[0], words[1:]
	name, last := base(program), words[len(words)-1]
	switch {
	case name == oldProgram:
		return Invocation{program, args}, true
	case len(args) > 0 && args[0] == "hook" && (name == "obstat" || last == a.Name || Of(last) != nil):
		return Invocation{program, args[1:]}, true
	case depth > 0 && among("sh bash dash zsh", name) && len(args) > 1 && runsText(args[0]):
		return a.within(splitWords(args[1]), depth-1)
	}
	return Invocation{}, false
}

// splitWords returns the words of a line's first command, up to the first that the
// shell would fill in.
func splitWords(line string) (out []string) {
	if runtime.GOOS == "windows" {
		line = strings.ReplaceAll(line, `\`, `\\`) // a separator there, not an escape
	}
	script := shell.Parse(strings.TrimPrefix(line, readFirst), nil)
	if len(script.Commands) == 0 {
		return nil
	}
	for _, w := range script.Commands[0].Words {
		if !w.Known {
			break
		}
		out = append(out, w.Text)
	}
	return out
}

// agent returns the agent that the arguments name, "" if they name none.
func (c Invocation) agent() string {
	for _, arg := range c.Args {
		if Of(arg) != nil {
			return arg
		}
	}
	return ""
}

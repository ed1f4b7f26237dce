package agents

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// A Call is how an agent calls obstat.
type Call struct {
	Program string // path of obstat, or of obstat-hook
	// Args are the arguments of obstat hook: options, and the agent's name.
	Args []string
}

// hookBinary is the small program that does only what `obstat hook` does.
const hookBinary = "obstat-hook"

// base returns a program's name without its directory and ending.
func base(program string) string {
	program = strings.TrimSuffix(strings.ReplaceAll(program, `\`, "/"), ".exe")
	return path.Base(program)
}

// Argv returns the words of the command.
func (c Call) Argv() []string {
	if base(c.Program) == hookBinary {
		return append([]string{c.Program}, c.Args...)
	}
	return append([]string{c.Program, "hook"}, c.Args...)
}

// option returns the value of an option, "" if it is not given.
func (c Call) option(name string) string {
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

// with returns the call with the options of another in the place of its own of
// the same names.
func (c Call) with(other Call) Call {
	out := Call{Program: other.Program}
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

// A guard is what is written around the command so that a program that is
// missing or dies denies, too: most agents run the call then.
type guard uint8

const (
	guardNone   guard = iota
	guardSuffix       // the agent runs the command with a POSIX shell
	guardShell        // it may be any shell
)

const onFailure = ` || { [ $? = 2 ] || echo obstat did not answer >&2; exit 2; }`

// line returns the command line that an agent is given.
func (a *Agent) line(c Call) string {
	if runtime.GOOS == "windows" {
		return windowsWords(c.Argv())
	}
	words := shellWords(c.Argv())
	switch a.guard {
	case guardSuffix:
		return words + onFailure
	case guardShell:
		return "/bin/sh -c " + Quote(words+onFailure)
	}
	return words
}

// shellWords writes words for a POSIX shell.
func shellWords(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = Quote(w)
	}
	return strings.Join(out, " ")
}

// Quote writes an argument for a POSIX shell.
func Quote(s string) string {
	if s == "" || strings.HasPrefix(s, "~") || strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%=", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

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

// ParseCall reads a command line and tells whether it calls obstat's hook.
func ParseCall(line string) (c Call, ours bool) {
	return callOf(splitWords(line), 2)
}

// callOf tells whether words call obstat's hook; depth is how many shells may be
// in between.
func callOf(words []string, depth int) (Call, bool) {
	for len(words) > 0 && (words[0] == "exec" || isAssignment(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return Call{}, false
	}
	program, args := words[0], words[1:]
	name := base(program)
	switch {
	case name == hookBinary:
		return Call{program, args}, true
	case len(args) > 0 && args[0] == "hook" && (name == "obstat" || slices.Contains(Names(), args[len(args)-1])):
		return Call{program, args[1:]}, true
	case depth > 0 && len(args) > 1 && slices.Contains([]string{"sh", "bash", "dash", "zsh"}, name) && strings.HasPrefix(args[0], "-") && strings.HasSuffix(args[0], "c"):
		return callOf(splitWords(args[1]), depth-1)
	}
	return Call{}, false
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/.-")
}

// splitWords returns the words of a line's first command, as far as they are
// plain: it ends at an operator, and where the shell would put something else in.
func splitWords(line string) []string {
	var out []string
	var word strings.Builder
	in := false
	flush := func() {
		if in {
			out = append(out, word.String())
		}
		word.Reset()
		in = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			flush()
		case '\n', ';', '|', '&', '<', '>', '(', ')', '$', '`':
			flush()
			return out
		case '\'', '"':
			end := strings.IndexByte(line[i+1:], c)
			if end < 0 {
				return out
			}
			word.WriteString(line[i+1 : i+1+end])
			in, i = true, i+1+end
		case '\\':
			if runtime.GOOS != "windows" && i+1 < len(line) {
				i++
			}
			word.WriteByte(line[i])
			in = true
		default:
			word.WriteByte(c)
			in = true
		}
	}
	flush()
	return out
}

// Agent returns the agent that the call names, "" if it names none.
func (c Call) Agent() string {
	for _, arg := range c.Args {
		if slices.Contains(Names(), arg) {
			return arg
		}
	}
	return ""
}

// Written tells whether the entry's command line is as obstat writes it.
func (a *Agent) Written(e *Entry) bool {
	switch a.Name {
	case OpenCode, Cline: // the whole file is looked at
		return true
	}
	return e.Ours && e.Text == a.line(e.Call)
}

// Matcher returns the matcher of obstat's entry for an event.
func (a *Agent) Matcher(event string) string {
	m, _ := a.form.matcher(event)
	return m
}

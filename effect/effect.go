// Package effect analyses tool calls: which programs they run, which files they read, write and delete.
//
// It owns the catalogue of agents' tools (which input field is a command, a path, a URL),
// the knowledge base of command-line programs (kb/*.kb, plain text that can be extended
// without writing Go), the unwrapping of commands that run other commands, and the
// Analysis that follows from them: an ordered list of effects together with how much of
// the call could be seen.
//
// It does not decide anything and knows no rules. It reads no file and starts no program:
// paths.FS tells it of the file system.
package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// Kind is the kind of an effect.
type Kind uint8

// The kinds. The zero value is no kind.
const (
	Run     Kind = iota + 1 // run a program
	Read                    // read a path
	Write                   // create or change a path
	Delete                  // remove a path
	Connect                 // talk to a host or service
	Code                    // run code that the analysis does not look into
	System                  // change the machine, an account, a process or a service
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [...]string{"none", "run", "read", "write", "delete", "connect", "code", "system"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Effect is one thing that a call would do.
type Effect struct {
	Kind     Kind
	Tags     Tags
	Detail   string // words for a person: "recursive, force", "push"; no code may look at them
	Certain  bool   // it happens if the command runs and succeeds
	Secret   bool   // it gives a secret away
	Harmless bool   // it changes nothing and gives no secret away
	Origin
	Place
	extent
}

// Origin is the command that has an effect.
type Origin struct {
	Program string // base name of the program
	Command int    // index into Analysis.Commands, or -1
	Span    shell.Span
}

// Place is the file or host that an effect is on.
type Place struct {
	Path      string // absolute and lexically clean; "" if unknown or not a path
	Real      string // Path with symbolic links followed as far as they are known
	Raw       string // path, URL or address as written
	Host      string // of a connection, or of the machine that a path lies on; "" is this machine or unknown
	Where     string // "" for this machine, else the kind of another one: "ssh", "container"
	Sensitive string // class of a sensitive path; "" if it is not
	Glob      bool   // Path is a shell pattern
	Recursive bool   // everything below Path is meant
	Unnamed   bool   // which files are changed is not said; Path, if known, is where they lie
}

// extent is more about which files an effect is on, see Target.
type extent struct {
	shape     *string // see Shape
	at        string  // directory that an Unnamed effect falls in
	name      string  // of a found file: the pattern of its name
	bound     bool    // the shape stands for every path that it may be
	visible   bool    // of the files below Path, hidden names are passed by
	formatted bool    // the new content means the same as before
	dots      bool    // a star of Glob also stands for a leading dot
	isDir     bool    // Path is a directory, or a pattern that may stand for one
	lost      bool    // where the links of Path lead is not known
	moved     bool    // the file goes on under another name: `mv a b`
	runner    bool    // the file is a CI system's own: `>> $GITHUB_OUTPUT`
}

// open makes an effect one on every path that a shape may be.
func (e *extent) open(shape string) { e.shape, e.bound = &shape, true }

// real returns the path with links followed, as far as it is known.
func (p *Place) real() string { return word.Or(p.Real, p.Path) }

// Command is one program that would run. A command that runs another, such as env or
// timeout, is followed by that other one: `env CI=1 timeout 5 rm -rf build` yields three.
type Command struct {
	Program  string       // base name, "" if it is not known
	Path     string       // as written
	Words    []shell.Word // all words, program first
	Mentions []int        // words of which the use is not said, see Pieces: `last -f .env`
	Tails    []int        // words in which a command may stand that a known program runs: `make CC='curl x'`
	Why      string       // why it is not read-only, or a condition of that
	ReadOnly bool         // it provably only reads, with the commands that it runs
	Known    bool         // every word is certain
	Spelling
	Standing
	Wrapping
	Manner
}

// Least returns a command without the words that xargs reads for it, which may be none: reboot of `ls | xargs reboot`;
// "" of other commands.
func (c *Command) Least() string {
	bare, marked := strings.CutSuffix(c.Text, " "+inputMark)
	if !marked || len(c.Words) == 0 {
		return ""
	}
	if last := &c.Words[len(c.Words)-1]; last.Known || last.Raw != inputMark || !last.Split {
		return ""
	}
	return bare
}

// Written returns the Text with the program as it is written where Text has only its name, `/usr/bin/make all` of a
// command whose Text is `make all`; "" where it is written so.
func (c *Command) Written() string {
	rest, ok := strings.CutPrefix(c.Text, c.Program)
	if !ok || c.Program == "" || c.Path == "" || c.Path[0] != '/' {
		return ""
	}
	return c.Path + rest
}

// Manner is how a command goes about its work.
type Manner struct {
	Force     bool // it overwrites or removes what it would keep else: `git push -uf`, `git push origin +main`
	Recursive bool // it goes through directories
	Dry       bool // it says what it would do, and does nothing: `git clean -n`
	Open      bool // in doubt: a word may be a flag that nobody knows, as in `git push $X`
}

// Spelling is the text of a command that rules are matched against.
type Spelling struct {
	Text   string   // words resolved, joined and quoted as needed
	Prefix string   // leading part of Text that is certain; Text itself if the command is Known
	Alts   []string // other spellings that a deny or ask rule must be tried on, too
}

// Standing is where a command stands in the call.
type Standing struct {
	Via   []string // programs it runs inside of, outermost first
	Env   []string // names assigned for it
	Sets  []string // those of known value, one by one: A=1 and B='x y' of `A=1 B="x y" make`
	Dir   string   // where it runs, absolute; "" if unknown
	Span  shell.Span
	Set   shell.Span // the variables that are assigned for it, `A=1 B=2`; empty where there are none, or none are seen
	Nest  shell.Nest // surroundings: a substitution, a pipeline
	fed   bool       // its standard input was looked at
	owner int        // the command that runs it, or -1
}

// Wrapping is how much is known of a program, and of its running others.
type Wrapping struct {
	Catalogued  bool // the knowledge base has the program
	Wrapper     bool // it runs the command that follows it
	Transparent bool // a wrapper that does nothing of its own
	Loads       bool // a wrapper that runs whatever program a package brings: npx, `uv run`
	// Steered says why files that are no part of the call can make it run other programs, "" where they
	// cannot: `git status` in a repository that came with a package, `yarn --version`, `cargo --version`.
	Steered string
}

// Given reports whether allowing the command that runs command i allows it, too: `npx eslint` runs code of
// a package, whatever that is, and a container its own programs.
func (a *Analysis) Given(i int) bool { return a.GivenBy(i) >= 0 }

// GivenBy returns the command that gives command i to be allowed with it, the `npx eslint` of its eslint; -1 is none.
func (a *Analysis) GivenBy(i int) int {
	c := &a.Commands[i]
	if c.owner < 0 {
		return -1
	}
	code := !c.Catalogued
	for j := range a.Effects {
		e := &a.Effects[j]
		if e.Command == i && e.Where == "container" {
			return c.owner
		}
		code = code || e.Command == i && (e.Kind == Code || e.Kind == Write && e.Unnamed && e.Tags.Has(Here)) // tsc
	}
	if code && a.Commands[c.owner].Loads {
		return c.owner
	}
	return -1
}

// Unknown reports whether not all that command i does can be looked into: a program that the
// knowledge base does not have, one of which a part is known only at run time, one that runs
// code, such as `make`, or one that fetches packages from hosts that its settings name, such as
// `go mod download`. The hooks of `git commit` are beside its own work.
func (a *Analysis) Unknown(i int) bool {
	c := &a.Commands[i]
	if c.Program == "" || !c.Catalogued || !c.Known {
		return true
	}
	for j := range a.Gaps {
		if a.Gaps[j].Command == i {
			return true
		}
	}
	for j := range a.Effects {
		e := &a.Effects[j]
		code := e.Kind == Code && !e.Tags.Has(Hooks)
		if e.Command == i && !e.Harmless && (code || e.fetches()) {
			return true
		}
	}
	return false
}

// Fetches reports whether a command asks hosts that its settings name for packages: `npm ci`, `npm view x`.
func (a *Analysis) Fetches() bool {
	return slices.ContainsFunc(a.Effects, func(e Effect) bool { return e.fetches() })
}

// Steered reports whether files that are no part of the call can make a command run other programs: those of a
// repository that is not the project's own, or a project's choice of another toolchain.
func (a *Analysis) Steered() bool {
	return slices.ContainsFunc(a.Commands, func(c Command) bool { return c.Steered != "" })
}

// RunsHooks reports whether git runs the repository's hooks beside its own work: `git commit`.
func (a *Analysis) RunsHooks() bool {
	return slices.ContainsFunc(a.Effects, func(e Effect) bool { return e.Tags.Has(Hooks) && e.Where == "" })
}

func (e *Effect) fetches() bool { return e.Kind == Connect && e.Tags.Has(Fetch) }

// Departs reports whether command i is known to do more than a confined run can hold: it connects
// to more than the registries of packages, or changes the machine.
func (a *Analysis) Departs(i int) bool {
	for j := range a.Effects {
		e := &a.Effects[j]
		if e.Command != i || e.Harmless {
			continue
		}
		if e.Kind == System || e.Kind == Connect && !e.fetches() {
			return true
		}
	}
	return false
}

// around are the places of a command that have no part in its effects.
const around = shell.InSubst | shell.InSubshell | shell.InLoop | shell.InCondition | shell.InBackground |
	shell.Negated | shell.InPipe | shell.InProcess | shell.InGroup

// Alone reports whether an analysis of command i's Text alone, in its directory, says the same of
// it but for its redirects: no variable, wrapper or function around it, and nothing that is piped
// into it, has a part in its effects.
func (a *Analysis) Alone(i int) bool {
	c := &a.Commands[i]
	switch {
	case !c.Known || c.Wrapper || c.fed || c.Nest&^around != 0:
		return false
	case len(c.Via)+len(c.Env)+len(a.Assigned) > 0:
		return false
	case c.Path != c.Program || strings.ContainsAny(c.Program, " \t\n\"'\\$`;&|<>()*?[]{}#~!="):
		return false
	}
	return i+1 == len(a.Commands) || a.Commands[i+1].owner != i
}

// WithVariables returns the Text of command i behind the variables that are set for it, `CI=1 make`; "" without any.
func (a *Analysis) WithVariables(i int) string {
	c := &a.Commands[i]
	if c.Set.Start >= c.Set.End || c.Set.Start < 0 || c.Set.End > len(a.Source) || c.Text == "" {
		return ""
	}
	return a.Source[c.Set.Start:c.Set.End] + " " + c.Text
}

// Args returns the words after the program.
func (c *Command) Args() []shell.Word {
	if len(c.Words) == 0 {
		return nil
	}
	return c.Words[1:]
}

// GapKind says why something cannot be seen.
type GapKind uint8

// The kinds of gaps. Those up to DynamicFlag hide which program runs.
const (
	Syntax         GapKind = iota // the text does not parse
	TooBig                        // longer than the limit
	TooDeep                       // nested deeper than the limit
	ForeignShell                  // PowerShell or cmd text
	DynamicProgram                // the program's name is known only at run time
	DynamicCode                   // code is put together at run time
	InlineCode                    // code in another language
	Environment                   // a variable changes which programs run
	NotPlain                      // an argument names a program to run in a way that is not followed
	DynamicFlag                   // an argument is known only at run time and could be a flag that runs something
	UnknownProgram                // not in the knowledge base
	UnknownSub                    // a subcommand that the knowledge base does not have
	UnknownFlag                   // a flag that the knowledge base does not have
	DynamicOperand                // an argument is known only at run time
	UnknownTool                   // the tool is not in the catalogue
	BadInput                      // the tool does not take such an input
	Mention                       // a sensitive file is named at a place of which nothing is said
)

// String returns the name of the kind.
func (k GapKind) String() string {
	names := [...]string{"syntax", "too big", "too deep", "foreign shell", "dynamic program", "dynamic code",
		"inline code", "environment", "not plain", "dynamic flag", "unknown program", "unknown subcommand",
		"unknown flag", "dynamic operand", "unknown tool", "bad input", "mention"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// hides reports whether a gap of this kind hides which program runs.
func (k GapKind) hides() bool { return k <= DynamicFlag || k == BadInput || k == UnknownTool }

// Gap is something that cannot be seen.
type Gap struct {
	Kind    GapKind
	Why     string // a phrase for a person
	Span    shell.Span
	Command int  // index into Analysis.Commands, or -1
	Hides   bool // it hides which program runs, not only the effects of a known one
}

// Analysis is the effects of a call, and how much of it could be seen.
type Analysis struct {
	Tool     string // canonical name of the tool, "" if the catalogue does not have it
	Source   string // the shell text, "" for another tool
	Commands []Command
	Effects  []Effect
	Gaps     []Gap
	Assigned []string // names of the variables that are set, by whatever means
	Written  []Text   // that the call writes into files which it may run
	Fed      []Text   // that programs read from standard input, for uses that are not said
	Parsed
	Why      string // the first reason why it is not read-only, or a condition of that
	Full     bool   // nothing is hidden
	ReadOnly bool   // it provably only reads
}

// Parsed is how the shell reads the text, and texts that it may be given.
type Parsed struct {
	Findings   []shell.Finding
	Constructs []shell.Construct
	script     *shell.Script
	Lines      []Line // that a tool of which nothing is known may run
}

// A Text is written into a file that the call may run afterwards, such as a test or a Dockerfile, or fed to a program.
type Text struct {
	Text    string
	Command int // that writes or reads it
}

// Options are the surroundings of a call. A nil *Options is the zero value.
type Options struct {
	Dir   string   // working directory, absolute; "" is unknown
	Roots []string // the workspace, absolute; empty: Dir
	FS    paths.FS // nil: nothing is known
	Lang  shell.Lang
}

// Request is a call of a tool.
type Request struct {
	Tool    string
	Input   []byte // JSON object as sent
	Command string // the shell text, if the caller has it already
	Options
}

// AnalyzeCommand analyses a shell command.
func AnalyzeCommand(cmd string, o *Options) *Analysis {
	a := newAnalyzer(o)
	a.an.Source, a.an.Tool = cmd, "shell"
	a.script(cmd, &frame{dir: a.opts.Dir, owner: -1})
	return a.finish()
}

// Script returns how the shell reads a text, nil where the analysis does not have that: of another
// text, or of one that variables known from outside are put into.
func (a *Analysis) Script(text string) *shell.Script {
	if a.script == nil || a.script.Source != text {
		return nil
	}
	return a.script
}

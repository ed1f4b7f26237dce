// Package shell turns shell text into the simple commands that would run.
//
// It owns everything that can be said about a command line from its text alone:
// which simple commands run and where each sits, the words of each command as far
// as they are certain, redirections, the working directory as far as cd is literal,
// and, as important, the parts that cannot be seen and why.
//
// It does not know the effects of programs: that `sudo`, `xargs` or `sh -c` run other
// commands is the business of package effect. Only code that the shell itself executes
// (eval, trap, alias, functions, arithmetic) is followed here. Which words some programs print,
// as `$(nproc)`, it has from known.txt. It never touches the
// file system, the environment, a clock or a process.
//
// The text is read by mvdan.cc/sh/v3/syntax and then followed the way bash would run it:
// assignments, functions and cd take effect, branches and loops make the variables that they change
// unknown. Where that parser and bash are known to read a text differently, so that a
// command could hide in the difference, the text gets a Gap of kind Syntax although it
// parses. The tests run generated scripts in a real bash and compare.
//
// Every limit ends in a Gap: size, depth, number of commands, work.
package shell

// String returns the name of the language.
func (l Lang) String() string {
	names := [...]string{"bash", "PowerShell", "cmd"}
	if int(l) < len(names) {
		return names[l]
	}
	return "unknown"
}

// Lang is the language that the text is read as. The zero value is Bash.
type Lang uint8

// The languages. PowerShell and Cmd text is recognised, never parsed.
const (
	Bash Lang = iota
	PowerShell
	Cmd
)

// Options says how to read a script. A nil *Options is the zero value.
type Options struct {
	Lang        Lang              // zero: Bash
	MaxCommands int               // most commands that are reported; zero: 10,000
	MaxWork     int               // most work to follow the text, in steps of about a microsecond; zero: 40,000
	Vars        map[string]string // values known from outside, e.g. HOME; read only, nil is fine
}

// Span is a half-open range of byte offsets into Script.Source.
type Span struct{ Start, End int }

// Script is a text, read.
type Script struct {
	Source     string
	Lang       Lang        // as told or recognised
	Commands   []Command   // every simple command that would run; see Parse for the order
	Gaps       []Gap       // the parts that cannot be seen
	Findings   []Finding   // suspicious but harmless to the parse
	Constructs []Construct // the pieces of its syntax, by start, outer first
	Implied    []Implied   // variables that are set without an assignment
	Work       int         // that it took to follow the text; see Options.MaxWork

	meant   map[string]bool // see Redefines
	defines bool
}

// Implied is a variable that something else than an assignment sets: arithmetic (`$((x=1))`,
// `${a[x=1]}`), `${x:=y}`, a loop or a coproc.
type Implied struct {
	Name string
	Span Span
}

// Opaque reports whether nothing of the text could be parsed: its commands are unknown.
func (s *Script) Opaque() bool {
	if len(s.Commands) > 0 {
		return false
	}
	for i := range s.Gaps {
		switch s.Gaps[i].Kind {
		case Syntax, TooBig, TooDeep, ForeignShell, Timeout:
			return true
		}
	}
	return false
}

// Gap is a part of the text, or of its effect, that cannot be seen.
type Gap struct {
	Kind GapKind
	Why  string // a short phrase for a person
	Span Span
}

// GapKind says why something cannot be seen.
type GapKind uint8

// The kinds of gaps.
const (
	Syntax         GapKind = iota // the text does not parse
	TooBig                        // longer, or with more commands, than the limit
	TooDeep                       // nested deeper than the limit
	ForeignShell                  // PowerShell or cmd text
	Timeout                       // took more work than the limit
	DynamicProgram                // the program's name is known only at run time
	DynamicCode                   // code is put together at run time: eval, trap, alias, arithmetic on unknown text
)

// Finding is something suspicious that does not change how the text parses: a character that
// reorders the text as displayed or is not displayed, a letter that looks like an ASCII one, a
// control character.
type Finding struct {
	Why  string
	Span Span
}

// Nest is a set of places that a command sits in.
type Nest uint32

// The places. A command has every one that lies between it and the top of the script.
const (
	InSubst      Nest = 1 << iota // $( ), backquotes, <( ), >( )
	InSubshell                    // ( ), a pipeline's part, a substitution
	InFunction                    // the body of a function that is called
	InLoop                        // for, while, until, select
	InCondition                   // runs only if something before it succeeds or fails: if, case, &&, ||
	InBackground                  // &, coproc
	InTrap                        // the code of a trap: runs at a signal or exit
	InArith                       // a substitution that arithmetic evaluation runs
	InAlias                       // the text of an alias
	InEval                        // the text given to eval
	Negated                       // !
	InPipe                        // part of a pipeline
	InHeredoc                     // a substitution in the body of a here-document
	InProcess                     // <( ) or >( )
	InGroup                       // { }
	Uncertain                     // may not run at all: depends on an option, a handler or a later event
	MixedStdin                    // several commands, of which Stdin is the last, feed this one
	UnsureDir                     // Dir counts on an earlier cd having been run and having succeeded
)

// Command is one simple command: words, a bare assignment, or a bare redirection.
//
// A redirection on a compound command (`{ a; } > f`, `for ...; done < f`, `( a ) > f`)
// is a Command without words that carries the redirect, placed before the commands
// of the compound.
type Command struct {
	Words     []Word   // program first
	Assigns   []Assign // NAME=value in front, alone, or given to export, declare, ...
	Redirects []Redirect
	Span      Span // text of the simple command with its assignments and redirects
	// Dir is the working directory relative to the start, or absolute, or after a tilde;
	// known "" is unchanged. It is dynamic if a cd went somewhere unknown, or may not have
	// run. Nest has UnsureDir if it rests on an unchecked cd: `cd x; rm y`
	// removes y from the directory before if there is no x.
	Dir  Word
	Nest Nest
	// Stdin is the index in Script.Commands of the command piped into this one, or of
	// the wordless command that carries the input of the compound command around it,
	// or -1.
	Stdin int
}

// Word is one word after expansion, as far as it is certain.
type Word struct {
	Text string // the value; for a dynamic word the leading part that is known
	Why  string // why the word is dynamic, e.g. "variable x"
	Raw  string // as written
	Span Span
	// shape is behind a pointer, since few words have one and every word has a place for it.
	shape *string

	Known bool // Text is the whole value, globs and tilde aside
	Glob  bool // has an unquoted * ? or [, kept in Text: names of files at run time
	Tilde bool // has a ~ that the shell expands: at the start, or after = or :, kept in Text
	Split bool // dynamic and unquoted: may become several words, or none
	Bound bool // dynamic, and one of the words that its shape stands for
	// Outside: dynamic, and each part that is not known is the value of a variable which the script does not
	// set, as in `go test $PKG`. Whoever wrote the script did not choose that value in it.
	Outside bool
}

// Unknown stands in a shape for any text, also for none.
const Unknown = "\x00"

// Shape is a dynamic word as far as it is known, with [Unknown] for every part that is not:
// `a${x}b.c` is a, Unknown, b.c; it may be a pattern. It says how the word may well look, and
// is never certain: of ${x:-y} it has y, of $(echo y) as well.
func (w *Word) Shape() string {
	if w.shape == nil {
		return ""
	}
	return *w.shape
}

// WithShape returns the word with that shape.
func (w Word) WithShape(shape string) Word {
	w.shape = nil
	if shape != "" {
		own := shape
		w.shape = &own
	}
	return w
}

// Redirect is one redirection of a command.
type Redirect struct {
	Op     string // as written: < > >> >| <> <& >& &> &>> << <<- <<<
	Fd     string // file descriptor or {name} before the operator, "" if none
	Target Word   // file, descriptor, or here-document delimiter
	Body   *Word  // text of a here-document or here-string
	Span   Span
}

// Assign is one assignment, before a command or alone.
type Assign struct {
	Name   string // with the subscript as written, if any
	Value  Word
	Append bool // +=
	Span   Span
}

// Construct is a piece of syntax met in the text.
type Construct struct {
	Kind ConstructKind
	Span Span
}

// ConstructKind names a piece of syntax.
type ConstructKind uint8

// The kinds of constructs.
const (
	CommandSubst   ConstructKind = iota // $( ) or backquotes
	ProcessSubst                        // <( ) or >( )
	SimpleParam                         // $x
	BraceParam                          // ${x} and its forms
	ArithExpansion                      // $(( ))
	ArithCommand                        // (( ))
	Subshell                            // ( )
	Group                               // { }
	ForLoop                             // for x in
	CStyleLoop                          // for (( ))
	SelectLoop                          // select
	WhileLoop                           // while
	UntilLoop                           // until
	IfClause                            // if
	CaseClause                          // case
	TestClause                          // [[ ]]
	Function                            // f() { }
	Declaration                         // declare, export, local, readonly, typeset
	Let                                 // let
	Coproc                              // coproc
	Time                                // time
	Negation                            // !
	AndOp                               // &&
	OrOp                                // ||
	PipeOp                              // | or |&
	Semicolon                           // ;
	Newline                             // a newline between commands
	BackgroundOp                        // &
	RedirectIn                          // < <& <>
	RedirectOut                         // > >> >| >& &> &>> <>
	HereDoc                             // << or <<-
	HereString                          // <<<
	SimpleCommand                       // words
	Assignment                          // a bare assignment
)

// Program returns the first word, or a zero Word if there is none.
func (c *Command) Program() Word {
	if len(c.Words) == 0 {
		return Word{}
	}
	return c.Words[0]
}

// String returns the name of the kind.
func (k GapKind) String() string {
	names := [...]string{"syntax", "too big", "too deep", "foreign shell", "timeout", "dynamic program", "dynamic code"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

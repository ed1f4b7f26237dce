package opencode

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// bash is the ask of the shell. The document asks about the command as a whole;
// the program about every simple command in it.
func (c *callView) bash() error {
	cmd, err := c.text("command")
	if err != nil {
		return err
	}
	workdir, there, err := c.optional("workdir")
	if err != nil {
		return err
	}
	if there && workdir != "" {
		c.outside(c.absolute(workdir), true)
	}
	part := c.f.Part() != nil
	if !part {
		c.touched()
	}
	if c.Order == First {
		c.ask([]string{cmd}, []string{cmd})
		return nil
	}
	c.commands(cmd, part)
	return nil
}

// commands asks about the simple commands of a script. A script that has none
// is asked about as a whole: it may write files, and run code in a subscript.
func (c *callView) commands(cmd string, part bool) {
	s := c.script(cmd)
	var texts, always distinct
	by := map[string][]string{}
	quiet := !s.Opaque() && len(s.Gaps) == 0
	for i := range s.Commands {
		sc := &s.Commands[i]
		switch {
		case isMove(sc):
			quiet = quiet && plain(sc)
		case declares(sc):
			quiet = false
		default:
			quiet = false
			text := c.behindVariables(cmd, sc)
			if !c.Floor {
				text = asParsed(s, sc, text)
			}
			texts.add(text)
			if c.learn && len(texts.texts) <= maxLearned {
				by[text] = alwaysOf(cmd, sc)
				always.add(by[text]...)
			}
		}
	}
	patterns := texts.texts
	moves := quiet && len(s.Commands) > 0 // nothing but going somewhere
	switch {
	case moves && (part || len(c.dirs.texts) > 0):
		return
	case s.Opaque():
		patterns = []string{strings.TrimSpace(cmd), "*"} // it may be any command
	case len(patterns) == 0:
		patterns = []string{strings.TrimSpace(cmd)}
	}
	c.main = append(c.main, Ask{Permission: c.perm, Patterns: patterns, Always: always.texts, by: by})
}

// script reads a command. With the floor on, one that is more than is looked at may be any command
// here: the floor puts the part of it that is known to the rules.
func (c *callView) script(cmd string) *shell.Script {
	a := c.f.Analysis()
	switch s := a.Script(cmd); {
	case c.Floor && slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return g.Kind == effect.TooBig }):
		return &shell.Script{Source: cmd, Gaps: []shell.Gap{{Kind: shell.TooBig}}}
	case s != nil:
		return s
	}
	return shell.Parse(cmd, nil)
}

// maxLearned bounds how many commands of a script are worth remembering.
const maxLearned = 50

// behindVariables returns the text of a command for the rules. With the floor on, variables that are known to do
// no harm are no part of it, `make` of `CI=1 make`, unless some rule has a variable in front.
func (c *callView) behindVariables(cmd string, sc *shell.Command) string {
	text := commandText(cmd, sc)
	if !c.Floor || c.Prefixed || len(sc.Assigns) == 0 || len(sc.Words) == 0 || sc.Nest&within != 0 {
		return text
	}
	for i := range sc.Assigns {
		if as := &sc.Assigns[i]; !effect.HarmlessVariable(as.Name) || as.Span.Start > sc.Words[0].Span.Start {
			return text
		}
	}
	begin := strings.TrimSpace(between(cmd, sc.Span.Start, sc.Words[0].Span.Start))
	return strings.TrimSpace(strings.TrimPrefix(text, begin))
}

// moves are the commands that the program does not ask about.
var moves = []string{"cd", "chdir", "popd", "pushd"}

// isMove tells whether a command only goes to another directory.
func isMove(sc *shell.Command) bool {
	w := sc.Program()
	return w.Known && slices.Contains(moves, w.Raw)
}

// plain tells whether a command is words alone, all of them known.
func plain(sc *shell.Command) bool {
	return len(sc.Redirects) == 0 && len(sc.Assigns) == 0 &&
		!slices.ContainsFunc(sc.Words, func(w shell.Word) bool { return !w.Known })
}

// declared are the builtins that the program's parser does not take for
// commands: they are asked about only where nothing else is.
var declared = []string{"export", "declare", "typeset", "readonly", "local", "unset", "[", "[["}

// declares tells whether a command is one that the program does not see, or a
// redirect or an assignment alone.
func declares(sc *shell.Command) bool {
	return len(sc.Words) == 0 || slices.Contains(declared, sc.Words[0].Raw)
}

// within marks commands whose text is not written as it runs: in `eval "$x"`, a trap, an alias, arithmetic.
const within = shell.InArith | shell.InEval | shell.InTrap | shell.InAlias

// commandText returns a command as it was written, with its assignments and
// redirects, and with the text of its here-documents. One that the shell finds
// in a text of its own is put together from its words.
func commandText(src string, sc *shell.Command) string {
	if sc.Nest&within != 0 {
		return strings.Join(wordsOf(sc), " ")
	}
	start, end := sc.Span.Start, sc.Span.End
	for i := range sc.Redirects {
		r := &sc.Redirects[i]
		if r.Body == nil || r.Op == "<<<" {
			continue
		}
		end = max(end, hereEnd(src, r))
	}
	return strings.TrimSpace(between(src, start, end))
}

// asParsed returns the text of a command as the program's parser has it, for which time is a program. Behind `&&`,
// `||`, `|` or `!` it takes redirects for those of the whole list: of `cd a && echo x > f` it sees `echo x`.
func asParsed(s *shell.Script, sc *shell.Command, text string) string {
	begin := timedFrom(s, sc)
	if isJoined(s, begin) {
		text = bareText(s.Source, sc)
	}
	return between(s.Source, begin, sc.Span.Start) + text
}

// timedFrom returns where a command begins, with the `time` before it.
func timedFrom(s *shell.Script, sc *shell.Command) int {
	for i := range s.Constructs {
		at := &s.Constructs[i]
		if at.Kind != shell.Time {
			continue
		}
		words := strings.Fields(between(s.Source, at.Span.Start, sc.Span.Start))
		if slices.Contains([]string{"time", "time -p"}, strings.Join(words, " ")) {
			return at.Span.Start
		}
	}
	return sc.Span.Start
}

// isJoined tells whether what begins there stands behind an operator of a list.
func isJoined(s *shell.Script, begin int) bool {
	blank := func(from int) bool {
		return from <= begin && strings.Trim(between(s.Source, from, begin), " \t\n\\") == ""
	}
	return slices.ContainsFunc(s.Constructs, func(at shell.Construct) bool {
		switch at.Kind {
		case shell.AndOp, shell.OrOp, shell.PipeOp:
			return blank(at.Span.End)
		case shell.Negation: // which spans what it is about
			return blank(at.Span.Start + len("!"))
		}
		return false
	})
}

// bareText returns a command as it was written, up to its first redirect.
func bareText(src string, sc *shell.Command) string {
	end := sc.Span.End
	for i := range sc.Redirects {
		if r := &sc.Redirects[i]; r.Op != "<<<" && r.Span.Start > sc.Span.Start {
			end = min(end, r.Span.Start)
		}
	}
	return strings.TrimSpace(between(src, sc.Span.Start, end))
}

// wordsOf returns the words of a command, those that are not known as written.
func wordsOf(sc *shell.Command) []string {
	words := make([]string, len(sc.Words))
	for i, w := range sc.Words {
		if words[i] = w.Text; !w.Known {
			words[i] = w.Raw
		}
	}
	return words
}

// hereEnd returns where a here-document ends, the line that ends it included.
func hereEnd(src string, r *shell.Redirect) int {
	at := r.Body.Span.End
	if at < 0 || at > len(src) {
		return 0
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(src[at:], "\n"), "\n")
	if strings.TrimLeft(line, "\t") == r.Target.Text {
		return at + strings.Index(src[at:], line) + len(line)
	}
	return at
}

// looked are the programs whose arguments the original looks at. With the floor
// off, the reads of others are left alone as they are there.
var looked = []string{"cd", "chdir", "popd", "pushd", "rm", "cp", "mv", "mkdir", "touch", "chmod", "chown", "cat"}

// touched notes the directories outside the project that a command would touch,
// whatever program or redirect does it.
func (c *callView) touched() {
	a := c.f.Analysis()
	dynamic := dynamicCommands(a)
	for i := range a.Effects {
		e := &a.Effects[i]
		if !touches(e) || !c.Floor && e.Harmless && !slices.Contains(looked, e.Program) {
			continue
		}
		if e.Path == "" {
			// A program that has its own idea of where it writes is no stranger.
			_, open := dynamic[e.Command]
			if c.Floor && c.Order == Last && (open || e.Raw != "" || slices.Contains(moves, e.Program)) {
				c.dirs.add("*") // it may be any directory
			}
			continue
		}
		c.effect(e, e.Path)
		if e.Real != "" && e.Real != e.Path {
			c.effect(e, e.Real)
		}
	}
}

// touches tells whether an effect is on a file of this machine.
func touches(e *effect.Effect) bool {
	switch e.Kind {
	case effect.Read, effect.Write, effect.Delete:
	case effect.Code:
		if e.Path == "" {
			return false
		}
	default:
		return false
	}
	return e.Where == "" && !device(e.Path)
}

// device tells whether a path is no file but a stream that everybody has.
func device(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/random", "/dev/urandom":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

func (c *callView) effect(e *effect.Effect, p string) {
	dir := slices.Contains(moves, e.Program)
	if e.Glob {
		cut := cutGlob(p)
		dir = strings.HasSuffix(cut, "/")
		p = path.Clean(cut)
	}
	c.outside(p, dir)
}

// dynamicCommands returns the commands with an argument that is known only at
// run time.
func dynamicCommands(a *effect.Analysis) map[int]struct{} {
	out := map[int]struct{}{}
	for i := range a.Gaps {
		if g := &a.Gaps[i]; g.Kind == effect.DynamicOperand {
			out[g.Command] = struct{}{}
		}
	}
	return out
}

package agentscope

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// checkBash is check_permissions of Bash: the checks of the document in the
// order of its program, made on the effects of the command instead of on its
// text.
func (t *toolset) checkBash(f *obstat.Facts) obstat.Finding {
	cmd, ok := f.String("command")
	if !ok || strings.TrimSpace(cmd) == "" {
		return pass()
	}
	a := f.Analysis()
	if note, part := t.injection(a); note != "" {
		return safetyAsk(note, part)
	}
	if t.readOnlyBash(f) {
		return allow("read-only command is allowed")
	}
	type check = func(*obstat.Facts, *effect.Analysis) (note, part string)
	for _, check := range []check{dangerousCommand, t.sedConstraints, t.dangerousPaths, dangerousRemoval} {
		if note, part := check(f, a); note != "" {
			return safetyAsk(note, part)
		}
	}
	if t.edits(f.Mode) && t.staysInside(f, a) {
		return allow("every target path is within a working directory")
	}
	return pass()
}

func text(a *effect.Analysis, s shell.Span) string {
	if s.Start < 0 || s.End > len(a.Source) || s.Start >= s.End {
		return ""
	}
	return a.Source[s.Start:s.End]
}

// unanalysable are the constructs whose outcome the text does not tell.
var unanalysable = map[shell.ConstructKind]string{
	shell.CommandSubst: "command substitution", shell.ProcessSubst: "process substitution",
	shell.ForLoop: "a loop", shell.CStyleLoop: "a loop", shell.SelectLoop: "a loop", shell.WhileLoop: "a loop", shell.UntilLoop: "a loop",
	shell.IfClause: "a condition", shell.CaseClause: "a condition", shell.Function: "a function definition",
}

// bareUnanalysable are constructs that the document holds to be unanalysable as
// well, though the commands in them are known: with the floor on they do not ask.
var bareUnanalysable = map[shell.ConstructKind]string{
	shell.Subshell: "a subshell", shell.TestClause: "a test", shell.BraceParam: "a parameter expansion",
}

const whyInjection = "safety check: the command contains %s, which cannot be statically analyzed"

// injection finds constructs whose outcome is known only at run time, `$(x)`.
func (t *toolset) injection(a *effect.Analysis) (note, part string) {
	for i := range a.Gaps {
		switch g := &a.Gaps[i]; {
		case t.Bare: // the document looks at the constructs alone
		case g.Kind == effect.DynamicProgram, g.Kind == effect.DynamicCode:
			return fmt.Sprintf(whyInjection, g.Why), text(a, g.Span)
		}
	}
	for _, c := range a.Constructs {
		name := unanalysable[c.Kind]
		if c.Kind == shell.BraceParam && !plainParam(text(a, c.Span)) {
			name = "a parameter expansion"
		}
		if t.Bare && name == "" {
			name = bareUnanalysable[c.Kind]
		}
		if name != "" {
			return fmt.Sprintf(whyInjection, name), text(a, c.Span)
		}
	}
	if t.Bare {
		return bareInjection(a)
	}
	return "", ""
}

// bareInjection finds words that the document's parser takes for constructs: a test by its
// command, an extended pattern.
func bareInjection(a *effect.Analysis) (note, part string) {
	for i := range a.Commands {
		c := &a.Commands[i]
		if c.Path == "[" {
			return fmt.Sprintf(whyInjection, "a test"), text(a, c.Span)
		}
		for _, w := range c.Words {
			if w.Glob && strings.Contains(w.Raw, "(") {
				return fmt.Sprintf(whyInjection, "an extended pattern"), w.Raw
			}
		}
	}
	return "", ""
}

// plainParam tells whether s is ${NAME}, which is $NAME and no more.
func plainParam(s string) bool {
	s, ok := strings.CutPrefix(s, "${")
	if !ok || len(s) < 2 || s[len(s)-1] != '}' {
		return false
	}
	return !strings.ContainsFunc(s[:len(s)-1], func(r rune) bool {
		return r != '_' && (r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// dangerousCommand finds the commands that the document's program holds to be
// dangerous, however they are written.
func dangerousCommand(_ *obstat.Facts, a *effect.Analysis) (note, part string) {
	const why = "safety check: dangerous command pattern detected: "
	for i := range a.Commands {
		c := &a.Commands[i]
		if name := danger(c); name != "" {
			return why + name, text(a, c.Span)
		}
	}
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Kind == effect.Write && isDevice(e.Path) {
			return why + "write to a device", e.Raw
		}
	}
	return "", ""
}

func isDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/") && !strings.HasPrefix(p, "/dev/shm/") && !strings.HasPrefix(p, "/dev/fd/")
}

// danger names the dangerous pattern that a command is, "" for none.
func danger(c *effect.Command) string {
	p := c.Program
	switch forced := hasFlag(c, 'f', "force"); {
	case p == "rm" && forced && (hasFlag(c, 'r', "recursive") || hasFlag(c, 'R', "recursive")):
		return "rm -rf"
	case p == "rm" && (slices.Contains(c.Via, "sudo") || slices.Contains(c.Via, "doas")):
		return "sudo rm"
	case listed("dangerous programs", p) || strings.HasPrefix(p, "mkfs."):
		return p
	case p == "chmod" && hasWord(c, "chmod 777"):
		return "chmod 777"
	case p == "chown" && hasFlag(c, 'R', "recursive"):
		return "chown -R"
	case p == "kill" && (hasWord(c, "kill -9") || hasWord(c, "kill option") && hasWord(c, "kill -s")):
		return "kill -9"
	}
	return ""
}

// hasWord tells whether an argument of a command is in a table.
func hasWord(c *effect.Command, table string) bool {
	return slices.ContainsFunc(c.Args(), func(a shell.Word) bool { return listed(table, a.Text) })
}

// hasFlag tells whether a command is given a short flag, alone or in a bundle,
// or its long form.
func hasFlag(c *effect.Command, short byte, long string) bool {
	for _, a := range c.Args() {
		switch s := a.Text; {
		case s == "--":
			return false
		case strings.HasPrefix(s, "--"):
			if len(s) > 3 && strings.HasPrefix("--"+long, s) {
				return true
			}
		case len(s) > 1 && s[0] == '-' && strings.IndexByte(s, short) > 0:
			return true
		}
	}
	return false
}

// dangerousPaths finds targets in the document's table. Without the floor these
// are the targets of redirections and of the document's eleven commands.
func (t *toolset) dangerousPaths(f *obstat.Facts, a *effect.Analysis) (note, part string) {
	for i := range a.Effects {
		e := &a.Effects[i]
		if !t.Bare && e.Kind == effect.Delete {
			switch {
			case e.Target().Below && paths.Inside(e.Path, f.Call.Dir):
				return "safety check: removes the directory that it works in, with all that is in it", e.Raw
			case (e.Tags.Has(effect.Found) || e.Named()) && findsDangerous(e.Target(), f.Call.Dir):
				return "safety check: dangerous file or directory among those that a search finds and removes", text(a, e.Span)
			}
		}
		if t.looksAt(a, e) && t.dangerousTarget(e) {
			return "safety check: dangerous file or directory in bash command", e.Raw
		}
	}
	return "", ""
}

// looksAt tells whether the target of an effect is held to the table: that of a change, of a redirect, and of
// a mover that only reads it, since `cp ~/.ssh/id_rsa x` takes a key out of its directory. The bare document
// looks at no other commands, nor inside wrappers.
func (t *toolset) looksAt(a *effect.Analysis, e *effect.Effect) bool {
	moves, redirect := listed("movers", e.Program), e.Tags.Has(effect.Redirect)
	wrapped := e.Command >= 0 && len(a.Commands[e.Command].Via) > 0
	if t.Bare && !redirect && (!moves || wrapped) {
		return false
	}
	switch e.Kind {
	case effect.Read:
		return moves || redirect
	case effect.Write, effect.Delete, effect.System:
		return true
	}
	return false
}

// dangerousTarget tells whether an effect touches a path of the table; with the floor on, also one that
// links lead to, that a pattern may be, or that is known by its text alone, `~other/.bashrc`.
func (t *toolset) dangerousTarget(e *effect.Effect) bool {
	if t.Bare {
		return e.Path != "" && dangerous(e.Path)
	}
	at := cmp.Or(e.Path, e.Raw)
	if at == "" {
		return false
	}
	reached := e.Reaches(tables()["dangerous files"], tables()["dangerous dirs"]) != ""
	return dangerous(at) || e.Real != "" && dangerous(e.Real) || reached
}

// findsDangerous tells whether files that a search removes may be in the document's table: those of
// `find .git -name '*' -delete`, `find . -name .env -delete`, and all of the working directory.
func findsDangerous(set paths.Set, dir string) bool {
	place := path.Clean(set.Known())
	if set.IsZero() || set.IsAnything() || dangerous(place) {
		return true
	}
	last := paths.Set{Text: strings.ToLower(set.Text[strings.LastIndexByte(set.Text, '/')+1:])}
	if set.Below || strings.Trim(last.Text, anyName) == "" {
		return paths.Inside(place, dir)
	}
	for _, name := range slices.Concat(tables()["dangerous files"], tables()["dangerous dirs"]) {
		if last.Meets(paths.Set{Text: path.Base(name)}) {
			return true
		}
	}
	return false
}

// anyName are the marks of a pattern that says nothing of a name.
var anyName = string([]rune{paths.AnyText, paths.AnyName, paths.OneChar, paths.Visible})

// dangerousRemoval finds removals of the root, of a directory in it, of the home directory,
// and of everything at once.
func dangerousRemoval(f *obstat.Facts, a *effect.Analysis) (note, part string) {
	home := kit.Home(f.World)
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind == effect.Delete && (e.Path+e.Raw != "") && (vital(e.Path, home) || everything(e.Raw) || e.Raw == "~root") {
			return "safety check: dangerous removal of critical system path", e.Raw
		}
	}
	return "", ""
}

// vital tells whether a path is the root, a directory in it, the home directory or all of a directory.
func vital(p, home string) bool {
	return p != "" && (path.Dir(p) == "/" || home != "" && p == path.Clean(home) || path.Base(p) == "*")
}

func everything(raw string) bool {
	return raw == "*" || strings.HasSuffix(raw, "/*")
}

// staysInside tells whether the command runs nothing but filesystem commands
// and every path it touches is in a working directory.
func (t *toolset) staysInside(f *obstat.Facts, a *effect.Analysis) bool {
	if len(a.Gaps) > 0 || len(a.Commands) == 0 {
		return false
	}
	if t.Bare && !barePaths(a) {
		return false
	}
	for i := range a.Commands {
		c := &a.Commands[i]
		plain := c.Path == c.Program && len(c.Via)+len(c.Env) == 0
		if len(c.Words) > 0 && !(plain && listed("filesystem", c.Program)) {
			return false
		}
	}
	return t.targetsInside(f, a)
}

// barePaths tells whether the document's program would find a path in the
// command: an unquoted word that is neither a flag nor a number, and no
// redirection out of the working directories, not even to nowhere.
func barePaths(a *effect.Analysis) bool {
	if strings.Contains(strings.ReplaceAll(a.Source, " ", ""), ">/dev/") {
		return false
	}
	for i := range a.Commands {
		for _, w := range a.Commands[i].Args() {
			if plainWord(w.Raw) && !strings.HasPrefix(w.Raw, "-") {
				return true
			}
		}
	}
	return false
}

func (t *toolset) targetsInside(f *obstat.Facts, a *effect.Analysis) bool {
	targets := 0
	for i := range a.Effects {
		switch e := &a.Effects[i]; e.Kind {
		case effect.Run:
		case effect.Read, effect.Write, effect.Delete:
			if e.Path == "" || !t.inWorkingDirs(f, paths.Path{Abs: e.Path, Real: e.Real}) {
				return false
			}
			targets++
		default:
			return false
		}
	}
	return targets > 0
}

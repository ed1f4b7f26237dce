package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// standardInput analyses the code that a program reads from standard input.
func (c *call) standardInput(o *operand) {
	if o.role == roleText {
		return
	}
	w, known := c.input()
	switch {
	case o.role == roleBlob:
		c.blobs(&w, known)
		return
	case o.role == roleRemote && known:
		c.joined([]shell.Word{w}, "ssh")
		return
	case (o.role == roleRemote || o.role == roleSQL || c.f.where != "") && !known && !c.fedByOther():
		return // a person's terminal: `ssh host`, `psql app`, `docker exec -it web sh`
	}
	if file := c.inputFile(); !known && file != nil && o.role != roleShell { // `sqlite3 app.db < schema.sql`
		c.scriptFile(roleScript, "", file)
		return
	}
	if !known && o.role == roleSQL && len(c.ops()) > 0 && c.fedByDump() { // `pg_dump a | psql b`
		c.a.effect(c.own(Code, "SQL from standard input", Stdin))
		return
	}
	if !known {
		c.a.effect(c.own(Code, "code from standard input", Stdin))
		c.a.gap(DynamicCode, "code from standard input", c.span(), c.cmd)
		return
	}
	c.apply(o.role, o.lang, &w, false)
}

// inScript reports whether the command's place in a script is known.
func (c *call) inScript() bool {
	return c.f.script != nil && c.f.at >= 0 && c.f.at < len(c.f.script.Commands)
}

// inputFile returns the file that is standard input, nil if that is something else.
func (c *call) inputFile() *shell.Word {
	if !c.inScript() || c.f.script.Commands[c.f.at].Stdin >= 0 {
		return nil
	}
	list := c.f.script.Commands[c.f.at].Redirects
	for i := len(list) - 1; i >= 0; i-- {
		r := &list[i]
		if !strings.HasPrefix(r.Op, "<") {
			continue
		}
		device := strings.HasPrefix(r.Target.Text, "/dev/") || strings.HasPrefix(r.Target.Text, "/proc/")
		plain := r.Target.Known && !r.Target.Glob && !device
		if !plain || r.Op != "<" || r.Fd != "" && r.Fd != "0" {
			return nil
		}
		return &r.Target
	}
	return nil
}

// namedByInput reads the files whose names come from standard input: `zip x -@ <<< a`, `ls | cpio -pd out`.
func (c *call) namedByInput() {
	in, ok := c.inputWords()
	if !ok {
		c.readTree()
	}
	for i := range in {
		c.readFile(&in[i], true)
	}
}

// fedByOther reports whether standard input is a file or the output of another command.
func (c *call) fedByOther() bool {
	if !c.inScript() {
		return false
	}
	from := &c.f.script.Commands[c.f.at]
	return from.Stdin >= 0 || slices.ContainsFunc(from.Redirects, func(r shell.Redirect) bool {
		return strings.HasPrefix(r.Op, "<") && r.Target.Text != "/dev/null"
	})
}

// fedByDump reports whether standard input is the content of a database or a file, and not a text that the command
// makes itself, as `echo '\! rm x' | psql app` does.
func (c *call) fedByDump() bool {
	s := c.f.script
	if s == nil || c.f.at >= len(s.Commands) {
		return false
	}
	for at := c.f.at; s.Commands[at].Stdin >= 0; {
		from := s.Commands[at].Stdin
		if s.Commands[at].Nest&shell.MixedStdin != 0 || from >= at || left.ReadsFrom(&s.Commands[at]) {
			return false
		}
		words := s.Commands[from].Words
		errors := slices.ContainsFunc(s.Commands[from].Redirects, notErrors)
		if errors || len(words) == 0 || s.Redefines(words[0].Text) || !dumps(words) {
			return false
		}
		at = from
	}
	return true
}

var (
	dumpers          = kb.Table("!dumps")
	databaseDumpers  = kb.Table("!database-dumps")
	containerClients = kb.Table("!container-clients")
)

// dumps reports whether a command prints a database or a file as it is: `docker exec db pg_dump app`.
func dumps(words []shell.Word) bool {
	if slices.ContainsFunc(words, func(w shell.Word) bool { return strings.Contains(w.Raw, "(") }) { // `cat <(echo x)`
		return false
	}
	if !containerClients().Has(words[0].Text) {
		return words[0].Known && dumpers().Has(path.Base(words[0].Text))
	}
	exec, names := false, 0
	for i := range words {
		switch t := words[i].Text; {
		case names == 1 && databaseDumpers().Has(t):
			return true
		case exec && !word.IsFlag(t) && t != "--":
			names++
		default:
			exec = exec || t == "exec"
		}
	}
	return false
}

// input returns the literal text that a program reads from standard input.
func (c *call) input() (shell.Word, bool) {
	c.a.an.Commands[c.cmd].fed = true
	return left.Input(c.f.script, c.f.at)
}

// template is the command that parallel runs, with a word for the arguments that are put into it.
func (c *call) template(words []shell.Word) []shell.Word {
	why := "read from the input"
	if c.lists() {
		why = whyFound
	}
	for i := range words {
		if strings.Contains(words[i].Text, "{") {
			return c.fill(words, "{", why)
		}
	}
	return withUnknown(words, why)
}

// marks reports whether a word of the command stands for the input: `xargs -I{}`.
func (c *call) marks() bool {
	for i := range c.seen() {
		if c.seen()[i].flag.role == roleMark {
			return true
		}
	}
	return false
}

// inputWords returns the words that a plain text on standard input is split into, known or as
// far as they are: of `xargs rm <<< "a b$x"` a and b with an open end.
func (c *call) inputWords() ([]shell.Word, bool) {
	w, known := c.input()
	text := w.Text
	if !known {
		text = w.Shape()
	}
	if text == "" || text == shell.Unknown || len(text) > maxName || strings.ContainsAny(text, "'\"\\") {
		return nil, false
	}
	var out []shell.Word
	for f := range strings.FieldsSeq(text) {
		in := shell.Word{Text: f, Raw: f, Known: !strings.Contains(f, shell.Unknown)}
		if !in.Known {
			in.Text, _, _ = strings.Cut(f, shell.Unknown)
			in.Why = whyInput
			in = in.WithShape(f)
		}
		out = append(out, in)
	}
	return out, true
}

// blobs are the names of objects that `git cat-file --batch` reads.
func (c *call) blobs(w *shell.Word, known bool) {
	text := w.Text
	if !known {
		if text = w.Shape(); text == "" {
			c.gap(DynamicOperand, "which file is read is known only at run time", &c.words[0])
			e := c.own(Read, "", 0)
			e.Harmless = true
			c.a.effect(e)
			return
		}
	}
	for f := range strings.FieldsSeq(text) {
		in := shell.Word{Text: f, Raw: f, Known: known, Span: c.words[0].Span}
		if !known {
			in = in.WithShape(f)
		}
		c.blob(&in)
	}
}

package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// standardInput analyses what a program that reads its program from standard input would run.
func (c *call) standardInput(o *operand) {
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
		c.scriptFile(roleScript, file)
		return
	}
	if !known && o.role == roleSQL && len(c.ops()) > 0 && c.fedByDump() { // `pg_dump a | psql b`
		c.a.effect(Effect{Kind: Code, Program: c.name, Command: c.cmd, Span: c.span(), Detail: "SQL from standard input", Tags: Stdin, Where: c.f.where, Host: c.f.host})
		return
	}
	if !known {
		e := Effect{Kind: Code, Program: c.name, Command: c.cmd, Span: c.span(), Detail: "code from standard input", Tags: Stdin, Where: c.f.where, Host: c.f.host}
		c.a.effect(e)
		c.a.gap(DynamicCode, "code from standard input", c.span(), c.cmd)
		return
	}
	c.apply(o.role, o.lang, &w, false)
}

// inputFile returns the file that is standard input, nil if that is something else.
func (c *call) inputFile() *shell.Word {
	s := c.f.script
	if s == nil || c.f.at < 0 || c.f.at >= len(s.Commands) || s.Commands[c.f.at].Stdin >= 0 {
		return nil
	}
	list := s.Commands[c.f.at].Redirects
	for i := len(list) - 1; i >= 0; i-- {
		if r := &list[i]; strings.HasPrefix(r.Op, "<") {
			if r.Op != "<" || r.Fd != "" && r.Fd != "0" || !r.Target.Known || r.Target.Glob || strings.HasPrefix(r.Target.Text, "/dev/") || strings.HasPrefix(r.Target.Text, "/proc/") {
				return nil
			}
			return &r.Target
		}
	}
	return nil
}

// namedByInput reads the files whose names come from standard input: `zip x -@ <<< a`, `ls | cpio -pd out`.
func (c *call) namedByInput() {
	switch {
	case c.name == "zip" && c.flagged(" -@ "):
	case c.name == "cpio" && slices.ContainsFunc(c.words[1:], func(w shell.Word) bool {
		return w.Text == "--pass-through" || isFlag(w.Text) && w.Text[1] != '-' && strings.Contains(w.Text, "p")
	}):
	default:
		return
	}
	in, ok := c.inputWords()
	if !ok {
		c.readTree()
	}
	for i := range in {
		c.readFile(&in[i], true)
	}
}

// fedByOther reports whether standard input is a file or what another command prints.
func (c *call) fedByOther() bool {
	s := c.f.script
	if s == nil || c.f.at < 0 || c.f.at >= len(s.Commands) {
		return false
	}
	from := &s.Commands[c.f.at]
	return from.Stdin >= 0 || slices.ContainsFunc(from.Redirects, func(r shell.Redirect) bool { return strings.HasPrefix(r.Op, "<") && r.Target.Text != "/dev/null" })
}

// fedByDump reports whether standard input is what a database or a file holds, and not what the command makes itself, as
// `echo '\! rm x' | psql app` does.
func (c *call) fedByDump() bool {
	s := c.f.script
	if s == nil || c.f.at >= len(s.Commands) {
		return false
	}
	for at := c.f.at; s.Commands[at].Stdin >= 0; {
		if s.Commands[at].Nest&shell.MixedStdin != 0 || s.Commands[at].Stdin >= at || slices.ContainsFunc(s.Commands[at].Redirects, func(r shell.Redirect) bool { return strings.HasPrefix(r.Op, "<") }) {
			return false
		}
		at = s.Commands[at].Stdin
		if words := s.Commands[at].Words; len(words) == 0 || s.Redefines(words[0].Text) || !dumps(words) || slices.ContainsFunc(s.Commands[at].Redirects, notErrors) {
			return false
		}
	}
	return true
}

// dumps reports whether a command is one of dumpers, perhaps in a container: `docker exec db pg_dump app`.
func dumps(words []shell.Word) bool {
	if slices.ContainsFunc(words, func(w shell.Word) bool { return strings.Contains(w.Raw, "(") }) { // `cat <(echo x)`
		return false
	}
	if in := words[0].Text; in != "docker" && in != "podman" && in != "kubectl" {
		return words[0].Known && hasWord(dumpers, path.Base(in), ' ')
	}
	exec, names := false, 0
	for i := range words {
		switch t := words[i].Text; {
		case names == 1 && (t == "pg_dump" || t == "pg_dumpall" || t == "mysqldump" || t == "mariadb-dump"):
			return true
		case exec && !isFlag(t) && t != "--":
			names++
		default:
			exec = exec || t == "exec"
		}
	}
	return false
}

// dumpers are programs that print a database, or a file as it is.
const dumpers = " pg_dump pg_dumpall pg_restore mysqldump mariadb-dump cat zcat gunzip gzip xzcat xz unxz zstd zstdcat bzcat bzip2 bunzip2 lz4 pv "

// input returns the literal text that a program reads from standard input.
func (c *call) input() (shell.Word, bool) {
	c.a.an.Commands[c.cmd].fed = true
	return inputOf(c.f.script, c.f.at)
}

// inputOf returns the literal text that the command at a place of a script reads.
func inputOf(s *shell.Script, at int) (shell.Word, bool) {
	if s == nil || at >= len(s.Commands) {
		return shell.Word{}, false
	}
	from := &s.Commands[at]
	for i := len(from.Redirects) - 1; i >= 0; i-- {
		r := &from.Redirects[i]
		if r.Body != nil && (r.Fd == "" || r.Fd == "0") {
			return *r.Body, r.Body.Known
		}
		if strings.HasPrefix(r.Op, "<") {
			return shell.Word{}, false
		}
	}
	if from.Stdin < 0 || from.Stdin >= len(s.Commands) || from.Nest&shell.MixedStdin != 0 { // `(echo a; echo b) | xargs env`
		return shell.Word{}, false
	}
	if words := s.Commands[from.Stdin].Words; len(words) == 1 && words[0].Text == "cat" && from.Stdin < at && !s.Redefines("cat") { // `cat <<E | git apply`
		return inputOf(s, from.Stdin)
	}
	return printed(s.Commands[from.Stdin].Words)
}

// printed is what a plain echo or printf of literal words prints.
func printed(words []shell.Word) (shell.Word, bool) {
	if len(words) < 2 || !words[0].Known {
		return shell.Word{}, false
	}
	switch words[0].Text {
	case "echo":
		if words[1].Text == "-n" {
			words = words[1:]
		}
	case "printf":
		if len(words) > 2 && (words[1].Text == "%s" || words[1].Text == `%s\n`) {
			words = words[1:]
		}
		if len(words) != 2 || strings.ContainsRune(words[1].Text, '%') {
			return shell.Word{}, false
		}
	default:
		return shell.Word{}, false
	}
	var b strings.Builder
	known := true
	for i := range words[1:] {
		w := &words[i+1]
		text := w.Text
		if !w.Known {
			known, text = false, w.Shape()
		}
		if text == "" || w.Glob || strings.HasPrefix(text, "-") || strings.ContainsRune(text, '\\') {
			return shell.Word{}, false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	if !known {
		return shell.Word{Span: words[1].Span}.WithShape(b.String()), false
	}
	return shell.Word{Text: b.String(), Known: true, Span: words[1].Span}, true
}

// template is the command that parallel runs, with a word for what is put into it.
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
	return append(words[:len(words):len(words)], shell.Word{Why: why, Raw: "{}", Split: true, Span: words[len(words)-1].Span}.WithShape(shell.Unknown))
}

// marks reports whether a word of the command stands for what is read: `xargs -I{}`.
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
			in.Why = "read from standard input"
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
			c.a.effect(Effect{Kind: Read, Program: c.name, Command: c.cmd, Span: c.span(), Where: c.f.where, Host: c.f.host, Harmless: true})
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

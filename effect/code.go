package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/code"
	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// code is code in another language: beyond code that only computes and prints, it is not looked into.
func (c *call) code(lang string, w *shell.Word) {
	e := c.newEffect(Code, w)
	e.Detail, e.Tags = word.Or(lang, "inline")+" code", Inline
	c.a.effect(e)
	if !c.inline(lang, w) {
		c.gap(InlineCode, "code that is not looked into", w)
	}
}

// inline gives code in a language its effects, if it is understood.
func (c *call) inline(lang string, w *shell.Word) bool {
	if lang != "Python" || !w.Known || !c.a.afford(len(w.Text)/8) {
		return false
	}
	uses, ok := code.Python(w.Text)
	if !ok {
		return false
	}
	packages := slices.ContainsFunc(uses, func(u code.Use) bool { return u.How == "module" && !code.OwnModule(u.Name) })
	c.a.left.inlines = append(c.a.left.inlines, inlined{packages, c.f.dir, c.f.span(w.Span), c.cmd})
	for _, u := range uses {
		v := shell.Word{Text: u.Name, Raw: u.Name, Known: true, Span: w.Span}
		switch u.How {
		case "read":
			c.readFile(&v, true)
		case "write":
			c.changeFile(Write, &v)
		case "list":
			c.listFile(&v)
		case "environ":
			c.environ(&v)
		case "module":
			c.loads(&v)
		}
	}
	return true
}

// loads is a module that code loads: of the language, of a package, or a file of the project.
func (c *call) loads(w *shell.Word) {
	e := c.newEffect(Code, w)
	e.Raw, e.Detail, e.Tags = "", "loads "+w.Text, Script
	c.a.effect(e)
}

// inlined is code of a line that was read: it may load files that the command itself writes.
type inlined struct {
	packages bool   // it loads more than the modules of the language
	dir      string // where these are looked for first
	span     shell.Span
	cmd      int
}

// loadWritten finds code that may load a file which the command itself writes. Python looks for every
// module in the directory where it is run, for those that its own modules load too, as _strptime for datetime.
func (a *analyzer) loadWritten() {
	for _, in := range a.left.inlines {
		for i := range a.an.Effects {
			e := &a.an.Effects[i]
			if e.Kind != Write || !a.afford(1) || a.keeps(e) || !a.loadable(&in, e) {
				continue
			}
			if !slices.Contains(a.left.plain, word.Or(e.Path, e.Raw)) {
				a.gap(DynamicCode, "may load a file that the command itself writes", in.span, in.cmd)
				break
			}
		}
	}
}

// shadowed reports whether a file may be taken for one of Python's own modules: `json.py`, or a file of a
// package `json/`. One of another name is loaded by nothing.
func (in *inlined) shadowed(file string) bool {
	rest, below := strings.CutPrefix(file, in.dir+"/")
	for name := range strings.SplitSeq(strings.TrimSuffix(rest, ".py"), "/") {
		if code.OwnModule(name) || strings.HasSuffix(name, "-packages") || word.HasGlob(name) {
			return true
		}
		if below && in.dir != "" && !strings.Contains(rest, "-packages") {
			return false
		}
	}
	return false
}

var pythonLoads = kb.Table("!python-loads")

// loadable reports whether a file that is written may be a module, or a directory of modules.
func (a *analyzer) loadable(in *inlined, e *Effect) bool {
	file := word.Or(e.Path, e.Raw)
	switch ext := path.Ext(file); ext {
	case ".py":
		return in.packages || in.shadowed(file)
	case "", ".":
		_, copied := copiedFrom(a.wordsOf(e), e)
		return copied || e.Recursive
	default:
		return pythonLoads().Has(ext)
	}
}

// awk gives a program for awk its effects, or calls it code if it is not wholly understood.
func (c *call) awk(w *shell.Word) {
	writes, ok := code.Awk(w.Text)
	if !w.Known || !ok {
		c.code("awk", w)
		return
	}
	if strings.Contains(w.Text, "ENVIRON") {
		c.environ(w)
	}
	for _, f := range writes {
		c.changeFile(Write, &shell.Word{Text: f, Known: true, Span: w.Span})
	}
}

// sed gives a script for sed its effects, or calls it code if it is not wholly understood.
func (c *call) sed(w *shell.Word) {
	text, known := w.Text, w.Known
	if !w.Known { // `sed "s/x/$(git rev-parse --short HEAD)/"`
		text = w.Shape()
		known = strings.Count(text, shell.Unknown) == 1 && printsNumber(w)
		text = strings.Replace(text, shell.Unknown, "0", 1)
	}
	uses, ok := code.Sed(text)
	if !known || !ok {
		c.code("sed", w)
		return
	}
	for _, u := range uses {
		v := shell.Word{Text: u.Name, Known: true, Span: w.Span}
		switch u.Op {
		case 'r':
			c.readFile(&v, true)
		case 'w':
			c.changeFile(Write, &v)
		default:
			c.shellText(&v)
			c.gap(NotPlain, "sed runs a command", w)
		}
	}
}

var numbers = kb.Table("!prints-number")

// printsNumber reports whether a word has the name of a commit or a date in it.
func printsNumber(w *shell.Word) bool {
	return shell.IsPrinted(w) && numbers().In(strings.ReplaceAll(w.Raw, " ", ","))
}

// sql gives SQL text its effects: nothing beyond the connection if it only selects, a change
// if it is plain SQL, and code if it is anything else.
func (c *call) sql(w *shell.Word) {
	if !w.Known {
		c.code("SQL", w)
		return
	}
	text := strings.TrimSpace(w.Text)
	if text == "" || c.clientCommand(text, w) {
		return
	}
	if text[0] == '.' || text[0] == '\\' { // `.headers on`, and SQL behind it
		first, rest, _ := strings.Cut(text, "\n")
		if rest != "" && c.clientCommand(strings.TrimSpace(first), w) {
			v := *w
			v.Text = rest
			c.sql(&v)
			return
		}
	}
	if c.root.style&styleQuotes != 0 { // `select * from 'a.csv'` reads that file
		parts := strings.Split(strings.ReplaceAll(text, `"`, "'"), "'")
		for i := 1; i < len(parts); i += 2 {
			c.readFile(&shell.Word{Text: parts[i], Raw: parts[i], Known: true, Glob: word.HasGlob(parts[i]), Span: w.Span}, true)
		}
	}
	switch verb := code.SQL(text); verb {
	case "":
	case "?":
		c.code("SQL", w)
	default:
		c.changeDatabase(verb, w)
	}
}

// changeDatabase is a verb of SQL that changes something, in a file where the database is one.
func (c *call) changeDatabase(verb string, w *shell.Word) {
	if ops := c.ops(); c.root.style&styleFile != 0 && len(ops) > 0 && c.words[ops[0]].Text != ":memory:" {
		c.changeFile(Write, c.databaseFile(&c.words[ops[0]]))
		return
	}
	e := c.newEffect(Write, w)
	e.Raw, e.Detail, e.Unnamed = "", "SQL "+verb, true
	if code.Deletes(verb) {
		e.Kind = Delete
	}
	c.a.effect(e)
	if verb != "DELETE" && code.Deletes(verb) { // a row can be written again, a table not
		c.destroy()
	}
}

// databaseFile is the file of a database that SQLite is given as an address: `file:app.db?mode=ro`.
func (c *call) databaseFile(w *shell.Word) *shell.Word {
	name, ok := strings.CutPrefix(w.Text, "file:")
	if !ok || !w.Known || c.root.style&styleFile == 0 {
		return w
	}
	v := *w
	v.Text, _, _ = strings.Cut(strings.TrimPrefix(name, "//"), "?")
	return &v
}

// clientCommand is a command of a database's client: `\dt`, or `\copy t to 'a.csv' csv`.
func (c *call) clientCommand(text string, w *shell.Word) bool {
	if code.MetaCommand(text) {
		return true
	}
	file, writes, ok := code.CopyFile(text)
	v := shell.Word{Text: file, Raw: file, Known: true, Span: w.Span}
	switch {
	case ok && writes:
		c.changeFile(Write, &v)
	case ok:
		c.readFile(&v, true)
	}
	return ok
}

// patched gives `git apply` and `patch` the files that the patch names. It reports whether the text is known:
// from a here-document, or from a file that the command itself writes.
func (c *call) patched() bool {
	in, known := left.Input(c.f.script, c.f.at)
	text := in.Text
	for _, i := range c.ops() {
		if w := &c.words[i]; w.Text != "-" || !w.Known {
			text, known = c.a.writtenText(c.f.dir, w)
		}
	}
	strip, flags := c.patchFlags()
	most := 0 // the operand of patch is the file that it changes
	if c.isGit() {
		most = 1
	}
	if !known || !flags || len(c.ops()) > most || c.f.otherRepo || !c.a.afford(len(text)/bytesOfWork) {
		return false
	}
	names, ok := code.PatchNames(text, strip)
	dir, top := c.f.dir, c.a.worktree(c.f.dir)
	link := func(name string) bool { return c.a.isLink(dir, name) || c.a.isLink(top, name) }
	if !ok || slices.ContainsFunc(names, link) {
		return false
	}
	moves := strings.Contains(text, "\nrename from ") || strings.Contains(text, "\ncopy from ")
	c.patchFiles(names, moves)
	if c.isGit() && dir != top { // git takes the names from the top, patch from here
		c.f.dir = top
		c.patchFiles(names, moves)
		c.f.dir = dir
	}
	return true
}

func (c *call) patchFiles(names []string, moves bool) {
	for _, name := range names {
		w := shell.Word{Text: name, Raw: name, Known: true, Span: c.words[0].Span}
		if c.changeFile(Write, &w); moves {
			c.readFile(&w, true)
		}
	}
}

// isLink reports whether a file is a link, of which a patch would change where it leads.
func (a *analyzer) isLink(dir, name string) bool {
	if a.opts.FS == nil {
		return false
	}
	_, link := a.opts.FS.Readlink(a.resolve(dir, &shell.Word{Text: name, Known: true}).Abs)
	return link
}

var patchFlags = kb.Table("!patch-flags")

// patchFlags returns how many directories -p takes off a name, and whether all other flags leave the names alone.
func (c *call) patchFlags() (strip int, ok bool) {
	if strip = -1; c.isGit() {
		strip = 1
	}
	for i := 1; i < len(c.words); i++ {
		switch w := &c.words[i]; {
		case !w.Known:
			return 0, false
		case len(w.Text) == 3 && w.Text[:2] == "-p" && word.AllDigits(w.Text[2:]):
			strip = int(w.Text[2] - '0')
		case word.IsFlag(w.Text) && !patchFlags().Has(w.Text):
			return 0, false
		}
	}
	return strip, strip >= 0
}

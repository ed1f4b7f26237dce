package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// inner analyses the command that this one runs.
func (c *call) inner() {
	c.executed()
	entry := c.entry.Text != "" || c.entry.Why != ""
	if c.rest < 0 {
		if entry {
			c.wrap([]shell.Word{c.entry}, true)
		}
		return
	}
	words := c.words[c.rest:]
	if entry {
		words = append([]shell.Word{c.entry}, words...)
	}
	place := slices.IndexFunc(c.args, func(o operand) bool { return runs(o.role) })
	if place < 0 {
		return
	}
	switch o := &c.args[place]; o.role {
	case roleRun:
		if o.lang != "" { // which stands for the name of the first file: `entr cat /_`
			words = c.fill(words, o.lang, c.inputKind())
		}
		c.wrap(words, true)
	case roleRunMore:
		c.wrap(c.more(words), true)
	case roleRest:
		c.joined(words, "")
	case roleRemote:
		c.joined(words, "ssh")
	case roleParallel:
		c.parallel(words)
	}
}

// executed analyses the commands of flags, on the files that a search finds: `find . -exec rm {} +`.
func (c *call) executed() {
	for i := c.seenAt; i < len(c.a.seen); i++ {
		s := c.a.seen[i]
		if s.flag.role != roleExec {
			continue
		}
		if s.end == 0 {
			c.gap(NotPlain, "an argument that runs something", &c.words[min(s.at, len(c.words)-1)])
			continue
		}
		if !c.found.known {
			c.startsAt(here(c.words[0].Span))
		}
		l := c.a.dict.lister(c.words)
		c.found.name, c.found.noLinks, c.found.all = l.Name(c.words), l.FilesOnly(c.words), l.All(c.words)
		c.wrap(c.fill(withPlace(c.words[s.at:s.end], c.spec), "{}", whyFound), false)
	}
}

// inputKind says why a word that is read from standard input is not known: it is a file that was found, or anything.
func (c *call) inputKind() string {
	if c.lists() {
		return whyFound
	}
	return whyInput
}

func runs(r role) bool {
	switch r {
	case roleRun, roleRunMore, roleRest, roleRemote, roleParallel:
		return true
	}
	return false
}

// wrap analyses words as the command that this one runs.
func (c *call) wrap(words []shell.Word, transparent bool) {
	cmd := &c.a.an.Commands[c.cmd]
	cmd.Wrapper = true
	cmd.Transparent = transparent && c.harmlessSpec()
	cmd.Loads = transparent && slices.ContainsFunc(c.spec.does, func(d deed) bool { return d.verb == doesCode })
	if len(words) == 0 {
		return
	}
	f := c.f.inner(c.name, c.cmd)
	if f.found = c.found; !c.found.known {
		f.found.at = c.f.dir
	}
	if c.contained() {
		f.where, f.dir = "container", c.workdir
	}
	c.a.command(words, nil, &f)
}

// harmlessSpec reports whether the program does nothing of its own.
func (c *call) harmlessSpec() bool {
	return harmlessDeeds(c.spec.does) && !c.harmful()
}

func harmlessDeeds(list []deed) bool {
	for i := range list {
		if !list[i].verb.harmless() {
			return false
		}
	}
	return true
}

// contained reports whether the inner command runs in a container.
func (c *call) contained() bool {
	return slices.ContainsFunc(c.spec.does, func(d deed) bool { return d.tags.Has(Container) })
}

// runsCode reports whether a program runs the words that it is given as code.
func (d *dictionary) runsCode(program string) bool {
	s := d.lookup(program)
	return s == nil || s.stdin != nil || len(s.args) > 0 && (runs(s.args[0].role) || s.args[0].role == roleScript)
}

// withPlace adds the {} that fd puts behind a command which has none.
func withPlace(words []shell.Word, s *spec) []shell.Word {
	for i := range words {
		if s.style&styleFind != 0 || strings.Contains(words[i].Text, "{") {
			return words
		}
	}
	return append(words[:len(words):len(words)], shell.Word{Text: "{}", Raw: "{}", Known: true})
}

// more adds the words that xargs reads from its input, or puts them in the place of -I's word.
func (c *call) more(words []shell.Word) []shell.Word {
	if in, ok := c.inputWords(); ok && !c.marks() && !c.a.dict.runsCode(words[0].Text) {
		for i := range in {
			in[i].Span = words[len(words)-1].Span
		}
		return append(words[:len(words):len(words)], in...)
	}
	why := c.inputKind()
	for i := range c.seen() {
		s := &c.seen()[i]
		marked := func(w shell.Word) bool { return strings.Contains(w.Text, "{}") }
		if s.flag.role != roleMark || !s.has && !slices.ContainsFunc(words, marked) {
			continue
		}
		mark := "{}"
		if s.has && s.val.Text != "" {
			mark = s.val.Text
		}
		if in, ok := c.inputWords(); ok && len(in) == 1 && in[0].Known {
			return replaced(words, mark, in[0].Text)
		}
		return c.fill(words, mark, why)
	}
	if w, ok := c.printedInput(); ok {
		w.Span = words[len(words)-1].Span
		return append(words[:len(words):len(words)], w)
	}
	return withUnknown(words, why)
}

// withUnknown adds a word that stands for any number of words.
func withUnknown(words []shell.Word, why string) []shell.Word {
	w := shell.Word{Why: why, Raw: inputMark, Split: true, Span: words[len(words)-1].Span}
	return append(words[:len(words):len(words)], w.WithShape(shell.Unknown))
}

// replaced puts a text in the place of mark.
func replaced(words []shell.Word, mark, text string) []shell.Word {
	out := append([]shell.Word(nil), words...)
	for i := range out {
		out[i].Text = strings.ReplaceAll(out[i].Text, mark, text)
	}
	return out
}

// fill replaces words that contain mark by words that are not known.
func (c *call) fill(words []shell.Word, mark, why string) []shell.Word {
	out := append([]shell.Word(nil), words...)
	for i := range out {
		w := &out[i]
		at := strings.Index(w.Text, mark)
		if at < 0 {
			continue
		}
		if w.Text != mark {
			w.Why = "filled in at run time"
		} else {
			w.Why = why
		}
		rest := w.Text[at+len(mark):]
		if mark == "{" { // {}, {1}, {.}
			_, rest, _ = strings.Cut(rest, "}")
		}
		*w = w.WithShape(w.Text[:at] + shell.Unknown + strings.ReplaceAll(rest, mark, shell.Unknown))
		w.Text, w.Known, w.Raw = w.Text[:at], false, mark
	}
	return out
}

// joined analyses words that a shell puts together again, here or on another machine.
func (c *call) joined(words []shell.Word, where string) {
	cmd := &c.a.an.Commands[c.cmd]
	cmd.Wrapper = true
	var b strings.Builder
	for i := range words {
		if !words[i].Known {
			c.gap(DynamicCode, "code that is put together at run time", &words[i])
			return
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].Text)
	}
	f := c.f.inner(c.name, c.cmd)
	f.where, f.host = word.Or(where, f.where), word.Or(c.container.host, f.host)
	if where != "" && thisMachine(c.container.host) {
		home := c.a.resolve("", &shell.Word{Text: "~", Known: true, Tilde: true})
		f.where, f.dir = c.f.where, home.Abs // where a login begins
	}
	f.pin, f.pinned = c.f.span(shell.Span{Start: words[0].Span.Start, End: words[len(words)-1].Span.End}), true
	from := len(c.a.an.Effects)
	c.a.script(b.String(), &f)
	if c.isGit() && c.f.dir != "" { // `git submodule foreach 'cat ../.env'` runs in each of them
		c.a.alsoFrom(c.f.dir+"/submodule", &f, from)
	}
}

// shellText analyses a word as a script.
func (c *call) shellText(w *shell.Word) {
	if !w.Known {
		c.gap(DynamicCode, "code that is put together at run time", w)
		e := c.newEffect(Code, w)
		c.a.effect(e)
		return
	}
	c.a.an.Commands[c.cmd].Wrapper = true
	f := c.f.inner(c.name, c.cmd)
	if c.contained() {
		f.where = "container"
	}
	c.nest(&f, w)
	c.a.script(w.Text, &f)
}

// nest maps the spans of a word's text to the source, exactly if the word is one literal.
func (c *call) nest(f *frame, w *shell.Word) {
	at := strings.Index(w.Raw, w.Text)
	if c.f.pinned || at < 0 || at > 2 || w.Text == "" {
		f.pin, f.pinned = c.f.span(w.Span), true
		return
	}
	f.shift = c.f.shift + w.Span.Start + at
}

// scriptFile is a file or module that is run: seen by name, not looked into. The files of a module, and of a
// directory that is run, are in the knowledge base: of `python3 -m a` it is a.py.
func (c *call) scriptFile(r role, files string, w *shell.Word) {
	if r == roleScript && (w.Text == "-" || w.Text == "/dev/stdin") && w.Known {
		if c.spec.stdin != nil {
			c.standardInput(c.spec.stdin)
		} else { // `make -f -`
			c.gap(InlineCode, "code from standard input", w)
		}
		return
	}
	if strings.HasPrefix(w.Text, "data:") { // `node --import data:text/javascript,...`
		c.gap(InlineCode, "code in an address", w)
		return
	}
	e := c.newEffect(Code, w)
	e.Detail, e.Tags = "runs "+w.Text, Script
	name := w.Text
	if r == roleModule {
		c.module(w)
		name = strings.ReplaceAll(name, ".", "/") // `python -m a.b`
	}
	if !w.Known {
		// Neither `source <(kubectl completion bash)` nor `python3 $TOOLS/x.py`, which is a script as any other.
		base := path.Base(w.Shape())
		named := c.outside(w) && strings.Contains(base, ".") && !strings.Contains(base, shell.Unknown)
		if !named && (c.f.script == nil || !c.f.script.PrintsSetup(w.Raw)) {
			c.gap(DynamicCode, "which code is run is known only at run time", w)
		}
		c.a.effect(e)
		return
	}
	if r == roleScript {
		c.place(&e, w)
		c.a.starts(w, c.words, c.name, c.cmd, &c.f)
	}
	for file := range strings.FieldsSeq(files) {
		c.alsoStarts(name+file, w)
	}
	if r == roleScript {
		if !processSubst(w) {
			c.readFile(w, false)
		}
		if strings.HasPrefix(e.Path, "/dev/fd/") || strings.HasPrefix(e.Path, "/proc/") || e.Path == "/dev/stdin" {
			c.gap(DynamicCode, "which code is run is known only at run time", w)
		}
	}
	c.a.effect(e)
	if w.Text == "inplace" && c.root.args[0].role == roleAwk {
		c.inPlace = true // `awk -i inplace '{ print }' f`
	}
}

var environmentWords = kb.Table("!environment-words")

// unless is text that does no harm unless it has one of some words; some of those print the
// environment: `$ENV` in jq. `.env` is a field.
func (c *call) unless(words string, w *shell.Word) {
	if shell.IsNumber(w) {
		return
	}
	for harm := range strings.SplitSeq(words, "|") {
		if w.Known && !hasStart(w.Text, harm) {
			continue
		}
		if !environmentWords().Has(harm) {
			c.code("", w)
			return
		}
		c.environ(w)
	}
}

// hasStart reports whether text has a word, at the beginning of a name unless that is one letter.
func hasStart(text, start string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], start)
		if i < 0 {
			return false
		}
		at := from + i
		if at == 0 || len(start) == 1 || !word.IsByte(text[at-1]) && text[at-1] != '.' && text[at-1] != '"' {
			return true
		}
		from = at + 1
	}
}

// parallel analyses GNU parallel's template.
func (c *call) parallel(words []shell.Word) {
	end := 0
	for end < len(words) && !strings.HasPrefix(words[end].Text, ":::") {
		end++
	}
	if end == 0 {
		c.gap(DynamicCode, "the commands come from the input", &words[0])
		return
	}
	if strings.HasPrefix(words[0].Text, "{") { // `parallel '{1} {2}' ::: rm ::: f`
		c.gap(DynamicProgram, "the program is one of the arguments", &words[0])
	}
	before := len(c.a.an.Gaps)
	for i := end + 1; i < len(words) && strings.HasPrefix(words[end].Text, "::::"); i++ {
		c.readFile(&words[i], false)
	}
	if plainWords(words[:end]) {
		c.wrap(c.template(words[:end]), false)
	} else {
		c.joined(words[:end], "")
	}
	if len(c.a.an.Gaps) == before {
		c.gap(NotPlain, "arguments are put into the command", &words[0])
	}
}

// plainWords reports whether a shell would read the words, joined, as the same words again.
func plainWords(words []shell.Word) bool {
	for i := range words {
		if t := words[i].Text; !words[i].Known || !word.Plain(strings.ReplaceAll(t, "{", "")) && t != "{}" {
			return false
		}
	}
	return true
}

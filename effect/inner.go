package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// inner analyses the command that this one runs.
func (c *call) inner() {
	for i := c.seenAt; i < len(c.a.seen); i++ {
		if s := c.a.seen[i]; s.flag.role == roleExec && s.end == 0 {
			c.gap(NotPlain, "an argument that runs something", &c.words[min(s.at, len(c.words)-1)])
		} else if s.flag.role == roleExec {
			if !c.hasFound {
				c.startsAt(&shell.Word{Text: ".", Known: true})
			}
			c.foundName, c.noLinks, c.foundAll = nameFilter(c.words), filesOnly(c.words), findsAll(c.words)
			c.wrap(c.fill(withPlace(c.words[s.at:s.end], c.spec), "{}", whyFound), false)
		}
	}
	if c.rest < 0 {
		if c.entry.Text != "" || c.entry.Why != "" {
			c.wrap([]shell.Word{c.entry}, true)
		}
		return
	}
	place := 0
	for place < len(c.args) && !runs(c.args[place].role) {
		place++
	}
	words := c.words[c.rest:]
	if c.entry.Text != "" || c.entry.Why != "" {
		words = append([]shell.Word{c.entry}, words...)
	}
	switch c.args[min(place, len(c.args)-1)].role {
	case roleRun:
		if c.name == "entr" { // which puts the name of the first file there
			why := whyInput
			if c.lists() {
				why = whyFound
			}
			words = c.fill(words, "/_", why)
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
	f.secretNames = c.names
	f.found = c.f.dir
	if c.hasFound {
		f.found = c.found
	}
	f.foundName, f.foundShape, f.starts, f.noLinks, f.noHidden, f.foundAll = c.foundName, c.foundShape, c.starts, c.noLinks, c.noHidden, c.foundAll
	if w := c.place0(); w != "" {
		f.where, f.dir = w, c.workdir
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

// place0 is where the inner command runs, if that is not this machine.
func (c *call) place0() string {
	for i := range c.spec.does {
		if c.spec.does[i].tags.Has(Container) {
			return "container"
		}
	}
	return ""
}

// runsCode reports whether a program runs the words that it is given as code.
func runsCode(program string) bool {
	s := lookup(program)
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

// more adds what xargs reads from its input, or puts it in the place of -I's word.
func (c *call) more(words []shell.Word) []shell.Word {
	if in, ok := c.inputWords(); ok && !c.marks() && !runsCode(words[0].Text) {
		for i := range in {
			in[i].Span = words[len(words)-1].Span
		}
		return append(words[:len(words):len(words)], in...)
	}
	why := whyInput
	if c.lists() {
		why = whyFound
	}
	for i := range c.seen() {
		s := &c.seen()[i]
		if s.flag.role != roleMark || !s.has && !slices.ContainsFunc(words, func(w shell.Word) bool { return strings.Contains(w.Text, "{}") }) {
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
	out := append(words[:len(words):len(words)], shell.Word{Why: why, Raw: "{}", Split: true, Span: words[len(words)-1].Span}.WithShape(shell.Unknown))
	return out
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

// lists reports whether what is piped in is a list of files from a program that lists them. It
// notes where they lie, and whether one of them may be a secret.
func (c *call) lists() bool {
	s := c.f.script
	if s == nil || c.f.at < 0 || c.f.at >= len(s.Commands) {
		return false
	}
	name := ""
	for at := c.f.at; ; {
		from := s.Commands[at].Stdin
		if from < 0 || from >= at || s.Commands[at].Nest&shell.MixedStdin != 0 || !c.a.afford(1) {
			return false
		}
		words := s.Commands[from].Words
		if c.listedBy(words) {
			if c.foundName == "" {
				c.foundName = name
			}
			c.foundAll = c.foundAll && name == ""
			return true
		}
		if !selects(words) || len(s.Commands[from].Assigns) > 0 || slices.ContainsFunc(s.Commands[from].Redirects, notErrors) || s.Redefines(words[0].Text) {
			return false
		}
		at, name = from, or(name, grepsFor(words)) // `find dist -type f | sort | xargs md5sum`
	}
}

// listedBy notes where the files lie that a command lists, if that is all it does.
func (c *call) listedBy(words []shell.Word) bool {
	if !listing(words) {
		return false
	}
	c.foundName, c.noLinks, c.noHidden, c.foundAll = nameFilter(words), filesOnly(words), c.a.visibleOnly(words), findsAll(words)
	for i := range words[1:] {
		if !words[1+i].Known {
			return false
		}
		c.names = c.names || c.a.secretWord(&words[1+i])
	}
	starts := startsOf(words)
	for i := range starts {
		c.startsAt(&starts[i])
	}
	if len(starts) == 0 {
		c.startsAt(&shell.Word{Text: ".", Known: true})
	}
	return true
}

// startsOf returns the places that a listing begins at: of find the words before its
// expression, of grep those behind what it looks for.
func startsOf(words []shell.Word) (out []shell.Word) {
	find, skip := words[0].Text == "find", words[0].Text == "grep" || words[0].Text == "rg"
	for i := range words[1:] {
		switch w := &words[1+i]; {
		case skip && (strings.HasPrefix(w.Text, "-e") || strings.HasPrefix(w.Text, "-f") || strings.HasPrefix(w.Text, "--reg") || strings.HasPrefix(w.Text, "--file")):
			skip = false
		case find && len(out) > 0 && (isFlag(w.Text) || w.Text == "(" || w.Text == "!"):
			return out
		case isFlag(w.Text), words[0].Text == "git":
		case skip:
			skip = false
		default:
			out = append(out, *w)
		}
	}
	return out
}

// secretWord reports whether a word names a secret, as a path or as a pattern.
func (a *analyzer) secretWord(w *shell.Word) bool {
	if e, ok := a.opts.Sensitive.Lookup(w.Text); ok && e.Secret {
		return true
	}
	if !strings.ContainsAny(w.Text, "*?[") {
		return false
	}
	e, ok := a.glob(w.Text)
	return ok && e.Secret
}

// startsAt is a place below which files are found. If secrets lie there, what is found may be
// one of them.
func (c *call) startsAt(w *shell.Word) {
	p := c.a.resolve(c.f.dir, w)
	e := Effect{Path: p.Abs, Real: p.Real, Raw: w.Text}
	if entry, ok := c.a.opts.Sensitive.Lookup(or(or(p.Real, p.Abs), p.Text)); ok && entry.Secret || !w.Known || w.Glob && c.a.secretWord(w) || c.a.below(&e) {
		c.names = true
	}
	at, shape := or(p.Real, p.Abs), w.Shape()
	switch {
	case !w.Known && shape != "" && !strings.Contains(shape, shell.Unknown):
		p = c.a.resolve(c.f.dir, &shell.Word{Text: shape, Known: true, Tilde: true})
		at = or(p.Real, p.Abs)
	case !w.Known && w.Text != "" && shape != "":
		at, c.foundShape = "", *c.a.shapeOf(w, c.f.dir)
	case at == "" && w.Known:
		c.foundShape = fromAnywhere(w.Text)
	}
	if c.starts = append(c.starts, at); at == "" {
		c.starts = []string{""} // one that is not known is among them
	}
	if c.hasFound {
		at = common(c.found, at)
	}
	c.found, c.hasFound = at, true
}

// places are where files are found: each place that a search begins at, or what is above all of them.
func (f *frame) places() []string {
	if len(f.starts) < 2 || f.starts[0] == "" || f.foundShape != "" {
		return []string{f.found}
	}
	return f.starts
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
	f.where, f.host = or(where, f.where), or(c.host, f.host)
	if where != "" && thisMachine(c.host) {
		f.where, f.dir = c.f.where, c.a.resolve("", &shell.Word{Text: "~", Known: true, Tilde: true}).Abs // where a login begins
	}
	f.pin, f.pinned = c.f.span(shell.Span{Start: words[0].Span.Start, End: words[len(words)-1].Span.End}), true
	from := len(c.a.an.Effects)
	c.a.script(b.String(), &f)
	if c.name == "git" && c.f.dir != "" { // `git submodule foreach 'cat ../.env'` runs in each of them
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
	if w := c.place0(); w != "" {
		f.where = w
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

// scriptFile is a file or module that is run: seen by name, not looked into.
func (c *call) scriptFile(r role, w *shell.Word) {
	if r == roleScript && (w.Text == "-" || w.Text == "/dev/stdin") && w.Known {
		if c.spec.stdin != nil {
			c.standardInput(c.spec.stdin)
		} else { // `make -f -`
			c.gap(InlineCode, "code from standard input", w)
		}
		return
	}
	e := c.newEffect(Code, w)
	e.Detail, e.Tags = "runs "+w.Text, Script
	if r == roleModule {
		c.module(w)
	}
	switch {
	case !w.Known && c.f.script != nil && c.f.script.PrintsSetup(w.Raw): // `source <(kubectl completion bash)`
	case !w.Known:
		c.gap(DynamicCode, "which code is run is known only at run time", w)
	case r == roleModule:
		for _, file := range [...]string{".py", "/__main__.py", "/__init__.py"} { // `python -m a.b`
			c.alsoStarts(strings.ReplaceAll(w.Text, ".", "/")+file, w)
		}
	case r == roleScript:
		c.place(&e, w)
		c.a.starts(w, c.words, c.name, c.cmd, &c.f)
		if c.spec.stdin != nil && c.spec.stdin.lang == "JavaScript" {
			c.alsoStarts(w.Text+"/index.js", w) // `node .`
		}
		if !processSubst(w) {
			c.readFile(w, false)
		}
		if strings.HasPrefix(e.Path, "/dev/fd/") || strings.HasPrefix(e.Path, "/proc/") || e.Path == "/dev/stdin" {
			c.gap(DynamicCode, "which code is run is known only at run time", w)
		}
	}
	c.a.effect(e)
	if w.Text == "inplace" && strings.HasSuffix(c.name, "awk") {
		c.inPlace = true // `awk -i inplace '{ print }' f`
	}
}

// unless is text that does no harm unless it has one of some words; env, $ENV, e and E print the
// environment, in jq and in ps. `.env` is a field.
func (c *call) unless(words string, w *shell.Word) {
	if shell.IsNumber(w) {
		return
	}
	for word := range strings.SplitSeq(words, "|") {
		if w.Known && !hasStart(w.Text, word) {
			continue
		}
		switch word {
		case "env", "$ENV", "e", "E":
			c.environ(w)
		default:
			c.code("", w)
			return
		}
	}
}

// hasStart reports whether text has a word, at the beginning of a name unless that is one letter.
func hasStart(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		at := from + i
		if at == 0 || len(word) == 1 || !isWordByte(text[at-1]) && text[at-1] != '.' && text[at-1] != '"' {
			return true
		}
		from = at + 1
	}
}

// code is code in another language: beyond what only computes and prints, it is not looked into.
func (c *call) code(lang string, w *shell.Word) {
	e := c.newEffect(Code, w)
	e.Detail, e.Tags = or(lang, "inline")+" code", Inline
	c.a.effect(e)
	if !c.inline(lang, w) {
		c.gap(InlineCode, "code that is not looked into", w)
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
		if t := words[i].Text; !words[i].Known || !plain(strings.ReplaceAll(t, "{", "")) && t != "{}" {
			return false
		}
	}
	return true
}

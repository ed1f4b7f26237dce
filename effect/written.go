package effect

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/effect/internal/code"
	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// A command may write a file and then run it: `echo 'rm v' > t.sh && sh t.sh`. The text that it writes
// there is judged as the file's commands where it is known, and is a gap where it is not. A copy
// of a program, or a link to one, is that program: `ln -s /bin/rm x; ./x v`.

// leavings are the files that commands of a call leave for those after them.
type leavings struct {
	writes  []written
	started []started
	inlines []inlined
	ran     []string // texts that were looked into
	edits   []int    // effects of sed on files that were found
	plain   []string // files that are written and whose code was read
	copies  left.Copies
}

// written is a file that the command writes, with the place of the shell command that does so.
type written struct {
	effect int
	script *shell.Script
	at     int
}

// started is a file that the command runs.
type started struct {
	file   Effect // a read of it
	words  []shell.Word
	f      frame
	cmd    int
	span   shell.Span
	reader string // the program that reads it as code, "" if it is run by itself
}

const selfWritten = "runs a file that the command itself writes"

// wrote notes which files the effects from a place on write.
func (a *analyzer) wrote(from int, f *frame) {
	if n := len(a.left.writes); n > 0 {
		from = max(from, a.left.writes[n-1].effect+1)
	}
	for i := from; i < len(a.an.Effects); i++ {
		e := &a.an.Effects[i]
		switch {
		case e.Kind != Write:
		case !e.Unnamed && !e.Recursive && e.Where == "" && e.Raw != "":
			a.left.writes = append(a.left.writes, written{i, f.script, f.at})
		case e.Recursive && a.dict.takes(e.Program, roleSed):
			a.left.edits = append(a.left.edits, i)
		}
	}
}

// starts notes a file that is run.
func (a *analyzer) starts(w *shell.Word, words []shell.Word, reader string, cmd int, f *frame) {
	if f.where != "" && len(f.mounts) == 0 {
		return
	}
	e := readOf(w.Text)
	e.Where = f.where
	a.place(&e, w, f)
	a.left.started = append(a.left.started, started{e, words, *f, cmd, f.span(w.Span), reader})
}

// alsoStarts notes a file that a word stands for which names code, if the command writes any.
func (c *call) alsoStarts(file string, w *shell.Word) {
	if len(c.a.left.writes) > 0 {
		c.a.starts(&shell.Word{Text: file, Raw: w.Raw, Known: true, Span: w.Span}, c.words, c.name, c.cmd, &c.f)
	}
}

// runWritten analyses the files that were both written and run.
func (a *analyzer) runWritten() {
	l := &a.left
	l.writes = slices.DeleteFunc(l.writes, func(w written) bool { return a.keeps(&a.an.Effects[w.effect]) })
	if len(l.writes)+len(l.edits) == 0 {
		return
	}
	a.renamed()
	a.installed()
	at := 0
	for i := 0; (i < len(l.started) || at < len(a.an.Commands)) && !a.full; {
		if i == len(l.started) {
			a.runImplied(at) // of the commands that were typed, and of those that they run
			at++
			continue
		}
		s, writes := l.started[i], len(l.writes)
		a.runFile(&s, &s.file, 0)
		if i++; len(l.writes) > writes { // `python3 gen.py; sh x.sh`, where gen.py writes x.sh
			i, at = 0, 0
		}
	}
	a.mayRunWritten()
}

// keeps reports whether a write leaves the meaning of the file.
func (a *analyzer) keeps(e *Effect) bool { return e.Formatted() || keepsContent(a.wordsOf(e)) }

// renamed notes programs that get a second name, by which a later command may run them:
// `cp /bin/rm d/x && run-parts d`.
func (a *analyzer) renamed() {
	for _, w := range a.left.writes {
		e := &a.an.Effects[w.effect]
		from, _ := copiedFrom(a.wordsOf(e), e)
		for i := range from {
			if t := from[i].Text; from[i].Known && standardDir(path.Dir(t)) && a.afford(1) {
				a.an.Written = append(a.an.Written, Text{t, e.Command})
			}
		}
	}
}

var programDirs = kb.Table("!program-dirs")

// installed notes the programs that are run by name and were put where programs are found.
func (a *analyzer) installed() {
	for _, w := range a.left.writes {
		p := a.an.Effects[w.effect].Path
		if !programDirs().Has(path.Base(path.Dir(p))) {
			continue
		}
		for i := range a.an.Commands {
			c := &a.an.Commands[i]
			if c.Path != path.Base(p) {
				continue
			}
			if shell.PrintsSetup(c.Words) { // and its output is run
				a.gap(DynamicCode, selfWritten, c.Span, i)
			}
			s := c.started(i)
			s.file = readOf(p)
			s.file.Path = p
			a.left.started = append(a.left.started, s)
		}
	}
}

// started is command i as one that runs a file.
func (c *Command) started(i int) started {
	f := frame{dir: c.Dir, via: c.Via, owner: i, spans: spans{pin: c.Span, pinned: true}}
	return started{words: c.Words, f: f, cmd: i, span: c.Span}
}

// readOf is a read of a path as it is written.
func readOf(raw string) (e Effect) {
	e.Kind, e.Raw = Read, raw
	return e
}

// runImplied analyses the files that a command reads as code without being told, as make its Makefile.
func (a *analyzer) runImplied(i int) {
	c := a.an.Commands[i]
	s := c.started(i)
	for _, file := range codeFiles()[c.Program] {
		if s.reader = c.Program; a.hook(c.Program, file) {
			s.reader = "sh"
		}
		s.file = readOf(file)
		if p := a.resolve(c.Dir, &shell.Word{Text: file, Known: true, Tilde: true}); c.Dir != "" || file[0] == '~' {
			s.file.Path, s.file.Real = p.Abs, p.Real
		}
		a.runFile(&s, &s.file, 0)
	}
}

// hook reports whether a file of git's is a script: all but its settings.
func (a *analyzer) hook(program, file string) bool {
	sp := a.dict.lookup(program)
	return sp != nil && sp.style&styleGit != 0 && !strings.HasSuffix(file, "config")
}

// codeFiles has, by program, the files of a project that it runs or takes settings from: a Makefile.
var codeFiles = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for b := range kb.Find("!runs") {
		for name := range strings.FieldsSeq(b.Head[len("!runs"):]) {
			out[name] = strings.Fields(b.Body)
		}
	}
	return out
})

// isCodeFile reports whether some program runs files of a name: `CMakeLists.txt`.
func isCodeFile(name string) bool {
	for _, files := range codeFiles() {
		if slices.Contains(files, name) {
			return true
		}
	}
	return false
}

// maxCopies is how often a copy of a copy is followed.
const maxCopies = 8

// runFile analyses the text of a file according to the writes to it.
func (a *analyzer) runFile(s *started, file *Effect, copies int) {
	if !a.afford(2 * len(a.left.writes)) {
		return
	}
	var text strings.Builder
	all, parts := true, 0
	for _, w := range a.left.writes {
		e := &a.an.Effects[w.effect]
		if !same(e, file) && !partOf(e, file) || a.keeps(e) {
			continue
		}
		words := a.wordsOf(e)
		parts++
		if from, ok := copiedFrom(words, e); ok && copies < maxCopies {
			a.runCopies(s, from, copies)
			continue
		}
		t, ok := a.textOf(&w, words)
		if ok = ok && (parts == 1 || w.script.Commands[w.at].Nest&shell.Uncertain == 0); !ok || file.Glob {
			all = false
			continue
		}
		text.WriteString(t)
	}
	switch {
	case parts == 0:
	case !all:
		a.gap(DynamicCode, selfWritten, s.span, s.cmd)
	case text.Len() > 0:
		a.runText(s, text.String())
	}
}

// same reports whether two effects may be on the same file.
func same(e, file *Effect) bool {
	if e.Path == "" || file.Path == "" {
		return path.Base(e.Raw) == path.Base(file.Raw)
	}
	return e.Target().Meets(file.Target()) || e.real() == file.real()
}

var (
	splitters  = kb.Table("!splits")
	keepers    = kb.Table("!keeps")
	compilers  = kb.Table("!compilers")
	copiers    = kb.Table("!copies")
	rewriters  = kb.Table("!rewrites")
	proseFiles = kb.Table("!prose")
	ownCode    = kb.Table("!own-code")
)

// partOf reports whether a file may be one that split makes, whose names begin with the one that it is told.
func partOf(e, file *Effect) bool {
	return splitters().Has(e.Program) && e.Path != "" && strings.HasPrefix(file.Path, e.Path)
}

// wordsOf returns the words of the command that an effect comes from.
func (a *analyzer) wordsOf(e *Effect) []shell.Word {
	if e.Command < 0 || e.Command >= len(a.an.Commands) {
		return nil
	}
	return a.an.Commands[e.Command].Words
}

// keepsContent reports whether a program leaves the text of a file alone, or makes it from the
// project's own files, as a compiler does.
func keepsContent(words []shell.Word) bool {
	if len(words) == 0 {
		return false
	}
	name, _ := programName(words[0].Text)
	return (keepers().Has(name) || compilers().Has(name)) && !rewrites(name, words[1:])
}

// rewrites reports whether a program that else keeps files is told to write code:
// `git apply`, `npm pkg set scripts.x=rm`.
func rewrites(program string, args []shell.Word) bool {
	return slices.ContainsFunc(rewriters().Words(), func(entry string) bool {
		name, rest, _ := strings.Cut(entry, ",")
		if name != "*" && name != program {
			return false
		}
		pattern, rest, more := strings.Cut(rest, ",")
		for i := range args {
			switch {
			case !kb.Match(pattern, args[i].Text) && (args[i].Known || !strings.Contains(pattern, "*")):
			case !more:
				return true
			default:
				pattern, rest, more = strings.Cut(rest, ",")
			}
		}
		return false
	})
}

// copiedFrom returns the files that a command makes a copy of, or a link to; ok is false if it does
// something else.
func copiedFrom(words []shell.Word, e *Effect) (from []shell.Word, ok bool) {
	if len(words) == 0 {
		return nil, false
	}
	if name, _ := programName(words[0].Text); !copiers().Has(name) {
		return nil, false
	}
	for _, w := range words[1:] {
		if !word.IsFlag(w.Text) && (w.Text != e.Raw || !w.Known || e.Tags.Has(Redirect)) {
			from = append(from, w)
		}
	}
	return from, len(from) > 0
}

// runCopies analyses a file as the files that it was copied from.
func (a *analyzer) runCopies(s *started, from []shell.Word, copies int) {
	for i := range from {
		w := from[i]
		e := readOf(w.Text)
		if w.Known && !w.Glob {
			a.place(&e, &w, &s.f)
		}
		switch {
		case !w.Known || w.Glob || strings.HasPrefix(e.Path, "/dev/") || strings.HasPrefix(e.Path, "/proc/"):
			a.gap(DynamicCode, selfWritten, s.span, s.cmd) // `install /dev/stdin x`
		case standardDir(path.Dir(e.real())) || e.Path != "" && standardDir(path.Dir(e.Path)):
			if s.reader == "" {
				a.runAs(s.words, e.Path, s.cmd, &s.f)
			}
		default:
			a.runFile(s, &e, copies+1)
		}
	}
}

// runAs analyses words as the program at a path.
func (a *analyzer) runAs(words []shell.Word, program string, cmd int, f *frame) {
	in := f.inner(path.Base(words[0].Text), cmd)
	real := slices.Clone(words)
	real[0].Text, real[0].Raw, real[0].Known, real[0].Glob = program, program, true, false
	in.source = ""
	a.command(real, nil, &in)
}

// runText analyses the text of a file that is run.
func (a *analyzer) runText(s *started, text string) {
	reader := s.reader
	if reader == "" {
		reader = interpreter(text)
	}
	if !a.dict.runsShell(reader) {
		a.runCode(s, reader, text)
		return
	}
	if slices.Contains(a.left.ran, text) {
		return
	}
	a.left.ran = append(a.left.ran, text)
	if s.cmd >= 0 && s.cmd < len(a.an.Commands) {
		a.an.Commands[s.cmd].Wrapper = true
	}
	if a.dict.sources(reader) && shell.StaysHere(s.file.Raw) {
		a.gap(DynamicCode, "sources a file that the command itself writes", s.span, s.cmd) // later commands may run elsewhere
	}
	in := s.f.inner(path.Base(s.words[0].Text), s.cmd)
	in.pin, in.pinned = s.span, true
	a.script(text, &in)
}

// interpreter returns the program that a script's first line names: `#!/usr/bin/env python3`.
func interpreter(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(first, "#!")
	fields := strings.Fields(line)
	switch {
	case !ok || len(fields) == 0:
		return "sh"
	case len(fields) > 1 && strings.HasPrefix(fields[1], "-"):
		return path.Base(fields[0])
	}
	return path.Base(fields[len(fields)-1])
}

// textOf returns the text that a command writes into a file.
func (a *analyzer) textOf(w *written, words []shell.Word) (string, bool) {
	if w.script == nil || w.at >= len(w.script.Commands) || len(words) == 0 {
		return "", false
	}
	name, _ := programName(words[0].Text)
	switch c := &w.script.Commands[w.at]; {
	case a.an.Effects[w.effect].Tags.Has(Redirect) && left.Prints(name):
		return left.Printed(words)
	case !left.Passes(name):
		return "", false
	case c.Stdin >= 0 && c.Stdin < len(w.script.Commands) && !left.ReadsFrom(c):
		return left.Printed(w.script.Commands[c.Stdin].Words)
	}
	in, ok := left.Input(w.script, w.at)
	return in.Text + "\n", ok
}

// writtenText returns the text that the command itself writes into a file, if all of that is known.
func (a *analyzer) writtenText(dir string, file *shell.Word) (string, bool) {
	p := a.resolve(dir, file)
	read := readOf(file.Text)
	read.Path, read.Real = p.Abs, p.Real
	var text string
	ok := false
	for _, w := range a.left.writes {
		e := &a.an.Effects[w.effect]
		if !same(e, &read) || a.keeps(e) {
			continue
		}
		if text != "" || appended(&w, a.wordsOf(e)) || slices.ContainsFunc(a.an.Effects[w.effect+1:], mayReplace) {
			return "", false
		}
		if text, ok = a.textOf(&w, a.wordsOf(e)); !ok {
			return "", false
		}
	}
	return text, ok
}

// appended reports whether a text that is written may follow other text that is in the file already.
func appended(w *written, words []shell.Word) bool {
	if w.script == nil || w.at >= len(w.script.Commands) {
		return true
	}
	appends := func(r shell.Redirect) bool { return strings.HasSuffix(r.Op, ">>") }
	if slices.ContainsFunc(w.script.Commands[w.at].Redirects, appends) {
		return true
	}
	return slices.ContainsFunc(words[min(1, len(words)):], func(w shell.Word) bool { return word.IsFlag(w.Text) })
}

// mayReplace reports whether files are written of which it is not said which they are: `tar xf x.tar`.
func mayReplace(e Effect) bool { return e.Kind == Write && (e.Unnamed || e.Recursive) && !e.Harmless }

// mayRunWritten notes the texts that are written into files of a project whose code is run then:
// `cat > x_test.go <<E ... E; go test`, `echo 'RUN rm x' > Dockerfile; docker build .`. Which files a
// build reads is not known, so all of them count that are not prose.
func (a *analyzer) mayRunWritten() {
	if !slices.ContainsFunc(a.an.Effects, runsProject) && !slices.ContainsFunc(a.an.Commands, startsFile) {
		return
	}
	for _, i := range a.left.edits { // `find . -name '*.sh' | xargs sed -i 's/.*/rm x/'; sh build.sh`
		if e := &a.an.Effects[i]; len(a.wordsOf(e)) > 0 {
			text := strings.ReplaceAll(left.Literal(a.wordsOf(e)[1:]), "/", "\n")
			a.an.Written = append(a.an.Written, Text{text, e.Command})
		}
	}
	for _, w := range a.left.writes {
		e := &a.an.Effects[w.effect]
		words := a.wordsOf(e)
		if name := path.Base(e.Raw); proseFiles().Has(name) && !isCodeFile(name) || len(words) == 0 {
			continue
		}
		text, known := a.textOf(&w, words)
		if name, _ := programName(words[0].Text); !known && left.Prints(name) {
			text = left.Literal(words[1:])
		} else if in, ok := left.Input(w.script, w.at); ok && !known && a.dict.patches(name) {
			text = code.AddedLines(in.Text)
		}
		if text != "" && !slices.Contains(a.left.ran, text) {
			a.an.Written = append(a.an.Written, Text{text, e.Command})
		}
	}
}

// runCode reads the text of a file that another program than a shell runs: `cat > t.py <<E ... E; python3 t.py`.
// The same text may be harmless as Python and not for a shell, so it is remembered with its reader.
func (a *analyzer) runCode(s *started, reader, text string) {
	seen := reader + " reads " + text
	if slices.Contains(a.left.ran, seen) {
		return
	}
	sp := a.dict.lookup(reader)
	if sp == nil || sp.stdin == nil || sp.stdin.role != roleCode {
		a.gap(InlineCode, "code that is not looked into", s.span, s.cmd)
		return
	}
	c := a.newCall(s.words, reader, sp, s.cmd, &s.f)
	c.f.pin, c.f.pinned = s.span, true
	from := len(a.an.Effects)
	if !c.inline(sp.stdin.lang, &shell.Word{Text: text, Known: true, Span: s.span}) {
		a.gap(InlineCode, "code that is not looked into", s.span, s.cmd)
		return
	}
	if dir := path.Dir(s.file.Path); s.file.Path != "" {
		a.left.inlines[len(a.left.inlines)-1].dir = dir // not where it is run
	}
	a.left.ran, a.left.plain = append(a.left.ran, seen), append(a.left.plain, word.Or(s.file.Path, s.file.Raw))
	a.wrote(from, &s.f)
}

// runsProject reports whether an effect runs code of the project, or starts a service that it may describe.
func runsProject(e Effect) bool {
	return (e.Kind == Code || e.Kind == System) && !e.Harmless && e.Where == "" && !ownCode().Has(e.Program)
}

// startsFile reports whether a command may be a file that a build makes, or run one: `gcc a.c -o a && ./a`, `poe test`.
func startsFile(c Command) bool { return !c.Catalogued || compilers().Has(c.Program) }

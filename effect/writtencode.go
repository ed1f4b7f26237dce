package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// mayRunWritten notes the texts that are written into files of a project whose code is run then:
// `cat > x_test.go <<E ... E; go test`, `echo 'RUN rm x' > Dockerfile; docker build .`. Which files a
// build reads is not known, so all of them count that are not prose.
func (a *analyzer) mayRunWritten() {
	if !slices.ContainsFunc(a.an.Effects, runsProject) && !slices.ContainsFunc(a.an.Commands, startsFile) {
		return
	}
	for _, i := range a.edits { // `find . -name '*.sh' | xargs sed -i 's/.*/rm x/'; sh build.sh`
		if e := &a.an.Effects[i]; len(a.wordsOf(e)) > 0 {
			a.an.Written = append(a.an.Written, Text{strings.ReplaceAll(literal(a.wordsOf(e)[1:]), "/", "\n"), e.Command})
		}
	}
	for _, w := range a.writes {
		e := &a.an.Effects[w.effect]
		words := a.wordsOf(e)
		if isProse(e.Raw) || len(words) == 0 {
			continue
		}
		text, known := a.textOf(&w, words)
		if name, _ := programName(words[0].Text); !known && (name == "echo" || name == "printf") {
			text = literal(words[1:])
		} else if in, ok := inputOf(w.script, w.at); ok && !known && (name == "git" || name == "patch") {
			text = addedLines(in.Text)
		}
		if text != "" && !slices.Contains(a.ran, text) {
			a.an.Written = append(a.an.Written, Text{text, e.Command})
		}
	}
}

// runCode reads the text of a file that another program than a shell runs: `cat > t.py <<E ... E; python3 t.py`. One and the
// same text may be harmless as Python and not for a shell, so it is remembered with its reader.
func (a *analyzer) runCode(s *started, reader, text string) {
	seen := reader + " reads " + text
	if slices.Contains(a.ran, seen) {
		return
	}
	sp := lookup(reader)
	if sp == nil || sp.stdin == nil || sp.stdin.role != roleCode {
		a.gap(InlineCode, "code that is not looked into", s.span, s.cmd)
		return
	}
	c := call{a: a, f: s.f, words: s.words, cmd: s.cmd, name: reader, root: sp, spec: sp, rest: -1, seenAt: len(a.seen), opsAt: len(a.ops)}
	c.f.pin, c.f.pinned = s.span, true
	from := len(a.an.Effects)
	if !c.inline(sp.stdin.lang, &shell.Word{Text: text, Known: true, Span: s.span}) {
		a.gap(InlineCode, "code that is not looked into", s.span, s.cmd)
		return
	}
	if dir := path.Dir(s.file.Path); s.file.Path != "" {
		a.inlines[len(a.inlines)-1].dir = dir // not where it is run
	}
	a.ran, a.plain = append(a.ran, seen), append(a.plain, or(s.file.Path, s.file.Raw))
	a.wrote(from, &s.f)
}

// runsProject reports whether an effect is that code of the project is run, or a service started that may be described by it. Git runs hooks, which are looked for by their names.
func runsProject(e Effect) bool {
	return (e.Kind == Code || e.Kind == System) && !e.Harmless && e.Program != "git" && e.Program != "gh" && e.Where == ""
}

// startsFile reports whether a command may be a file that a build makes, or run or include one: `gcc a.c -o a && ./a`, `poe test`.
func startsFile(c Command) bool { return !c.Catalogued || isCompiler(c.Program) }

// isProse reports whether a file's name is that of a text which nothing runs.
func isProse(file string) bool {
	switch path.Ext(file) {
	case ".md", ".markdown", ".rst", ".txt", ".adoc", ".csv", ".log", ".html", ".css", ".svg":
		return true
	}
	return strings.HasSuffix(path.Base(file), "ignore") || path.Base(file) == "COMMIT_EDITMSG"
}

// literal joins the words of a command as they are written.
func literal(words []shell.Word) string {
	var b strings.Builder
	for i := range words {
		b.WriteString(words[i].Text)
		b.WriteByte('\n')
	}
	return unescape.Replace(b.String())
}

package obstat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// maxWords is how many words of a call are taken for files that a program may read or write.
const maxWords = 1000

// words asks where a rule denies, or asks about, reading or writing a file that is a word of a command
// of which is not known what it does with it: `visidata .env`, `aws s3 cp .env s3://b`, `gcc @.env`,
// `ffmpeg -i a.mp4 locked/b.mp4`.
func (fl *floorWalk) words() {
	if !fl.shell() || fl.exact() || fl.confined {
		return
	}
	left := maxWords
	for i := range fl.a.Commands {
		if fl.o.verdict < Allow {
			return
		}
		c := &fl.a.Commands[i]
		reads, writes := fl.takesFiles(i)
		if !reads && !writes {
			continue
		}
		transfers := fl.transfers(i)
		for j := range c.Args() {
			w := &c.Args()[j]
			if !w.Known || len(w.Text) > maxWord || strings.IndexByte(w.Text, '\n') >= 0 {
				continue
			}
			e := effect.Effect{Raw: w.Raw, Program: c.Program, Command: i, Span: c.Span, Glob: w.Glob}
			code := !w.Glob && (!c.Catalogued || slices.Contains(c.Tails, j+1))
			said := fl.said(i, w)
			e.Recursive = transfers && !said
			out := writes && !said && (!c.Catalogued || isOutput(c.Args(), j) || fl.unknownFlag(i, j))
			for _, piece := range pieces(w.Text, code) {
				if left--; left < 0 {
					fl.cap(c.Text, "a path rule might apply to one of very many words")
					return
				}
				if e.Kind = effect.Read; reads {
					fl.mayTouch(c, e, piece)
				}
				if e.Kind = effect.Write; out {
					fl.mayTouch(c, e, piece)
				}
			}
		}
	}
}

// maxWord is the longest word that is taken for a file, or for several with an equals sign or a comma.
const maxWord = 4 << 10

// takesFiles tells whether a command may read files that are words of it, without an effect that
// says so, and whether it may write some of them: a program that is not known, or one that connects,
// runs code or writes files that it does not name.
func (fl *floorWalk) takesFiles(i int) (reads, writes bool) {
	reads = !fl.a.Commands[i].Catalogued
	writes = reads || fl.guesses(i)
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i {
			continue
		}
		if e.Where != "" {
			return false, false // its files are another machine's
		}
		switch e.Kind {
		case effect.Connect, effect.System:
			reads = reads || !e.Harmless
		case effect.Code:
			reads, writes = reads || !e.Harmless, true
		case effect.Write:
			reads, writes = reads || !e.Harmless && e.Unnamed, true
		}
	}
	return reads, writes
}

// transfers tells whether a command sends files somewhere, or keeps copies of them: a directory that it is given goes with all
// that is in it, `restic backup .`.
func (fl *floorWalk) transfers(i int) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Tags.Has(effect.Transfer) && !e.Harmless
	})
}

// guesses tells whether a command has a flag or a subcommand that is not known, so that the word behind it
// may be something else than it seems.
func (fl *floorWalk) guesses(i int) bool {
	return slices.ContainsFunc(fl.a.Gaps, func(g effect.Gap) bool {
		return g.Command == i && (g.Kind == effect.UnknownFlag || g.Kind == effect.UnknownSub)
	})
}

// unknownFlag tells whether a word is a flag that is not known, or behind one of one letter, and may be its value:
// `javac -d src A.java`. Most long ones that are given without a value, as `prettier --check src`, take none.
func (fl *floorWalk) unknownFlag(i, j int) bool {
	args := fl.a.Commands[i].Args()
	letter := j > 0 && len(args[j-1].Text) == 2
	return slices.ContainsFunc(fl.a.Gaps, func(g effect.Gap) bool {
		switch {
		case g.Command != i || g.Kind != effect.UnknownFlag:
			return false
		case !fl.shown(&args[j]): // which flag it is cannot be told
			return letter && args[j-1].Text[0] == '-' || args[j].Text != "" && args[j].Text[0] == '-'
		}
		return g.Span == args[j].Span || letter && g.Span == args[j-1].Span
	})
}

// shown tells whether a word stands in the call's text as it is, so that its place is its own: the words of
// `eval "$x"` all have the place of `"$x"`.
func (fl *floorWalk) shown(w *shell.Word) bool { return w.Raw != "" && fl.text(w.Span) == w.Raw }

// said tells whether an effect says what becomes of a word of a command.
func (fl *floorWalk) said(i int, w *shell.Word) bool {
	if !fl.shown(w) {
		return false
	}
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i || e.Span != w.Span {
			continue
		}
		if e.Kind == effect.Write || e.Kind == effect.Delete || e.Kind == effect.Read && !e.Tags.Has(effect.List) && !fl.guesses(i) {
			return true
		}
	}
	return false
}

// isOutput tells whether the name of a flag says that a word, behind it or in it, is written:
// `pytest --junitxml=report.xml`, `pandoc -o page.html`.
func isOutput(args []shell.Word, i int) bool {
	flag := args[i].Text
	if !strings.HasPrefix(flag, "-") {
		if i == 0 || strings.Contains(args[i-1].Text, "=") {
			return false
		}
		flag = args[i-1].Text
	}
	name, _, _ := strings.Cut(strings.ToLower(flag), "=")
	switch {
	case name == "-mf" || name == "--emit" || name == "--html" || name == "--xml" || name == "--log":
		return true
	case strings.HasPrefix(name, "-o"), strings.HasPrefix(name, "-wl,-map"), strings.HasPrefix(name, "-wa,-a"):
		return true
	}
	return strings.HasPrefix(name, "-") && slices.ContainsFunc(outputs, func(part string) bool { return strings.Contains(name, part) })
}

// outputs are parts of the names of flags whose values are written.
var outputs = strings.Fields(`out dest report junit export save dump profile basetemp temp-dir tempdir logfile log-file resultlog result-json artifact dist-dir site-dir target-dir envdir install-dir
	build-dir builddir cache-dir cachedir cache-location cache-file coveragedirectory declarationdir buildinfo generatetrace metafile metadata-file diagnostics data-file pidfile pid-file state-file statefile screenshot record results-dir symlink_prefix logger`)

// pieces returns the parts of a word that may be a file: of `--from-file=a`, `src=a`, `@a`, `f@a` and `-oa` it is a. Of
// code it is also what stands in quotes or between blanks: `lookup("file", "a")`, `cat a`.
func pieces(word string, code bool) []string {
	seps := "=@,:"
	if code {
		seps += "\"'`()[]{};|&<> \t\n"
	}
	if !strings.ContainsAny(word, seps) && !strings.HasPrefix(word, "-") {
		return []string{word}
	}
	out := []string{word}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	return append(out, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(seps, r) })...)
}

// mayTouch asks if a rule speaks of what e says, of a file that a word of a command names.
func (fl *floorWalk) mayTouch(c *effect.Command, e effect.Effect, word string) {
	face, ok := fl.face(&e)
	if !ok || word == "" || word[0] == '-' {
		return
	}
	dir := cmp.Or(c.Dir, fl.f.Call.Dir) // `cd "$x" && gpg -c .env` may well be where it was before
	at := (paths.Resolver{FS: fl.f.World, Dir: dir}).Resolve(word)
	if at.Abs == "" || at.Abs == dir && !e.Recursive {
		return
	}
	e.Path, e.Real = at.Abs, at.Real
	if e.Recursive && e.Kind == effect.Read {
		fl.possibly(&e, face)
	}
	switch {
	case fl.mayBe(c, &e, face):
		return
	case e.Glob:
		fl.possibly(&e, face)
		return
	case e.Kind == effect.Read:
		return
	}
	e.Path, e.Real = at.Abs+"/"+placeholder, at.Real+"/"+placeholder // it may be a directory
	fl.mayBe(c, &e, face)
}

// mayBe asks if a rule speaks of what e says.
func (fl *floorWalk) mayBe(c *effect.Command, e *effect.Effect, face Face) bool {
	tight, _ := fl.spellings(e, face)
	if tight.verdict == Allow || tight.rule == nil || fl.breadth(tight.rule, face.Tool).wide {
		return false
	}
	fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: tight.rule}, e.Raw, c.Program+" may "+verbOf(e)+" "+strings.TrimSuffix(e.Path, "/"+placeholder))
	return true
}

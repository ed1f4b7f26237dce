package obstat

import (
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// maxWords is how many words of a call are taken for files that a program may read.
const maxWords = 500

// words asks where a rule denies, or asks about, reading a file that is a word of a command of
// which is not known what it does with it: `visidata .env`, `aws s3 cp .env s3://b`, `gcc @.env`.
func (fl *floorWalk) words() {
	if !fl.shell() || fl.exact() {
		return
	}
	left := maxWords
	for i := range fl.a.Commands {
		if fl.o.verdict < Allow {
			return
		}
		c := &fl.a.Commands[i]
		if !fl.takesFiles(i) {
			continue
		}
		for j := range c.Args() {
			w := &c.Args()[j]
			if !w.Known || len(w.Text) > maxWord || strings.IndexByte(w.Text, '\n') >= 0 {
				continue
			}
			if left--; left < 0 {
				fl.cap(c.Text, "a path rule might apply to one of very many words")
				return
			}
			for _, piece := range pieces(w.Text) {
				fl.mayRead(i, c, piece, w.Glob, fl.text(w.Span))
			}
		}
	}
}

// maxWord is the longest word that is taken for a file, or for several with an equals sign or a comma.
const maxWord = 4 << 10

// takesFiles tells whether a command may read files that are words of it, without an effect that
// says so: a program that is not known, or one that connects, runs code or writes files that it does not name.
func (fl *floorWalk) takesFiles(i int) bool {
	known := fl.a.Commands[i].Catalogued
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i {
			continue
		}
		if e.Where != "" {
			return false // its files are another machine's
		}
		switch e.Kind {
		case effect.Connect, effect.Code, effect.System:
			known = known && e.Harmless
		case effect.Write:
			known = known && (e.Harmless || !e.Unnamed)
		}
	}
	return !known
}

// pieces returns the parts of a word that may be a file: of `--from-file=a`, `src=a`, `@a`, `f@a` and `-oa` it is a.
func pieces(word string) []string {
	if !strings.ContainsAny(word, "=@,:") && !strings.HasPrefix(word, "-") {
		return []string{word}
	}
	out := []string{word}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	return append(out, strings.FieldsFunc(word, func(r rune) bool { return r == '=' || r == '@' || r == ',' || r == ':' })...)
}

// mayRead asks if a rule speaks of reading a file that a word of a command names.
func (fl *floorWalk) mayRead(i int, c *effect.Command, word string, glob bool, part string) {
	face, ok := fl.pol.prog.Faces[FaceRead]
	if !ok || word == "" || word[0] == '-' || c.Dir == "" && !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~") {
		return
	}
	at := (paths.Resolver{FS: fl.f.World, Dir: c.Dir}).Resolve(word)
	if at.Abs == "" || at.Abs == c.Dir {
		return
	}
	e := &effect.Effect{Kind: effect.Read, Path: at.Abs, Real: at.Real, Raw: part, Program: c.Program, Command: i, Span: c.Span, Glob: glob}
	tight, _ := fl.spellings(e, face)
	if tight.verdict < Allow && tight.rule != nil && !fl.breadth(tight.rule, face.Tool).wide {
		fl.tighten(outcome{verdict: Ask, stage: "floor", rule: tight.rule}, part, c.Program+" may read "+at.Abs)
		return
	}
	if glob {
		fl.possibly(e, face)
	}
}

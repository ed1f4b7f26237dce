package obstat

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// The floor asks about a word that may be a path, a host or a program that a rule denies, and that no effect
// accounts for: `newtool --in=.env`.

// maxWords is how many words of a call are taken for files that a program may read or write.
const maxWords = 1000

// words asks where a rule denies, or asks about, reading or writing a file that is a word of a
// command whose use of it is not known: `visidata .env`, `aws s3 cp .env s3://b`, `gcc @.env`,
// `ffmpeg -i a.mp4 locked/b.mp4`.
func (fl *floorWalk) words() {
	if fl.exact() || fl.blind {
		return
	}
	left := maxWords
	for i := range fl.a.Commands {
		if fl.o.verdict < Allow {
			return
		}
		if left = fl.mentions(i, left); left >= 0 {
			left = fl.wordsOf(i, left)
		}
	}
}

// A use is how a command may use words of which nothing is said.
type use struct {
	reads, writes bool // files, see takesFiles
	reaches       bool // hosts
	transfers     bool // a directory goes with all that is in it
	unpacks       bool // files appear whose names are not said
	unnamed       bool // it writes files that it does not name
}

// wordsOf is words for one command; it returns how many more words are looked at.
func (fl *floorWalk) wordsOf(i, left int) int {
	var u use
	u.reads, u.writes = fl.takesFiles(i)
	if u.reaches = u.reads || fl.connects(i); !u.reaches && !u.writes {
		return left
	}
	u.transfers, u.unpacks, u.unnamed = fl.transfers(i), fl.makes(i, effect.Contents), fl.makes(i, 0)
	c := &fl.a.Commands[i]
	for j := range c.Args() {
		if left = fl.word(i, j, &u, left); left < 0 {
			fl.cap(c.Text, "a path rule might apply to one of very many words")
			break
		}
	}
	return left
}

// word is words for argument j of command i.
func (fl *floorWalk) word(i, j int, u *use, left int) int {
	c := &fl.a.Commands[i]
	w := &c.Args()[j]
	text, printed := textOf(w)
	if !oneName(text) {
		return left
	}
	e := effect.Effect{Origin: effect.Origin{Program: c.Program, Command: i, Span: c.Span}}
	e.Raw, e.Glob = w.Raw, w.Glob
	said := fl.said(i, w)
	e.Recursive = u.transfers && !said
	writes := u.writes && !said
	out := writes && fl.isOutput(i, j)
	gets := writes && (u.transfers || u.unpacks) // `unrar x a.rar dir/`
	takes := u.unnamed || u.reads && !said       // `duckdb .git/hooks/z` makes it
	code := printed || !w.Glob && (!c.Catalogued || slices.Contains(c.Tails, j+1))
	for _, piece := range effect.Pieces(text, code) {
		if left--; left < 0 {
			return left
		}
		if u.reaches && (!said || strings.Contains(text, ":")) {
			fl.mayReach(c, w.Span, w.Raw, piece)
		}
		if e.Kind = effect.Read; u.reads {
			fl.mayTouch(c, e, piece)
		}
		if e.Kind = effect.Write; out || (gets || takes && guarded(piece)) && fl.inProject(c, piece) {
			fl.mayTouch(c, e, piece)
		}
	}
	if u.reads && !said {
		return fl.spelledElsewhere(c, w, e, left)
	}
	return left
}

// spelledElsewhere asks where a word that is not known may be a file which the call names elsewhere, in a text that
// no effect is on: `declare -A m=([k]=.env); shar ${m[k]}`.
func (fl *floorWalk) spelledElsewhere(c *effect.Command, w *shell.Word, e effect.Effect, left int) int {
	if w.Known || w.Outside {
		return left
	}
	e.Kind, e.Recursive, e.Glob = effect.Read, false, false
	for at, piece := range effect.FileNames(fl.a.Source) {
		if left--; left < 0 {
			return left
		}
		if !fl.accounted(shell.Span{Start: at, End: at + len(piece)}) {
			fl.mayTouch(c, e, piece)
		}
	}
	return left
}

// accounted tells whether an effect is on the word that holds a part of the call's text.
func (fl *floorWalk) accounted(at shell.Span) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Path != "" && e.Span.Start <= at.Start && at.End <= e.Span.End
	})
}

// oneName tells whether a text is short enough for a file's name, on one line.
func oneName(text string) bool { return len(text) <= maxWord && strings.IndexByte(text, '\n') < 0 }

// textOf returns what is known of a word, and whether it is the text of a command whose output is a file:
// `vegeta attack <(echo GET h)`.
func textOf(w *shell.Word) (text string, printed bool) {
	if strings.HasPrefix(w.Raw, "<(") {
		return w.Raw, true
	}
	return cmp.Or(w.Shape(), w.Text), false
}

// isOutput tells whether argument j of command i may well be a file that is written.
func (fl *floorWalk) isOutput(i, j int) bool {
	c := &fl.a.Commands[i]
	return !c.Catalogued || floor.IsOutput(c.Args(), j) || fl.unknownFlag(i, j)
}

// mentions asks where a rule is about a file that command i is told of at a place of which nothing is known:
// `last -f .env`, `jo x=%.env`, `tar --transform 's,^,.git/hooks/,'`. It returns how many more words are looked at.
func (fl *floorWalk) mentions(i, left int) int {
	c := &fl.a.Commands[i]
	for _, at := range c.Mentions {
		w := &c.Words[at]
		e := effect.Effect{Origin: effect.Origin{Program: c.Program, Command: i, Span: c.Span}}
		e.Raw, e.Glob = w.Raw, w.Glob
		text := cmp.Or(w.Shape(), w.Text)
		code := strings.ContainsAny(text, " \t\"'`(") // `cqlsh -e "COPY t FROM '.env'"`
		for _, piece := range effect.Pieces(text, code) {
			if left--; left < 0 {
				fl.cap(c.Text, "a path rule might apply to one of very many words")
				return left
			}
			fl.mayReach(c, w.Span, w.Raw, piece)
			e.Kind = effect.Read
			fl.mayTouch(c, e, piece)
			if e.Kind = effect.Write; floor.IsOutput(c.Args(), at-1) || fl.inProject(c, piece) {
				fl.mayTouch(c, e, piece)
			}
		}
	}
	return left
}

// inProject tells whether a path lies in the project. A rule against writing elsewhere is not about a file that a
// command may well only read: `--config=/etc/x`.
func (fl *floorWalk) inProject(c *effect.Command, p string) bool {
	at := (paths.Resolver{FS: fl.f.World, Dir: cmp.Or(c.Dir, fl.f.Call.Dir)}).Resolve(p)
	return paths.Inside(fl.f.Call.Anchor(), at.Abs)
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

// transfers tells whether a command sends files somewhere, or keeps copies of them: a directory that
// it is given goes with all that is in it, `restic backup .`.
func (fl *floorWalk) transfers(i int) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Tags.Has(effect.Transfer) && !e.Harmless
	})
}

// connects tells whether a command connects to some host.
func (fl *floorWalk) connects(i int) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Kind == effect.Connect
	})
}

// makes tells whether a command writes files that it does not name, with a tag or any: an archiver those of an archive.
func (fl *floorWalk) makes(i int, tag effect.Tags) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Kind == effect.Write && e.Unnamed && (tag == 0 || e.Tags.Has(tag))
	})
}

// guarded tells whether a word names a file that programs take orders from, which few read: `.git/hooks/z`.
func guarded(word string) bool {
	entry, ok := paths.Sensitive(word)
	return ok && entry.Guarded && path.Base(word) != ".git" // `git --git-dir=.git log`
}

// mayReach asks if a rule names a host that a word of a command, of which the use is not known, may be:
// `psql -h db.example.com`, `docker pull registry.example.com/x`. A rule for all hosts but some names none.
func (fl *floorWalk) mayReach(c *effect.Command, at shell.Span, raw, word string) {
	host := effect.MayBeHost(word)
	if host == "" || fl.o.verdict < Allow {
		return
	}
	fl.part = Part{Text: host, Span: at, Why: "it may connect to " + host}
	var o outcome
	face, ok := fl.pol.prog.Faces[FaceConnect]
	if v, asks := fl.pol.view.(hostView); asks {
		q := v.Host(host)
		face.Tool, ok = q.Tool, true
		fl.answered([]Question{q}, &o)
	} else if ok {
		o = fl.judge(face.Tool, face.Field, host, "")
	}
	if !ok || o.verdict == Allow || fl.general(o.rule, face.Tool) {
		return
	}
	fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: o.rule}, raw, c.Program+" may connect to "+host)
}

// hostView is a view whose rules speak of hosts.
type hostView interface{ Host(host string) Question }

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

// said tells whether an effect is on a word of a command.
func (fl *floorWalk) said(i int, w *shell.Word) bool {
	if !fl.shown(w) {
		return false
	}
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i || e.Span != w.Span {
			continue
		}
		switch e.Kind {
		case effect.Write, effect.Delete:
			return true
		case effect.Read:
			if !e.Tags.Has(effect.List) && !fl.guesses(i) {
				return true
			}
		}
	}
	return false
}

// mayTouch asks if a rule is about the effect e on a file that a word of a command names.
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
	if e.Glob && e.Kind == effect.Read {
		entry, _ := paths.SensitiveGlob(at.Abs) // `haml .en?`
		if e.Secret = entry.Secret; e.Secret {
			fl.mayBe(c, fl.sample(e, at.Abs, entry.Pattern), face)
		}
		fl.mayStandFor(c, e, face)
	}
	if e.Recursive && e.Kind == effect.Read {
		fl.possibly(&e, face)
	}
	fl.mayBe(c, &e, face)
	switch {
	case e.Glob:
		fl.possibly(&e, face)
	case e.Kind == effect.Write:
		e.Path, e.Real = at.Abs+"/"+placeholder, at.Real+"/"+placeholder // it may be a directory
		fl.mayBe(c, &e, face)
	}
}

// sample returns the effect on a secret that a pattern may stand for, of `.en[v]` on .env. One that begins with a star,
// as `*.json`, is rather about other files.
func (fl *floorWalk) sample(e effect.Effect, pattern, secret string) *effect.Effect {
	if strings.IndexAny(path.Base(pattern), "*?[") == 0 {
		return &e
	}
	return fl.onFile(e, path.Dir(pattern)+"/"+strings.ReplaceAll(path.Base(secret), "*", "x"))
}

// onFile returns the effect on one file, and on where links lead from it.
func (fl *floorWalk) onFile(e effect.Effect, file string) *effect.Effect {
	e.Path, e.Real, e.Glob = file, fl.leadsTo(file), false
	return &e
}

// mayStandFor asks if a rule is about a secret that lies where a pattern looks, `hexyl certs/*` with a `server.pem`, or
// about where a link leads that lies there.
func (fl *floorWalk) mayStandFor(c *effect.Command, e effect.Effect, face Face) {
	set, dir := e.Target(), paths.LooksIn(e.Path)
	if dir == path.Clean(e.Path) || dir == "/" || dir == "." {
		return
	}
	if fs, ok := fl.f.World.(paths.Searcher); ok {
		files, _ := fs.Secrets(dir)
		for _, file := range files {
			if set.Has(file) {
				one := fl.onFile(e, file)
				one.Secret = true
				fl.mayBe(c, one, face)
			}
		}
	}
	if fs, ok := fl.f.World.(paths.Lister); ok {
		links, _, _ := fs.List(dir)
		for _, link := range links {
			if file := path.Join(dir, link); set.Has(file) {
				fl.mayBe(c, fl.onFile(e, file), face)
			}
		}
	}
}

// mayBe asks if a rule is about the effect e.
func (fl *floorWalk) mayBe(c *effect.Command, e *effect.Effect, face Face) {
	tight, _ := fl.spellings(e, face)
	if tight.verdict == Allow || fl.general(tight.rule, face.Tool) {
		return
	}
	why := c.Program + " may " + verbOf(e) + " " + strings.TrimSuffix(e.Path, "/"+placeholder)
	fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: tight.rule}, e.Raw, why)
}

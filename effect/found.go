package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/git"
	"github.com/obstat/obstat/effect/internal/search"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// whyFound marks a word that find puts in the place of {}: a path below the start.
const whyFound = "a file that was found"

// found are the files that a search finds: `find src lib -name '*.o' -exec rm {} +`.
type found struct {
	known    bool
	at       string   // directory that all lie below
	starts   []string // the places that at is above, if they are all known
	shape    string   // of at, if it is not known
	name     string   // pattern of their names, "" if there is none
	noLinks  bool     // none is a link: `find -type f`
	noHidden bool     // none is hidden: `rg -l x`
	all      bool     // hidden ones are among them: `find . -type f`
	secret   bool     // one may be a secret, by its name or by where it lies
}

// places are where files are found: each place that a search begins at, or the one above all of them.
func (f *found) places() []string {
	if len(f.starts) < 2 || f.starts[0] == "" || f.shape != "" {
		return []string{f.at}
	}
	return f.starts
}

// foundHere gives the files that a search itself removes, as `find src -name '*.o' -delete` does, their place.
func (c *call) foundHere() {
	for i := range c.a.an.Effects {
		e := &c.a.an.Effects[i]
		if e.Command != c.cmd || !e.Tags.Has(Found) || e.Path != "" || e.Where != "" {
			continue
		}
		for _, i := range c.ops() {
			if c.isGit() { // `git clean -x dist`
				c.startsAt(&c.words[i])
			}
		}
		if !c.found.known {
			c.startsAt(here(c.words[0].Span))
		}
		if e.at = c.found.at; e.at == "" && c.found.shape != "" {
			e.open(c.found.shape)
			e.Recursive = true
			continue
		}
		places := (&found{at: word.Or(e.at, "/"), starts: c.found.starts}).places()
		e.at, e.name = places[0], c.a.dict.lister(c.words).Name(c.words)
		for more, k := *e, 1; k < len(places); k++ {
			more.at = places[k]
			c.a.effect(more)
		}
	}
}

// here is the working directory as a word.
func here(at shell.Span) *shell.Word { return &shell.Word{Text: ".", Raw: ".", Known: true, Span: at} }

// foundEffects adds an effect on the files that were found at each place that the search begins at.
func (c *call) foundEffects(e *Effect) {
	from := &c.f.found
	for _, at := range from.places() {
		e.Path, e.Real, e.Recursive, e.name, e.Glob = at, at, true, from.name, word.HasGlob(at)
		e.visible = from.noHidden && !e.Glob
		if e.Path == "" && from.shape != "" {
			e.open(from.shape)
		}
		one := *e
		if e.Where != "" { // in a container: `docker run -v .:/w -w /w alpine sh -c 'find | xargs cat'`
			c.a.throughMounts(&one, &shell.Word{Text: at, Known: true}, &c.f)
		}
		c.a.effect(one)
		if !from.noLinks {
			c.a.foundLinks(&one)
		}
	}
}

// foundLinks adds the links in the very directory that is searched: of `find . -name 'env*' -exec cat {} +` a link to
// .env is one.
func (a *analyzer) foundLinks(e *Effect) {
	fs, ok := a.opts.FS.(paths.Lister)
	if !ok || e.Path == "" || e.Glob || e.Where != "" || e.Kind == Delete {
		return
	}
	links, _, _ := fs.List(e.Path)
	for _, link := range links {
		if !a.afford(1) {
			return
		}
		if e.name == "" || paths.Matching(e.name).WithHidden().Has(link) {
			through := *e
			through.Recursive, through.name = false, ""
			a.throughLink(&through, fs, path.Join(e.Path, link), "")
		}
	}
}

// showers print all of a file, or much of it, and do not look for something in it.
var showers = kb.Table("!shows")

// showsProject reports whether all files of a directory are shown and it is the top of the project,
// where its .env is, or above it.
func (a *analyzer) showsProject(program string, from *found) bool {
	return from.all && showers().Has(program) && a.holdsProject(from.at)
}

// holdsProject reports whether a directory is the top of the project or above it.
func (a *analyzer) holdsProject(dir string) bool {
	return dir != "" && (paths.Inside(dir, a.opts.Dir) ||
		slices.ContainsFunc(a.opts.Roots, func(root string) bool { return paths.Inside(dir, root) }))
}

// visibleOnly reports whether a search passes hidden files by. `echo '!.env' > .ignore` makes rg show one.
func (a *analyzer) visibleOnly(l *search.Lister, words []shell.Word) bool {
	ignores := func(e Effect) bool { return e.Kind == Write && strings.HasSuffix(e.Raw, "ignore") }
	if !l.VisibleOnly(words) {
		return false
	}
	return !strings.Contains(a.an.Source, "!") || !slices.ContainsFunc(a.an.Effects, ignores)
}

// listed returns an operand as a file that was found if a listing prints it, as in
// `wc -l $(git ls-files '*.py')`.
func (c *call) listed(w *shell.Word) *shell.Word {
	if !w.Known && shell.IsName(w) && c.namesFile(w) { // `for f in *.go; do gofmt -l $f; done`
		return &shell.Word{Text: w.Shape(), Raw: w.Raw, Span: w.Span, Known: true, Glob: true}
	}
	if w.Known || c.found.known {
		return w
	}
	if words := c.lister(w); words == nil || !c.listedBy(words) {
		return w
	}
	if inside, _ := printedBy(w); c.found.name == "" && strings.Contains(inside, "grep") {
		list := shell.Parse(inside, &shell.Options{Lang: c.a.opts.Lang}).Commands
		c.found.name = c.a.dict.searches().Extension(list[len(list)-1].Words)
	}
	c.f.found = c.found
	c.f.found.all = c.found.all && c.found.name == ""
	v := *w
	v.Why = whyFound
	return &v
}

// lister returns the command that lists files of which a word is one, nil if there is none.
func (c *call) lister(w *shell.Word) []shell.Word {
	if words := c.producer(w); c.a.dict.lister(words).Prints(words) {
		return words
	}
	return nil
}

// noFlag reports whether a word is printed by a command which prints no flags: names below a directory, as
// `$(grep -rl x src)`, or plain words, as `$(go list ./... | grep -v e2e)`.
func (c *call) noFlag(w *shell.Word) bool {
	words := c.producer(substituted(w))
	if words == nil {
		return false
	}
	l := c.a.dict.lister(words)
	if !l.Prints(words) {
		_, ok := shell.PrintedBy(words)
		return ok
	}
	starts := l.Starts(words)
	maybeFlag := func(s shell.Word) bool { return !s.Known || s.Text == "" || s.Text[0] == '-' }
	return l.Prefixed() && len(starts) > 0 && !slices.ContainsFunc(starts, maybeFlag)
}

// substituted returns the `$(a)` of a word with plain text around it, `-j$(a)` or `$(a)..HEAD`; else the word itself.
func substituted(w *shell.Word) *shell.Word {
	from, to := strings.Index(w.Raw, "$("), strings.LastIndexByte(w.Raw, ')')
	if from < 0 || to < from || from == 0 && to == len(w.Raw)-1 {
		return w
	}
	if strings.ContainsAny(w.Raw[:from]+w.Raw[to+1:], "$`\"'") {
		return w
	}
	v := *w
	v.Raw = w.Raw[from : to+1]
	return &v
}

// producer returns the command that prints the lines of which a word is one: of `$(ls | head -5)` it is ls, as
// those behind it only leave some out. It is nil if there is none.
func (c *call) producer(w *shell.Word) []shell.Word {
	inside, ok := printedBy(w)
	if !ok || len(inside) > maxPattern {
		return nil
	}
	s := shell.Parse(inside, &shell.Options{Lang: c.a.opts.Lang})
	if len(s.Commands) == 0 || len(s.Gaps) > 0 {
		return nil
	}
	column := false
	for i := range s.Commands {
		k := &s.Commands[i]
		if !plainPart(k) {
			return nil
		}
		if i == 0 {
			continue
		}
		first := !column && c.a.firstColumn(k.Words)
		if k.Stdin != i-1 || k.Nest&shell.MixedStdin != 0 || !first && !c.a.dict.searches().Selects(k.Words) {
			return nil
		}
		column = column || first
	}
	words := s.Commands[0].Words
	if len(words) == 0 || c.f.script != nil && c.f.script.Redefines(path.Base(words[0].Text)) {
		return nil
	}
	if column {
		return c.a.dict.searches().Column(words)
	}
	return words
}

// printedBy returns the commands that print a word: `$(find .)`, or a variable that a loop sets to a line of it.
func printedBy(w *shell.Word) (string, bool) {
	if inside, ok := strings.CutPrefix(w.Raw, "$("); ok {
		return strings.CutSuffix(inside, ")")
	}
	name := strings.Trim(w.Raw, `"${}`)
	before, _, _ := strings.Cut(w.Raw, "$")
	if !word.IsName(name) || strings.Count(w.Raw, "$") != 1 || strings.Trim(before, `"`) != "" {
		return "", false
	}
	return strings.CutPrefix(w.Why, shell.LineOf)
}

// firstColumn reports whether awk prints the first word of lines, and nothing else: `awk '/web/ {print $1}'`.
func (a *analyzer) firstColumn(words []shell.Word) bool {
	if len(words) != 2 || !words[0].Known || !words[1].Known {
		return false
	}
	return search.FirstColumn(words[1].Text) && a.dict.takes(words[0].Text, roleAwk)
}

// notErrors reports whether a redirect is more than `2>/dev/null`.
func notErrors(r shell.Redirect) bool { return r.Fd != "2" || r.Target.Text != "/dev/null" }

// plainPart reports whether a command of a pipeline stands alone, without variables and redirects.
func plainPart(c *shell.Command) bool {
	return len(c.Assigns) == 0 && !slices.ContainsFunc(c.Redirects, notErrors)
}

// printedInput returns the word that stands for each one that is piped in, if those are plain and begin with no
// dash: `docker ps -q | xargs docker stop`, `git branch --merged | grep -v main | xargs git branch -d`.
func (c *call) printedInput() (shell.Word, bool) {
	s := c.f.script
	if !c.inScript() || s.Commands[c.f.at].Nest&shell.MixedStdin != 0 {
		return shell.Word{}, false
	}
	at, column := s.Commands[c.f.at].Stdin, false
	for range s.Commands {
		if at < 0 || at >= len(s.Commands) || s.Commands[at].Nest&shell.MixedStdin != 0 || len(s.Commands[at].Assigns) > 0 {
			return shell.Word{}, false
		}
		from := &s.Commands[at]
		first := !column && c.a.firstColumn(from.Words)
		if !first && !c.a.dict.searches().Selects(from.Words) || from.Stdin < 0 {
			break
		}
		at, column = from.Stdin, column || first
	}
	words := s.Commands[at].Words
	if column {
		words = c.a.dict.searches().Column(words)
	}
	if len(words) == 0 || slices.ContainsFunc(s.Commands[at].Redirects, notErrors) || s.Redefines(words[0].Text) {
		return shell.Word{}, false
	}
	if git.ListsBranches(words) {
		words = git.Words("branch", "--show-current")
	}
	return shell.PrintedBy(words)
}

// lists reports whether a list of files is piped in, from a program that lists them. It
// notes where they lie, and whether one of them may be a secret.
func (c *call) lists() bool {
	s := c.f.script
	if !c.inScript() {
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
			c.found.name = word.Or(c.found.name, name)
			c.found.all = c.found.all && name == ""
			return true
		}
		tables := c.a.dict.searches()
		if !tables.Selects(words) || !plainPart(&s.Commands[from]) || s.Redefines(words[0].Text) {
			return false
		}
		at, name = from, word.Or(name, tables.Extension(words)) // `find dist -type f | sort | xargs md5sum`
	}
}

// listedBy notes where the files lie that a command lists, if that is all it does.
func (c *call) listedBy(words []shell.Word) bool {
	l := c.a.dict.lister(words)
	if !l.Prints(words) {
		return false
	}
	c.found.name, c.found.noLinks, c.found.all = l.Name(words), l.FilesOnly(words), l.All(words)
	c.found.noHidden = c.a.visibleOnly(l, words)
	for i := range words[1:] {
		if !words[1+i].Known {
			return false
		}
		c.found.secret = c.found.secret || c.a.secretWord(&words[1+i])
	}
	starts := l.Starts(words)
	for i := range starts {
		c.startsAt(&starts[i])
	}
	if len(starts) == 0 {
		c.startsAt(here(words[0].Span))
	}
	return true
}

// secretWord reports whether a word names a secret, as a path or as a pattern.
func (a *analyzer) secretWord(w *shell.Word) bool {
	if e, ok := paths.Sensitive(w.Text); ok && e.Secret {
		return true
	}
	if !word.HasGlob(w.Text) {
		return false
	}
	e, ok := a.glob(w.Text)
	return ok && e.Secret
}

// startsAt is a place below which files are found. If secrets lie there, one of them may be found.
func (c *call) startsAt(w *shell.Word) {
	p := c.a.resolve(c.f.dir, w)
	at, shape := word.Or(p.Real, p.Abs), w.Shape()
	c.found.secret = c.found.secret || !w.Known || c.a.secretStart(w, &p)
	switch {
	case !w.Known && shape != "" && !strings.Contains(shape, shell.Unknown):
		p = c.a.resolve(c.f.dir, &shell.Word{Text: shape, Known: true, Tilde: true})
		at = word.Or(p.Real, p.Abs)
	case !w.Known && w.Text != "" && shape != "":
		at, c.found.shape = "", *c.a.shapeOf(w, c.f.dir)
	case at == "" && w.Known:
		c.found.shape = fromAnywhere(w.Text)
	}
	if c.found.starts = append(c.found.starts, at); at == "" {
		c.found.starts = []string{""} // one that is not known is among them
	}
	if c.found.known {
		at = common(c.found.at, at)
	}
	c.found.at, c.found.known = at, true
}

// secretStart reports whether secrets lie at or below the place that a search begins at.
func (a *analyzer) secretStart(w *shell.Word, p *paths.Path) bool {
	if entry, ok := paths.Sensitive(word.Or(word.Or(p.Real, p.Abs), p.Text)); ok && entry.Secret {
		return true
	}
	e := Effect{}
	e.Path, e.Real, e.Raw = p.Abs, p.Real, w.Text
	return w.Glob && a.secretWord(w) || a.below(&e)
}

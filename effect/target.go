package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/internal/search"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// Target returns the paths that an effect on files touches, as a set: one path, a shell
// pattern, everything below a directory, the files of some name that a search finds, a path
// of which parts are known only at run time, or anything. Links are not followed; see
// RealTarget. It is empty for an effect that is not on files of this machine, and for one on
// the program's own books.
func (e *Effect) Target() paths.Set { return e.targetAt(e.Path) }

// RealTarget is Target with links followed as far as they are known; empty if that is the same, and
// anything if there are more than can be followed.
func (e *Effect) RealTarget() paths.Set {
	if e.lost && e.Where == "" {
		return paths.Anything()
	}
	if e.Real == "" || e.Real == e.Path {
		return paths.Set{}
	}
	return e.targetAt(e.Real)
}

func (e *Effect) targetAt(p string) paths.Set {
	switch {
	case e.Kind != Read && e.Kind != Write && e.Kind != Delete || e.Where != "":
		return paths.Set{}
	case e.Glob && (strings.HasPrefix(p, "/proc/") || len(p) > maxPattern):
		return paths.Anything() // by way of a process's directory, or too long to look at
	case p == "" && e.shape != nil:
		s := paths.Shaped(*e.shape)
		s.Below = e.Recursive
		return s
	case p == "" && e.at != "" && e.name != "":
		return foundIn(e.at, e.name)
	case p == "" && e.at != "":
		return foundIn(e.at, "")
	case p == "" && e.Unnamed:
		return paths.Set{} // a program's own books, without names
	case p == "":
		return paths.Anything()
	case e.name != "":
		return foundIn(p, e.name)
	}
	s := paths.Exactly(p)
	if e.Glob {
		s = paths.Matching(p)
	}
	if e.visible {
		visible := "/" + string(paths.Visible) + string(paths.AnyName)
		return paths.Set{Text: strings.TrimSuffix(s.Text, "/") + visible, Below: true}
	}
	if e.dots {
		s = s.WithHidden()
	}
	s.Below = e.Recursive || e.isDir
	return s
}

// foundIn returns the files below a place, of some name if one is given. The place may be a
// pattern, `find .g* -delete`, or a name with brackets: a class is taken for any text, which is both.
func foundIn(place, name string) paths.Set {
	s := paths.Under(place)
	if word.HasGlob(place) {
		place = strings.ReplaceAll(place, `\`, "?")
		for i := strings.IndexByte(place, '['); i >= 0; i = strings.IndexByte(place, '[') {
			end := strings.IndexByte(place[i:]+"/", '/')
			place = place[:i] + "*" + place[i+end:]
		}
		s.Text = paths.Matching(place).Text
	}
	if name == "" {
		return s
	}
	return paths.Set{Text: strings.TrimSuffix(s.Text, "/") + paths.Named("", name).Text}
}

// Reaches returns which of some names of files, or of directories, a shell pattern that the
// effect is on may be, or lie in: of `.gi?/config` it is .git. A pattern that says nothing of a
// name, as `*` does, is taken for files that need no name.
func (e *Effect) Reaches(files, dirs []string) string {
	set := e.Target()
	if set.Below = false; !e.Glob || !set.Marked() {
		return ""
	}
	set.Text = strings.ToLower(set.Text)
	for _, d := range dirs {
		if mayHold(set.Text, d) && (paths.Set{Text: string(paths.AnyText) + "/" + d, Below: true}).Meets(set) {
			return d
		}
	}
	last := set.Text[strings.LastIndexByte(set.Text, '/')+1:]
	if strings.Trim(last, "\x00\x01\x02\x03") == "" {
		return ""
	}
	for _, f := range files {
		if mayHold(set.Text, f) && (paths.Set{Text: string(paths.AnyText) + "/" + f}).Meets(set) {
			return f
		}
	}
	return ""
}

// mayHold reports whether a name of the path may be a given one, by how it begins: a quick look
// before [paths.Set.Meets].
func mayHold(text, name string) bool {
	if strings.IndexByte(text, paths.AnyText) >= 0 || strings.IndexByte(name, '/') >= 0 {
		return true
	}
	for part := range strings.SplitSeq(text, "/") {
		known := paths.Set{Text: part}.Known()
		n := min(len(known), len(name))
		if known[:n] != name[:n] {
			continue
		}
		hidden := n == 0 && name[0] == '.' // which a name that must be visible cannot be
		if n == len(name) || len(known) < len(part) && !(hidden && part[0] == paths.Visible) {
			return true
		}
	}
	return false
}

// Shape is the known part of a path that is known only at run time, absolute as far as that
// can be told; see [shell.Word.Shape].
func (e *Effect) Shape() string {
	if e.shape == nil {
		return ""
	}
	return *e.shape
}

// Named reports whether only files whose names fit a pattern are meant.
func (e *Effect) Named() bool { return e.name != "" }

// StarDirs reports whether the path is a shell pattern with a `**`, which stands for directories
// that are not hidden.
func (e *Effect) StarDirs() bool {
	return e.Glob && !e.dots && !e.Tags.Has(Tree) && strings.Contains(e.Path, "**/")
}

// VisibleOnly reports whether hidden names are passed by, at every level below Path.
func (e *Effect) VisibleOnly() bool { return e.visible }

// Moved reports whether the file that goes away, or is read by its new name, is moved: `mv a b`.
func (e *Effect) Moved() bool { return e.moved }

// Formatted reports whether the new content means the same as before, as a formatter's work does.
func (e *Effect) Formatted() bool { return e.formatted }

// Loose reports whether the path is known only at run time and may be another than its shape
// says: of `${x:-y}` the shape has y.
func (e *Effect) Loose() bool { return e.Path == "" && e.shape != nil && !e.bound }

// IsRunnerFile reports whether the path is that of a CI system's own file, as its variable has it: `>> $GITHUB_OUTPUT`.
func (e *Effect) IsRunnerFile() bool { return e.runner }

// shapeOf returns the shape of a word as a path from dir, nil if it has none.
func (a *analyzer) shapeOf(w *shell.Word, dir string) *string {
	if w.Shape() == "" {
		return nil
	}
	shape := w.Shape() // declared only here: it is kept
	switch {
	case shape[0] == '/' || strings.HasPrefix(shape, shell.Unknown):
	case strings.HasPrefix(shape, "~/"):
		home := shell.Unknown
		if a.opts.FS != nil {
			if h, ok := a.opts.FS.Home(""); ok {
				home = h
			}
		}
		shape = home + shape[1:]
	case dir == "":
		shape = shell.Unknown + "/" + shape
	default:
		shape = dir + "/" + shape
	}
	// A name before a .. may be part of the unknown text.
	open := strings.Index(shape, shell.Unknown)
	if up := strings.LastIndex(shape, "/.."); up > open && open >= 0 {
		shape = shell.Unknown + shape[up+len("/.."):]
	} else if open < 0 {
		shape = path.Clean(shape)
	} else if cut := strings.LastIndexByte(shape[:open], '/'); cut > 0 {
		shape = path.Clean(shape[:cut]) + shape[cut:]
	}
	return &shape
}

// fromAnywhere is the shape of a path from a directory that is not known.
func fromAnywhere(p string) string {
	p = path.Clean(p)
	for strings.HasPrefix(p, "../") {
		p = p[len("../"):]
	}
	return shell.Unknown + "/" + p
}

// fallsAt is where an effect without names falls: in the directory that a flag says,
// in git's working tree, or where the program runs.
func (c *call) fallsAt(tags Tags) string {
	switch {
	case !tags.Has(Contents|Tree|Clean|Found) || c.f.where != "":
		return ""
	case c.into != "":
		return c.into
	case tags.Has(Clean|Found) && c.isGit() && len(c.ops()) > 0: // `git clean -x dist`
		return c.opsIn()
	case c.isGit() && !c.f.otherRepo:
		return c.a.worktree(c.f.dir)
	}
	return c.f.dir
}

// opsIn is the directory that all operands lie in.
func (c *call) opsIn() string {
	dir := ""
	for i, at := range c.ops() {
		p := c.a.resolve(c.f.dir, &c.words[at])
		if i == 0 {
			dir = word.Or(p.Real, p.Abs)
		}
		if dir = common(dir, word.Or(p.Real, p.Abs)); dir == "" || !c.words[at].Known {
			return c.a.worktree(c.f.dir)
		}
	}
	return dir
}

// putInto is the directory that files of any name are put in.
func (c *call) putInto(w *shell.Word) {
	from := len(c.a.an.Effects)
	c.changeFile(Write, w)
	for ; from < len(c.a.an.Effects); from++ {
		c.a.an.Effects[from].Tags |= Into
	}
	if p := c.a.resolve(c.f.dir, w); w.Known {
		c.into = word.Or(p.Real, p.Abs)
	} else {
		c.into = "/" // it may be anywhere
	}
}

// putIn notes that a program writes into a directory, or a pattern that may be one: `go build -o bin ./...`.
func (c *call) putIn(e *Effect) {
	if e.Glob {
		e.Recursive = true
	} else if c.a.dirAt(e) {
		e.Tags |= Into
	}
}

// fileAt reports whether an effect is about a plain file, with nothing below it.
func (a *analyzer) fileAt(e *Effect) bool {
	files, ok := a.opts.FS.(paths.Filer)
	return ok && e.Path != "" && !e.Glob && files.IsFile(e.real())
}

var slashNames = kb.Table("!slash-is-name")

// filled turns a write to a directory into writes of the names that it gets there: in
// `cp a b dir` of dir/a and dir/b. from is the first effect of the operands.
func (c *call) filled(from int) {
	last := c.destination(from)
	if last < 0 {
		return
	}
	effects := c.a.an.Effects
	dest := effects[last]
	dir := c.a.dirAt(&dest)
	if dest.Recursive && !dir {
		effects[last].Tags |= Contents
	}
	if !dir && !dest.Glob || c.replaces {
		return
	}
	if dest.Recursive = false; !dest.Glob { // a pattern may stand for a file, too
		effects[last] = dest
	}
	for i := from; i < len(effects); i++ {
		src := &effects[i]
		if i == last || src.Command != c.cmd || src.Kind == Write || src.Unnamed {
			continue
		}
		moved := i > from && src.Kind == Read && effects[i-1].Kind == Delete && effects[i-1].Raw == src.Raw // see moveFile
		if bare := src.Raw == "" && src.Kind != Read && src.Kind != Delete; !moved && !bare {
			c.a.effect(c.placedIn(dest, src))
		}
	}
}

// destination returns the effect on the last operand of a command that writes there all that it reads, or -1.
func (c *call) destination(from int) int {
	last, args := -1, c.spec.args
	r := args[len(args)-1].role
	if len(args) < 2 || r != roleWrite && r != roleTo || args[0].role == roleText || args[0].role == roleWrite {
		return -1
	}
	for i := from; i < len(c.a.an.Effects); i++ {
		if e := &c.a.an.Effects[i]; e.Kind == Write && e.Command == c.cmd && !e.Unnamed && !e.Tags.Has(Redirect) {
			last = i
		}
	}
	return last
}

// placedIn is a write of a file that goes into a directory under its own name.
func (c *call) placedIn(dest Effect, src *Effect) Effect {
	e := dest
	e.Certain, e.Recursive = false, c.recursive || c.args[0].role == roleMove && !c.sub && !c.a.fileAt(src)
	if e.Recursive {
		e.Tags |= Contents
	}
	name := path.Base(strings.TrimRight(src.Raw, "/"))
	insides := name == "." || name == ".." || src.Raw == "" // `cp -r . dir`
	switch {
	case src.shape != nil && src.Path == "":
		e.open(dest.Path + "/" + (*src.shape)[strings.LastIndexByte(*src.shape, '/')+1:])
		e.Path, e.Real, e.bound = "", "", src.bound
	case insides || strings.HasSuffix(src.Raw, "/") && c.recursive && !slashNames().Has(c.name):
		e.Recursive, e.Tags = true, e.Tags|Contents
	default:
		e.Path, e.Glob = dest.Path+"/"+name, src.Glob || dest.Glob
		if e.Real = e.Path; dest.Real != "" {
			e.Real = dest.Real + "/" + name
		}
		c.a.classify(&e, e.Path, e.Glob)
	}
	return e
}

// common returns the directory that two paths have in common.
func common(a, b string) string {
	for a != "/" && a != "" && !paths.Inside(a, b) {
		a = path.Dir(a)
	}
	return a
}

// Lists returns where the files lie whose names a command prints, as `ls` and `git ls-files` do; false if it does not.
func (an *Analysis) Lists(cmd int) (paths.Set, bool) {
	c := &an.Commands[cmd]
	if len(c.Words) == 0 || !search.About(c.Program, c.Words[1:]) {
		return paths.Set{}, false
	}
	dir := ""
	for i := range an.Effects {
		if e := &an.Effects[i]; e.Command == cmd && e.Kind == Read && e.Path != "" && c.Program != "git" {
			dir = common(word.Or(dir, e.real()), e.real())
		}
	}
	dir = word.Or(dir, c.Dir)
	if name := builtin.lister(c.Words).Name(c.Words); name != "" {
		return paths.Named(dir, name), true
	}
	if word.HasGlob(dir) {
		s := paths.Matching(dir)
		s.Below = true
		return s, true
	}
	return paths.Under(dir), dir != ""
}

// dirAt reports whether the path of an effect is known to be a directory.
func (a *analyzer) dirAt(e *Effect) bool {
	return a.opts.FS != nil && e.Path != "" && a.opts.FS.IsDir(e.real())
}

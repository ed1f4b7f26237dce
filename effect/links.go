package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// globOptions is how the shell reads patterns, as far as the text may say so.
type globOptions struct {
	known bool
	dots  bool // a star also stands for a leading dot
	stars bool // ** stands for directories at any depth
	cases bool // a letter also stands for the other case
}

// globbing returns how patterns are read; the text is searched once.
func (a *analyzer) globbing() globOptions {
	if !a.globs.known {
		said := func(option string) bool { return strings.Contains(a.an.Source, option) }
		variable := said("GLOB")
		a.globs = globOptions{true, said("dotglob") || variable, said("globstar"), said("nocaseglob") || variable}
	}
	return a.globs
}

// twins adds the other names of a file that is read or written: a hard link to `.env` is `.env`.
func (a *analyzer) twins(e *Effect) {
	fs, ok := a.opts.FS.(paths.Twinner)
	file := e.real()
	if !ok || e.Kind != Read && e.Kind != Write || e.Tags.Has(List) || e.Glob || e.Recursive || e.Unnamed ||
		e.Where != "" || file == "" {
		return
	}
	for _, name := range fs.Twins(file) {
		if !a.afford(effectWork) {
			return
		}
		more := *e
		more.Path, more.Real = name, name
		a.classify(&more, name, false)
		more.Harmless = more.Harmless && !more.Secret
		a.an.Effects = append(a.an.Effects, more)
	}
}

var (
	linkers  = kb.Table("!links")
	mounters = kb.Table("!mounts")
)

// linksTo notes the links that `ln`, `cp -l` or a mount makes: the last operand is a name for each of the others, or a
// directory that they get one in.
func (c *call) linksTo(ops []int) {
	if len(ops) == 0 || c.f.where != "" || c.a.opts.FS == nil {
		return
	}
	mount := len(ops) == 2 && c.linked == 0 && mounters().Has(c.name) // `mount --bind . /mnt`
	if !mount && (c.linked == 0 || !linkers().Has(c.name)) {
		return
	}
	l, ok := c.a.opts.FS.(*left.Links)
	if !ok {
		l = &left.Links{FS: c.a.opts.FS, To: map[string]string{}}
	}
	name := *here(c.words[0].Span)
	if len(ops) > 1 {
		name, ops = c.words[ops[len(ops)-1]], ops[:len(ops)-1]
	}
	at := c.a.resolve(c.f.dir, &name).Abs
	for _, i := range ops {
		to := c.words[i]
		if at == "" || !name.Known || !to.Known || !c.a.afford(len(l.To)) {
			return
		}
		p := at
		if len(ops) > 1 || !mount && l.FS.IsDir(at) {
			p = path.Join(at, path.Base(to.Text))
		}
		if to.Tilde || c.args[0].role != roleList { // a hard link is found from where the command runs
			to.Text = c.a.resolve(c.f.dir, &to).Abs
		}
		l.To[p] = to.Text
		if dir := (paths.Resolver{FS: l}).Literal(path.Dir(p)).Real; dir != "" { // `ln -s a ld/new`, ld a link itself
			l.To[path.Join(dir, path.Base(p))] = to.Text
		}
	}
	c.a.opts.FS = l
}

// throughLinks adds, for a shell pattern, an effect for each link that it may stand for or lead
// through: in `cp x li*out/` and `cat s*/link/x` the link leads elsewhere.
func (a *analyzer) throughLinks(e *Effect) {
	fs, ok := a.opts.FS.(paths.Lister)
	at := strings.IndexAny(e.Path, "*?[")
	if !ok || !e.Glob || at < 0 || e.Where != "" {
		return
	}
	cut := strings.LastIndexByte(e.Path[:at], '/')
	if !a.linksBelow(e, fs, e.Path[:max(cut, 1)], e.Path[cut+1:]) {
		a.anyLink(e)
	}
}

// linksBelow is throughLinks for the rest of a pattern in a directory; it reports whether every
// link is known.
func (a *analyzer) linksBelow(e *Effect, fs paths.Lister, dir, pattern string) bool {
	name, rest, deeper := strings.Cut(pattern, "/")
	if !word.HasGlob(name) {
		at := path.Join(dir, name)
		if !a.afford(1) {
			return false
		}
		if _, link := a.opts.FS.Readlink(at); link {
			return a.throughLink(e, fs, at, rest)
		}
		return !deeper || a.linksBelow(e, fs, at, rest)
	}
	set := paths.Matching(name)
	if e.dots {
		set = set.WithHidden()
	}
	links, dirs, all := fs.List(dir)
	if !a.afford(len(links)+len(dirs)) || !all {
		return false
	}
	for _, link := range links {
		if set.Has(link) && !a.throughLink(e, fs, path.Join(dir, link), rest) {
			return false
		}
	}
	if name == "**" && deeper && !a.linksBelow(e, fs, dir, rest) {
		return false
	}
	tree := name == "**" && a.globbing().stars
	for _, d := range dirs {
		at := path.Join(dir, d)
		if !deeper && !tree || !set.Has(d) || !a.opts.FS.IsDir(at) {
			continue
		}
		if deeper && !a.linksBelow(e, fs, at, rest) || tree && !a.linksBelow(e, fs, at, pattern) {
			return false
		}
	}
	return true
}

// throughLink adds the effect by way of a link, and those of the links behind it.
func (a *analyzer) throughLink(e *Effect, fs paths.Lister, link, rest string) bool {
	more := *e
	if more.Path = link; rest != "" {
		more.Path += "/" + rest
		to := (paths.Resolver{FS: a.opts.FS}).Literal(link).Real
		if files, ok := a.opts.FS.(paths.Filer); ok && files.IsFile(to) {
			return true // nothing is below a file
		}
		if to != "" && !a.linksBelow(e, fs, to, rest) {
			return false
		}
	}
	more.Real = (paths.Resolver{FS: a.opts.FS}).Literal(more.Path).Real
	more.Glob, more.Certain = word.HasGlob(more.Path), false
	a.classify(&more, more.Path, more.Glob)
	a.classify(&more, more.real(), more.Glob)
	more.Harmless = more.Harmless && !more.Secret
	a.effect(more)
	return true
}

// anyLink is throughLinks for a directory of which not every link is known: a link may lead anywhere.
func (a *analyzer) anyLink(e *Effect) {
	more := *e
	more.Path, more.Real, more.Glob, more.Certain = "", "", false, false
	more.open(shell.Unknown)
	a.effect(more)
	const why = "a pattern in a directory with more links than are looked at, or that cannot be read"
	a.gap(DynamicOperand, why, e.Span, e.Command)
}

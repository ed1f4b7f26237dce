package protect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// A manner is how a set of paths is changed.
type manner uint8

const (
	there    manner = iota // existing files are changed or removed: items that exist count
	appear                 // files of any name may appear: all items count
	switched               // tracked files get another commit's content: hook entries of obstat's count
	partly                 // a part of the path is known only at run time: items that it tells count
)

// effect looks at one effect on files.
func (k *check) effect(e *effect.Effect) *Finding {
	switch {
	case e.Where != "" || e.Command < 0 && k.onlyGuesses():
		return nil
	case e.Tags.Has(effect.Transfer) && !e.Harmless && e.Command >= 0:
		return k.transfers(e)
	case e.Tags.Has(effect.Taken):
		return k.operands(e)
	case e.Kind == effect.Read:
		return k.reads(e)
	case !changes(e):
		return nil
	}
	how := mannerOf(e)
	for _, s := range targets(e) {
		if f := k.touches(s, e.Raw, how); f != nil {
			f.Unseen = f.Unseen || how == appear && k.path(s.Known(), e.Raw) == nil // `tar x`, not `tar x -C .claude`
			return f
		}
		if s.Exact() && k.replaces(e) {
			if f := k.touches(paths.Under(s.Text), e.Raw, there); f != nil {
				return f
			}
		}
	}
	return nil
}

// changes tells whether an effect may change a file's meaning: the output of a formatter, as
// `gofmt -w .` writes it, means the same.
func changes(e *effect.Effect) bool {
	if e.Harmless || e.Kind != effect.Write && e.Kind != effect.Delete {
		return false
	}
	return !e.Formatted() && !(e.Recursive && is("formats", e.Program))
}

func mannerOf(e *effect.Effect) manner {
	switch {
	case e.Tags.Has(effect.Contents):
		return appear
	case e.Tags.Has(effect.Tree) && e.Unnamed:
		return switched
	case e.Path == "" && e.Shape() != "":
		return partly
	}
	return there
}

// targets returns the paths that an effect touches, and those that links lead to from there.
func targets(e *effect.Effect) []paths.Set {
	if real := e.RealTarget(); real != e.Target() {
		return []paths.Set{e.Target(), real}
	}
	return []paths.Set{e.Target()}
}

// replaces tells whether a change of a directory changes its files: their modes, or the
// directory itself, as `ln -sfn x .codex` does.
func (k *check) replaces(e *effect.Effect) bool {
	if e.Tags.Has(effect.Redirect) || e.Kind != effect.Write {
		return false
	}
	into := !is("replaces", e.Program) && k.world != nil && k.world.IsDir(e.Path) // see effect.Target
	return is("modes", e.Program) || is("over", e.Program) && !into
}

// onlyGuesses tells whether the effects of a tool are guessed from the names of its
// fields, and the tool says that it only reads.
func (k *check) onlyGuesses() bool {
	return (k.a.Tool == "mcp" || k.a.Tool == "") && onlyReads(k.call.Tool)
}

// operands looks at a command that takes its operands away, or puts something over
// them: `mount --bind x .codex`, `zip -m`.
func (k *check) operands(e *effect.Effect) *Finding {
	c := &k.a.Commands[e.Command]
	for i := range c.Args() {
		w := &c.Args()[i]
		if p := k.resolve(c.Dir, w.Text); w.Known && p.Abs != "" && !strings.HasPrefix(w.Text, "-") {
			s := paths.Under(p.Real)
			if w.Glob {
				s = paths.Matching(p.Real)
				s.Below = true
			}
			if f := k.touches(s, w.Raw, there); f != nil {
				return f
			}
		}
	}
	return nil
}

// touches tells whether a change of a set of paths touches an item.
func (k *check) touches(s paths.Set, part string, how manner) *Finding {
	if s.IsZero() || s.IsAnything() {
		return nil
	}
	if s.Exact() {
		return k.path(s.Text, part)
	}
	s.Text = fold(s.Text)
	if how == partly {
		if f := k.shaped(s, part); f != nil {
			return f
		}
	}
	search := how == there && strings.IndexByte(s.Text, paths.AnyText) >= 0 // files of some name, at any depth
	for i, it := range k.own() {
		it.set.Below = it.set.Below && !search
		switch {
		case how == switched && (it.what != isPolicy || k.g.Pinned):
		case (how != partly || tells(s.Text, it.set.Text)) && s.Meets(it.set):
			return finding(k.g.items[i].name, it.what, part)
		}
	}
	for _, at := range k.places() {
		if f := k.among(s, at, part, how, !search); f != nil {
			return f
		}
	}
	return nil
}

// among tells whether a set meets one of the table's entries in a place.
func (k *check) among(s paths.Set, at place, part string, how manner, below bool) *Finding {
	for _, dir := range [...]string{at.folded, at.real} {
		if dir == "" || !s.Meets(paths.Under(dir)) {
			continue
		}
		items, known := table(), relative(s.Known(), dir)
		for i := range items {
			e := &items[i]
			near := strings.HasPrefix(e.folded, known) || strings.HasPrefix(known, e.folded)
			switch {
			case e.env != "" || e.folded[0] == '/' || !near:
				continue
			case how == partly && !tells(s.Text, dir+"/"+e.folded), !meets(s, dir, e, below):
				continue
			}
			name := at.dir + "/" + e.path
			switch {
			case how == there && !k.exists(name):
			case how == switched && (at.home || e.what == isState || e.what == isProgram || !k.installed(name)):
			case how == switched && e.what == mayPolicy && k.g.Pinned:
			default:
				return finding(name, e.what, part)
			}
		}
	}
	return nil
}

// relative returns the part of a path that lies in dir, from there on; "" if it ends before.
func relative(p, dir string) string {
	if len(p) <= len(dir) {
		return ""
	}
	return p[len(dir)+1:]
}

// meets tells whether a set meets an entry in a directory; below: with all that is in it.
func meets(s paths.Set, dir string, e *entry, below bool) bool {
	below = below && e.below
	if s.Marked() {
		return s.Meets(paths.Set{Text: dir + "/" + e.folded, Below: below})
	}
	if inside(s.Text, dir) {
		return s.Below
	}
	rel := s.Text[len(dir)+1:]
	return rel == e.folded || s.Below && inside(rel, e.folded) || below && inside(e.folded, rel)
}

// tells tells whether a path of which a part is open, as `obs${x}tat.json`, says enough
// to be an item on purpose: two letters of the name stand before the open part, or the
// directory is one that only an item has. Of `$f.json` nothing is known.
func tells(text, item string) bool {
	open := strings.IndexByte(text, paths.AnyText)
	if open < 0 {
		return true
	}
	known := text[:open]
	if begun := known[strings.LastIndexByte(known, '/')+1:]; begun != "" {
		return len(begun) > 1
	}
	if known == "" {
		return false
	}
	e := named(item)
	return e != nil && strings.Contains(known, "/"+e.token+"/")
}

// shaped looks at a path of which a part is open, and the end is known:
// `$dir/obstat.json`.
func (k *check) shaped(s paths.Set, part string) *Finding {
	end := s.Text[strings.LastIndexByte(s.Text, paths.AnyText)+1:]
	if end != "" && end[0] != '/' {
		end = "/" + end
	}
	if end == "" || len(end) >= len(s.Text)+1 || strings.ContainsAny(end, "\x01\x02\x03") {
		return nil
	}
	if e := named(end); e != nil {
		return guessed(e.path, e.what, part)
	}
	for _, e := range table() {
		if s.Below && e.token != "" && strings.HasPrefix(e.folded, end[1:]+"/") &&
			strings.HasPrefix(end[1:]+"/", e.token+"/") {
			return guessed(e.path, e.what, part)
		}
	}
	for i, it := range k.own() {
		if it.what != isState && strings.HasSuffix(it.set.Text, end) {
			return guessed(k.g.items[i].name, it.what, part)
		}
	}
	return nil
}

func guessed(name, what, part string) *Finding {
	return &Finding{Part: clip(part), Why: "part of a file's name is known only at run time, and it looks like " +
		name + ", " + what + onlyPersons}
}

// path tells whether a path is an item.
func (k *check) path(name, part string) *Finding {
	p := fold(name)
	if e := named(p); e != nil {
		return finding(name, e.what, part)
	}
	one, items := paths.Exactly(p), k.own()
	for i := range items {
		if items[i].set.Meets(one) {
			return finding(items[i].name, items[i].what, part)
		}
	}
	return nil
}

// reads looks at files that are read only to be changed later, as a second name for one
// is, and at the key that the ledger's digests are made with.
func (k *check) reads(e *effect.Effect) *Finding {
	if e.Tags.Has(effect.Linked) {
		return k.linked(e)
	}
	if e.Tags.Has(effect.List) || e.Path == "" { // the name of a file that only run time knows says nothing
		return nil
	}
	if slices.ContainsFunc(targets(e), k.hasKey) {
		return &Finding{Part: e.Raw, Why: "it would read the key that the ledger is kept with; only a person allows that"}
	}
	return nil
}

// linked looks at a file that gets a second name: `ln obstat.json x`.
func (k *check) linked(e *effect.Effect) *Finding {
	for _, s := range targets(e) {
		how := there
		s.Below = s.Below || !s.IsZero() && s.Text != "/"
		if e.Path == "" {
			how, s.Below = partly, false
		}
		if f := k.touches(s, e.Raw, how); f != nil {
			return f
		}
		if s.Below = false; s.Exact() {
			if f := k.path(s.Text, e.Raw); f != nil {
				return f
			}
		}
	}
	return nil
}

// hasKey tells whether a set of files that are read has the ledger's key in it.
func (k *check) hasKey(s paths.Set) bool {
	if s.IsZero() || s.Exact() && !strings.HasSuffix(s.Text, "key") {
		return false
	}
	s.Text = fold(s.Text)
	return slices.ContainsFunc(k.own(), func(it item) bool {
		return it.what == isState && it.set.Below && s.Has(it.set.Text+"/obstat.db.key") && (s.Exact() || k.exists(it.name))
	})
}

// transfers looks at a copy from another machine, or from a store, to this one: files of
// any name appear, or one that is called as it is there.
func (k *check) transfers(e *effect.Effect) *Finding {
	c := &k.a.Commands[e.Command]
	ops := operands(c.Args())
	if len(ops) < 2 || strings.Contains(ops[len(ops)-1].Text, ":") {
		return nil
	}
	from, to := ops[len(ops)-2].Text, k.resolve(c.Dir, ops[len(ops)-1].Text).Real
	whole := is("syncs", c.Program) || is("syncs", ops[0].Text) || is("syncs", ops[1].Text)
	if whole || flag(c.Args(), "--recursive", "-r") {
		return k.touches(paths.Under(to), c.Text, appear)
	}
	return k.touches(paths.Exactly(to+"/"+from[strings.LastIndexAny(from, "/:")+1:]), c.Text, there)
}

package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// revision is a revision or a tracked file of which git says something: of `git log -p -- x` it
// shows the content.
func (c *call) revision(w *shell.Word) {
	if c.patches() || c.words[c.at[0]].Text == "rev-parse" && strings.Contains(w.Text, ":") { // `git show $(git rev-parse HEAD:x)`
		c.blob(w)
		return
	}
	p := w.Text
	if i := strings.LastIndexByte(p, ':'); i >= 0 {
		p = p[i+1:]
	}
	if p == "" || !w.Known {
		return // what is tracked is not secret to those who can read the repository
	}
	e, ok := c.a.opts.Sensitive.Lookup(p)
	if !ok && w.Glob {
		e, ok = c.a.glob(p)
	}
	if ok && e.Secret {
		v := *w
		v.Text = p
		c.readFile(&v, true)
	}
}

// patches reports whether git shows how files were changed, or may: a flag is not known.
func (c *call) patches() bool {
	if c.words[c.at[0]].Text == "format-patch" {
		return true
	}
	for i := c.at[0] + 1; i < len(c.words); i++ {
		w := &c.words[i]
		if shape := w.Shape(); !w.Known && (shape == "" || shape[0] == '-' || strings.HasPrefix(shape, shell.Unknown)) {
			return true
		}
		for _, flag := range [...]string{"-p", "-u", "-U", "-c", "-m", "-W", "--patc", "--uni", "--cc", "--word", "--color-w", "--reme", "--diff-m", "--func", "--bin", "--chec"} {
			if strings.HasPrefix(w.Text, flag) {
				return true
			}
		}
	}
	return false
}

// blob is a revision, or a tracked file whose content is shown: `HEAD:config/prod.yaml`, or
// behind -- a path or a pattern of git's own.
func (c *call) blob(w *shell.Word) {
	if !w.Known {
		c.unknownBlob(w)
		return
	}
	spec, magic := readPathspec(w.Text)
	switch {
	case spec.exclude: // all others, or fewer of those that are named
	case magic:
		c.tracks(w, spec)
	case strings.IndexByte(w.Text, ':') >= 0:
		spec.text = w.Text[strings.LastIndexByte(w.Text, ':')+1:]
		spec.literal = true
		c.tracks(w, spec)
		if spec.top = !strings.HasPrefix(spec.text, "./") && !strings.HasPrefix(spec.text, "../"); spec.top && c.a.worktree(c.f.dir) != c.f.dir {
			c.tracks(w, spec) // `git show HEAD:x` is from the top
		}
	case c.pathLike(w.Text):
		c.tracks(w, spec)
	}
}

// unknownBlob is a word that is known only at run time.
func (c *call) unknownBlob(w *shell.Word) {
	shape := w.Shape()
	colon := strings.LastIndexByte(shape, ':')
	shape = shape[colon+1:]
	v := *w
	fed := c.words[c.at[0]].Text == "show" && !c.flagged(namesOfChanges) && (w.Why == whyInput || c.listsObjects()) // `git ls-tree HEAD | ... | xargs git show`
	switch {
	case colon < 0 && isRange(shape):
		return // `$(git describe --tags)..HEAD`
	case strings.Trim(shape, shell.Unknown) != "":
		v = shell.Word{Raw: w.Raw, Span: w.Span, Why: w.Why, Bound: w.Bound}.WithShape(shape)
	case colon < 0 && c.words[c.at[0]].Text != "cat-file" && !fed:
		return // a revision; `HEAD:$f` is a file of one
	}
	if colon >= 0 {
		c.gap(DynamicOperand, "which file is read is known only at run time", w)
	}
	e := c.newEffect(Read, &v)
	if e.Harmless = true; e.shape == nil || strings.Trim(shape, shell.Unknown) == "" { // any object, `xargs git cat-file -p`
		any := shell.Unknown
		e.shape, e.bound = &any, true
	}
	c.a.effect(e)
}

// listsObjects reports whether the command makes git print the names of objects which are no commits.
func (c *call) listsObjects() bool {
	for _, word := range [...]string{"ls-tree", "--objects", "hash-object", "ls-files -s", "ls-files --stage", "write-tree", "--batch"} {
		if strings.Contains(c.a.an.Source, word) {
			return true
		}
	}
	return false
}

// A pathspec is git's way to name tracked files.
type pathspec struct {
	text    string
	top     bool // from the top of the working tree
	exclude bool // all but these
	icase   bool
	literal bool // no pattern
}

// readPathspec reads `:(top,icase)x`, `:/x`, `:!x` or a plain path; magic is false for the last.
func readPathspec(t string) (spec pathspec, magic bool) {
	if inner, ok := strings.CutPrefix(t, ":("); ok {
		words, rest, _ := strings.Cut(inner, ")")
		spec.text = rest
		for word := range strings.SplitSeq(words, ",") {
			switch word {
			case "top":
				spec.top = true
			case "exclude":
				spec.exclude = true
			case "icase":
				spec.icase = true
			case "literal":
				spec.literal = true
			}
		}
		return spec, true
	}
	if spec.text = t; len(t) < 2 || t[0] != ':' || strings.IndexByte("/!^", t[1]) < 0 {
		return spec, false
	}
	for spec.text = t[1:]; spec.text != "" && strings.IndexByte("/!^", spec.text[0]) >= 0; spec.text = spec.text[1:] {
		spec.top = spec.top || spec.text[0] == '/'
		spec.exclude = spec.exclude || spec.text[0] != '/'
	}
	spec.text = strings.TrimPrefix(spec.text, ":")
	return spec, true
}

// tracks adds a read of the files that a pathspec takes.
func (c *call) tracks(w *shell.Word, spec pathspec) {
	dir := c.f.dir
	if spec.top {
		dir = c.a.worktree(dir)
	}
	if spec.text == "" && !spec.top {
		return
	}
	v := *w
	v.Text = or(spec.text, ".")
	if spec.icase {
		v.Text = strings.Map(openLetter, v.Text)
	}
	if v.Text == "*" && !spec.literal {
		v.Text = "."
	}
	v.Glob = !spec.literal && (v.Glob || hasGlob(v.Text))
	name := ""
	if at, last := path.Split(v.Text); v.Glob && at == "**/" {
		v.Text, v.Glob, name = ".", false, last
	} else if v.Glob && !hasGlob(at) && strings.HasPrefix(last, "*") { // a star takes slashes and dots
		v.Text, v.Glob, name = or(at, "."), false, last
	}
	e := c.newEffect(Read, &v)
	f := c.f
	f.dir = dir
	e.Recursive = e.Recursive || c.recursive
	c.a.place(&e, &v, &f)
	switch {
	case name != "":
		e.name, e.Recursive = name, true
		if bare := strings.TrimLeft(name, "*"); c.a.secretWord(&shell.Word{Text: bare}) || c.a.secretWord(&shell.Word{Text: "." + bare}) {
			e.Secret = true // `-- '*env'`
		}
	case v.Glob:
		e.Path, e.Real, e.dots = strings.ReplaceAll(e.Path, "*", "**"), "", true
	case e.Path != "" && paths.Inside(e.Path, c.a.worktree(c.f.dir)):
		if !c.dumps() {
			return // a change of anything, as without a path
		}
		e.Recursive = true
	default:
		e.Recursive = e.Recursive || c.a.dirAt(&e)
	}
	e.Harmless = !e.Secret
	c.a.effect(e)
}

// dumps reports whether git shows all that is in files, not how they were changed.
func (c *call) dumps() bool {
	switch c.words[c.at[0]].Text {
	case "show", "diff", "log", "whatchanged", "format-patch", "stash", "range-diff", "reflog", "diff-files", "diff-index", "diff-tree":
		return c.fromNothing()
	}
	return true
}

// pathLike reports whether a word of git's is more likely a path than a revision.
func (c *call) pathLike(t string) bool {
	return !isRange(t) && (c.dashes() || strings.ContainsAny(t, "./*?[") || c.words[c.at[0]].Text == "archive" && t != c.words[c.ops()[0]].Text)
}

// isRange reports whether a word is two revisions, `v1..HEAD`.
func isRange(t string) bool {
	return strings.Contains(t, "..") && !strings.HasPrefix(t, "../") && !strings.Contains(t, "/..")
}

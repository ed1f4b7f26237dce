package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/git"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// refspec is a branch that is pushed: `+main` overwrites it there, `:main` removes it.
func (c *call) refspec(w *shell.Word) {
	text, forced := strings.CutPrefix(w.Text, "+")
	c.force = c.force || forced
	if strings.HasPrefix(text, ":") && len(text) > 1 {
		c.deed(&deed{verb: doesDelete, detail: "a remote branch"})
	}
}

// isGit reports whether the program is git, or reads its words as git does.
func (c *call) isGit() bool { return c.root.style&styleGit != 0 }

// subName returns the name of the subcommand: of `git -C x stash show` it is stash, and the second is show.
func (c *call) subName(i int) string { return c.words[c.at[i]].Text }

// copiesTree notes the worktree or clone that git makes.
func (c *call) copiesTree(ops []int) {
	if !c.isGit() || !c.sub || c.f.where != "" {
		return
	}
	first := &shell.Word{}
	if len(ops) > 0 {
		first = &c.words[ops[0]]
	}
	top := func() string { return c.a.worktree(c.f.dir) }
	switch sub := c.subName(0); {
	case c.moved != "" && strings.Contains(c.a.an.Source, "--work-tree"):
		c.a.left.copies.Note(c.a.worktree(c.start), c.f.dir)
	case sub == "checkout-index", sub == "read-tree":
		for i := range c.words {
			if prefix, ok := strings.CutPrefix(c.words[i].Text, "--prefix="); ok {
				c.a.left.copies.Note(top(), c.realPath(&shell.Word{Text: prefix, Known: true}))
			}
		}
	case len(ops) == 0:
	case sub == "bundle" && first.Text == "-":
		c.readTree()
	case sub == "bundle", sub == "worktree" && c.subName(1) == "add":
		c.a.left.copies.Note(top(), c.realPath(first))
	case sub == "clone" || sub == "submodule":
		c.clones(ops)
	}
}

// clones notes the copy of a repository of this machine.
func (c *call) clones(ops []int) {
	from := c.words[ops[0]]
	from.Text = strings.TrimPrefix(from.Text, "file://")
	if !from.Known || strings.ContainsAny(from.Text, ":@") {
		return
	}
	name := path.Base(strings.TrimSuffix(from.Text, "/.git"))
	to := shell.Word{Text: strings.TrimSuffix(name, ".git"), Known: true}
	if len(ops) > 1 {
		to = c.words[ops[1]]
	}
	c.a.left.copies.Note(strings.TrimSuffix(c.realPath(&from), "/.git"), c.realPath(&to))
}

func (c *call) realPath(w *shell.Word) string {
	p := c.a.resolve(c.f.dir, w)
	return word.Or(p.Real, p.Abs)
}

// throughCopies adds the file that a read of its copy is a read of.
func (a *analyzer) throughCopies(e *Effect) {
	if e.Kind != Read || e.Tags.Has(List) || e.Path == "" || e.Where != "" {
		return
	}
	for i := range a.left.copies {
		origin := a.left.copies.Origin(i, e.real(), e.Recursive)
		if origin == "" || !a.afford(effectWork) {
			continue
		}
		more := *e
		more.Path, more.Real, more.Certain = origin, origin, false
		a.an.Effects = append(a.an.Effects, more)
	}
}

// readTree adds a read of all that is below.
func (c *call) readTree() {
	c.recursive = true
	from := len(c.a.an.Effects)
	c.readFile(here(c.words[0].Span), true)
	if c.isGit() && c.subName(0) == "grep" && c.greps() {
		for i := from; i < len(c.a.an.Effects); i++ {
			c.a.an.Effects[i].Tags |= Worktree
		}
	}
}

// greps reports whether `git grep` looks at files as they lie in the working tree, and at no commit or index.
func (c *call) greps() bool {
	pattern := 1
	if c.gave(func(flag string) bool { return flag == "-e" || flag == "-f" }) {
		pattern = 0
	}
	unknown := func(w shell.Word) bool { return !w.Known }
	cached := func(flag string) bool { return strings.HasPrefix(flag, "--c") }
	return len(c.ops()) <= pattern && !slices.ContainsFunc(c.words, unknown) && !c.gave(cached)
}

// wholeTree reports whether git shows the content of all tracked files below: `git grep x`, `git archive HEAD`.
func (c *call) wholeTree() bool {
	if !c.isGit() || !c.sub || c.help {
		return false
	}
	how := git.Shows(c.subName(0))
	gave := func(section string) bool { return c.gave(func(flag string) bool { return how.Has(section, flag) }) }
	switch {
	case how == nil || how.Given("sub") && !how.Has("sub", c.subName(1)):
		return false
	case how.Given("with") && !gave("with"), gave("without"):
		return false
	case how.Given("changes"):
		return c.fromNothing() || !c.gave(git.NamesOnly().Has) && (c.addedAll() || c.givenHistory())
	case how.Given("history"):
		return c.patches() && (gave("history") || c.fromNothing() || c.addedAll())
	}
	return true
}

// gave reports whether a flag of some was given.
func (c *call) gave(has func(flag string) bool) bool {
	for i := range c.words[1:] {
		if t, _, _ := strings.Cut(c.words[1+i].Text, "="); word.IsFlag(t) && has(t) {
			return true
		}
	}
	return false
}

// addedAll reports whether the command has put files of any name under git's control before, so that git shows
// them as new: `git add -A && git diff --cached`.
func (c *call) addedAll() bool {
	return slices.ContainsFunc(c.a.an.Commands[:c.cmd], func(k Command) bool { return git.AddsAll(k.Words) })
}

// givenHistory reports whether git is given commits that another git lists, the first with them, where every file
// is new: `git show $(git rev-list --all)`, `git log --format=%H | xargs git show`.
func (c *call) givenHistory() bool {
	said := git.ListsFirst(c.a.an.Source)
	filled := false // a word stands for each line of a pipe
	for i := range c.words {
		w := &c.words[i]
		if w.Known {
			continue
		}
		filled = filled || w.Raw == "{}"
		if said && shell.IsPrinted(w) || git.ListsHistory(c.producer(w), strings.Contains(w.Raw+w.Why, "head")) {
			return true
		}
	}
	for i := 0; i < c.cmd && filled; i++ {
		next := c.a.an.Commands[i+1].Words
		if git.ListsHistory(c.a.an.Commands[i].Words, len(next) > 0 && next[0].Text == "head") {
			return true
		}
	}
	return false
}

// fromNothing reports whether a diff begins at the empty tree, which makes it show whole files.
func (c *call) fromNothing() bool {
	if how := git.Shows(c.subName(0)); how.Given("history") && !how.Given("with") && git.AllHistory(c.words[c.at[0]+1:]) {
		return true
	}
	return slices.ContainsFunc(c.ops(), func(i int) bool {
		w := &c.words[i]
		return git.EmptyTree(w.Text) || !w.Known && strings.Contains(c.a.an.Source, "hash-object")
	})
}

// patches reports whether git shows how files were changed, or may.
func (c *call) patches() bool { return git.Patches(c.subName(0), c.words[c.at[0]+1:]) }

// revision is a revision or a tracked file of which git says something: of `git log -p -- x` it
// shows the content.
func (c *call) revision(w *shell.Word) {
	if c.patches() || c.subName(0) == "rev-parse" && strings.Contains(w.Text, ":") { // `git show $(git rev-parse HEAD:x)`
		c.blob(w)
		return
	}
	p := w.Text
	if i := strings.LastIndexByte(p, ':'); i >= 0 {
		p = p[i+1:]
	}
	if p == "" || !w.Known {
		return // tracked files are not secret to those that can read the repository
	}
	e, ok := paths.Sensitive(p)
	if !ok && w.Glob {
		e, ok = c.a.glob(p)
	}
	if ok && e.Secret {
		v := *w
		v.Text = p
		c.readFile(&v, true)
	}
}

// blob is a revision, or a tracked file whose content is shown: `HEAD:config/prod.yaml`, or
// behind -- a path or a pattern of git's own.
func (c *call) blob(w *shell.Word) {
	if !w.Known {
		c.unknownBlob(w)
		return
	}
	spec, magic := git.ReadPathspec(w.Text)
	switch {
	case spec.Exclude: // all others, or fewer of those that are named
	case magic:
		c.tracks(w, spec)
	case strings.IndexByte(w.Text, ':') >= 0:
		spec.Text = w.Text[strings.LastIndexByte(w.Text, ':')+1:]
		spec.Literal = true
		c.tracks(w, spec)
		spec.Top = !strings.HasPrefix(spec.Text, "./") && !strings.HasPrefix(spec.Text, "../")
		if spec.Top && c.a.worktree(c.f.dir) != c.f.dir {
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
	listed := w.Why == whyInput || git.Objects(c.a.an.Source) // `git ls-tree HEAD | ... | xargs git show`
	fed := c.subName(0) == "show" && !c.gave(git.NamesOnly().Has) && listed
	switch {
	case colon < 0 && git.IsRange(shape):
		return // `$(git describe --tags)..HEAD`
	case strings.Trim(shape, shell.Unknown) != "":
		v = shell.Word{Raw: w.Raw, Span: w.Span, Why: w.Why, Bound: w.Bound}.WithShape(shape)
	case colon < 0 && c.subName(0) != "cat-file" && !fed:
		return // a revision; `HEAD:$f` is a file of one
	}
	if colon >= 0 {
		c.gap(DynamicOperand, "which file is read is known only at run time", w)
	}
	e := c.newEffect(Read, &v)
	e.Harmless = true
	if e.shape == nil || strings.Trim(shape, shell.Unknown) == "" { // any object, `xargs git cat-file -p`
		e.open(shell.Unknown)
	}
	c.a.effect(e)
}

// tracks adds a read of the files that a pathspec takes.
func (c *call) tracks(w *shell.Word, spec git.Pathspec) {
	if spec.Text == "" && !spec.Top {
		return
	}
	f := c.f
	if spec.Top {
		f.dir = c.a.worktree(f.dir)
	}
	v, name := specWord(w, spec)
	e := c.newEffect(Read, &v)
	e.Recursive = e.Recursive || c.recursive
	c.a.place(&e, &v, &f)
	switch {
	case name != "":
		e.name, e.Recursive = name, true
		bare := strings.TrimLeft(name, "*") // `-- '*env'`
		e.Secret = e.Secret || c.a.secretWord(&shell.Word{Text: bare}) || c.a.secretWord(&shell.Word{Text: "." + bare})
	case v.Glob:
		e.Path, e.Real, e.dots = strings.ReplaceAll(e.Path, "*", "**"), "", true
	case e.Path != "" && paths.Inside(e.Path, c.a.worktree(c.f.dir)):
		if git.Diffs(c.subName(0)) && !c.fromNothing() {
			return // a change of anything, as without a path
		}
		e.Recursive = true
	default:
		e.Recursive = e.Recursive || c.a.dirAt(&e)
	}
	e.Harmless = !e.Secret
	c.a.effect(e)
}

// specWord returns a pathspec as a path or pattern, or as a directory and a pattern of names below it: a star of
// git's takes slashes and dots.
func specWord(w *shell.Word, spec git.Pathspec) (v shell.Word, name string) {
	v = *w
	v.Text = word.Or(spec.Text, ".")
	if spec.Fold {
		v.Text = paths.AnyCase(v.Text)
	}
	if spec.Literal {
		v.Glob = false
		return v, ""
	}
	if v.Text == "*" {
		v.Text = "."
	}
	v.Glob = v.Glob || word.HasGlob(v.Text)
	at, last := path.Split(v.Text)
	switch {
	case v.Glob && at == "**/":
		v.Text, v.Glob, name = ".", false, last
	case v.Glob && !word.HasGlob(at) && strings.HasPrefix(last, "*"):
		v.Text, v.Glob, name = word.Or(at, "."), false, last
	}
	return v, name
}

// pathLike reports whether a word of git's is more likely a path than a revision.
func (c *call) pathLike(t string) bool {
	if git.IsRange(t) {
		return false
	}
	return c.dashes() || strings.ContainsAny(t, "./*?[") || c.subName(0) == "archive" && t != c.words[c.ops()[0]].Text
}

// worktree returns the top of the working tree that a directory is in, as far as that is
// known: the directory itself where no .git is seen.
func (a *analyzer) worktree(dir string) string {
	for at := dir; a.opts.FS != nil && at != ""; at = path.Dir(at) {
		if a.opts.FS.IsDir(path.Join(at, ".git")) {
			return at
		}
		if at == "/" || at == "." {
			break
		}
	}
	return dir
}

// tracked is a word of `git checkout`: a branch, or files that get another content. Behind
// `--`, and where there are several, they are files; a single one may be either.
func (c *call) tracked(w *shell.Word, alone bool) {
	here := w.Text == "." && w.Known && !c.f.otherRepo && c.moved == "" // as `git reset --hard`
	branch := alone && (w.Known || shell.IsPrinted(w) && w.Text == "")
	if branch || here || strings.HasPrefix(w.Text, ":") {
		e := c.own(Write, "the working tree", Tree)
		e.Certain, e.Unnamed, e.at = true, true, c.fallsAt(Tree)
		c.addDetails(&e)
		c.a.effect(e)
		return
	}
	from := len(c.a.an.Effects)
	c.changeFile(Write, w)
	for i := from; i < len(c.a.an.Effects); i++ {
		e := &c.a.an.Effects[i]
		e.Tags |= Tree
		e.Recursive = true
		if w.Known && word.HasGlob(w.Text) { // a star of git's takes slashes
			e.Path, e.Real, e.Glob = strings.ReplaceAll(e.Path, "*", "**"), "", true
		}
	}
}

// isFiles tells whether a single word of `git checkout` names files: a path that is there, which git
// takes for a branch only behind an error, or a text that no branch can have, `./a`, `src/`, `*.js`.
func (c *call) isFiles(w *shell.Word) bool {
	switch t := w.Text; {
	case !w.Known || t == "":
		return false
	case t[0] == '/', strings.HasPrefix(t, "./"), strings.HasPrefix(t, "../"), strings.HasSuffix(t, "/"), word.HasGlob(t):
		return true
	}
	at, fs := c.a.resolve(c.f.dir, w).Abs, c.a.opts.FS
	if at == "" || fs == nil || c.f.otherRepo {
		return false
	}
	return isThere(fs, at)
}

// undoes adds, to each tracked file that put has written, the deletion of its uncommitted changes:
// `git restore a.go` takes as much away as `git reset --hard` does of that file.
func (c *call) undoes(files bool, put func()) {
	from := len(c.a.an.Effects)
	put()
	for i, end := from, len(c.a.an.Effects); files && i < end && !c.a.full; i++ {
		if e := c.a.an.Effects[i]; e.Kind == Write && e.Tags.Has(Tree) {
			e.Kind, e.Detail = Delete, "uncommitted changes"
			c.addDetails(&e)
			c.a.effect(e)
		}
	}
}

// restored is a word of `git restore`, which leaves the files alone with --staged only.
func (c *call) restored(w *shell.Word) {
	staged, tree := false, false
	for i := range c.words {
		t := c.words[i].Text
		short := len(t) > 1 && t[0] == '-' && t[1] != '-'
		staged = staged || strings.HasPrefix(t, "--st") || short && strings.Contains(t, "S")
		tree = tree || strings.HasPrefix(t, "--w") || short && strings.Contains(t, "W") || !c.words[i].Known
	}
	if staged && !tree {
		c.listFile(w)
		return
	}
	c.tracked(w, false)
}

// dashes reports whether `--` stands among the words.
func (c *call) dashes() bool {
	for i := range c.words {
		if c.words[i].Text == "--" && c.words[i].Known {
			return true
		}
	}
	return false
}

// distrust says why the repository that the program would work in is not to be trusted.
func (c *call) distrust() string {
	dir := c.f.dir
	if c.f.otherRepo {
		dir = c.f.repo
	}
	if dir == "" {
		if c.a.opts.Dir == "" && !c.f.otherRepo {
			return ""
		}
		return "where it works is not known"
	}
	roots := c.a.opts.Roots
	if len(roots) == 0 {
		roots = []string{c.a.opts.Dir}
	}
	if c.f.otherRepo && path.Base(dir) != ".git" && !slices.Contains(roots, dir) {
		return "it is not the project's own" // --git-dir=x: only its configuration says which it is
	}
	why := "it works outside the workspace"
	for _, root := range roots {
		if paths.Inside(root, dir) {
			if !c.a.strange(dir, path.Clean(root)) {
				return ""
			}
			why = "it is not the project's own"
		}
	}
	return why
}

// strange reports whether a directory belongs to a repository that lies inside the project and
// is not the project's: one that came with an archive or a dependency, or a bare one.
func (a *analyzer) strange(dir, root string) bool {
	fs := a.opts.FS
	if fs == nil || path.Dir(dir) == root && path.Base(dir) == ".git" {
		return false
	}
	for at := path.Clean(dir); len(at) >= len(root); at = path.Dir(at) {
		own := isThere(fs, at+"/.git")
		switch {
		case path.Base(at) == ".git" && path.Dir(at) == root:
			return false
		case own:
			return at != root
		case isBare(fs, at):
			return true
		case at == "/":
			return false
		}
	}
	return false
}

// isBare reports whether git may take a directory itself for a repository. It looks for HEAD, objects and refs,
// which need not be directories, the last two perhaps where the file commondir says.
func isBare(fs paths.FS, dir string) bool {
	return isThere(fs, dir+"/objects") && isThere(fs, dir+"/refs") || isThere(fs, dir+"/commondir")
}

func isThere(fs paths.FS, name string) bool {
	if _, link := fs.Readlink(name); link || fs.IsDir(name) {
		return true
	}
	files, ok := fs.(paths.Filer)
	return ok && files.IsFile(name)
}

// gitConfig is a setting given on git's command line: most can make it run programs.
func (c *call) gitConfig(w *shell.Word) {
	name, value, _ := strings.Cut(strings.ToLower(w.Text), "=")
	if !w.Known && !strings.Contains(w.Text, "=") {
		c.gap(NotPlain, "which setting is changed is known only at run time", w)
		return
	}
	if !w.Known {
		value = ""
	}
	if git.Harmless(name, value) {
		return
	}
	if strings.HasPrefix(name, "alias.") {
		c.gap(NotPlain, "an alias can stand for any command", w)
		return
	}
	c.gap(NotPlain, "a setting that can make git run a program", w)
}

package effect

import (
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// apply gives a word its effect. flag tells a flag's value from an operand.
func (c *call) apply(r role, lang string, w *shell.Word, flag bool) {
	if r == roleText || c.applyFile(r, w, flag) || c.applyNetwork(r, w) || c.applySetting(r, w, flag) {
		return
	}
	switch r {
	case roleShell, roleRun:
		c.shellText(w)
	case roleRunMore: // `rg --pre rm`: arguments are added
		v := *w
		v.Text, v.Raw = w.Text+` "$@"`, ""
		c.shellText(&v)
	case roleCode:
		c.code(lang, w)
	case roleScript, roleModule:
		c.scriptFile(r, w)
	case roleUnless:
		c.unless(lang, w)
	case roleSed:
		c.sed(w)
	case roleAwk:
		c.awk(w)
	case roleSQL:
		c.sql(w)
	default:
		c.gap(NotPlain, "an argument that runs something", w)
	}
}

// applyFile handles the roles of paths and says whether r is one.
func (c *call) applyFile(r role, w *shell.Word, flag bool) bool {
	switch r {
	case roleRead:
		c.readFile(w, true)
	case rolePeek:
		c.readFile(w, false)
	case roleList:
		c.listFile(w)
	case roleMaybe:
		if c.read != nil { // `ssh-keygen -l -f key.pub`
			c.listFile(w)
			return true
		}
		c.changeFile(Write, w)
	case roleWrite:
		if flag && w.Known && w.Text == "-" {
			return true // standard output
		}
		n := len(c.a.an.Effects)
		c.changeFile(Write, w)
		if (flag || !harmlessDeeds(c.spec.does)) && n < len(c.a.an.Effects) {
			c.putIn(&c.a.an.Effects[n])
		}
	case roleDelete:
		c.changeFile(Delete, w)
	case roleDir:
		c.f.dir = c.a.chdir(c.f.dir, w)
	case roleFrom, roleTo:
		c.transfer(r, w)
	case roleName:
		c.nameOf(w)
	case roleRev:
		c.revision(w)
	case roleRepo:
		c.f.repo, c.f.otherRepo = c.a.chdir(c.f.dir, w), true
	case roleTarFile:
		c.tarFile(w)
	case roleBlob:
		c.blob(w)
	case roleSuffix:
		if strings.Contains(w.Text, "/") || !w.Known {
			v := *w
			v.Glob = true
			c.changeFile(Write, &v)
		}
	case roleTracked:
		alone := len(c.ops()) == 1 && w.Text != "." && !c.dashes() && !c.isFiles(w)
		c.undoes(!alone, func() { c.tracked(w, alone) })
	case roleBranch:
		c.tracked(w, true)
	case rolePathspec:
		c.restored(w)
	case roleUndone:
		c.undoes(true, func() { c.restored(w) })
	case roleInto:
		c.putInto(w)
	case roleLink:
		c.readFile(w, false)
		c.changeFile(Write, w)
	case roleMove:
		c.moveFile(w)
	case roleMount:
		c.mount(w)
	case roleWorkdir:
		c.workdir = w.Text
	case roleEntry:
		c.entry = *w
	default:
		return false
	}
	return true
}

// applyNetwork handles the roles of addresses and of what is sent.
func (c *call) applyNetwork(r role, w *shell.Word) bool {
	switch r {
	case roleURL:
		c.url(w)
	case roleHost:
		_, c.host = urlHost(w.Text) // `ssh ssh://me@host:22`, `ssh me@host`
		c.connect(c.host, w, false)
	case roleLookup:
		c.connect(w.Text, w, true)
		if !w.Known {
			c.gap(DynamicOperand, "what is asked for is known only at run time", w)
		}
	case roleGitURL:
		if !w.Known || strings.Contains(w.Text, "::") {
			c.gap(NotPlain, "an address that can make git run a program", w)
		}
		_, host := urlHost(w.Text)
		c.connect(host, w, !strings.ContainsAny(w.Text, ":@")) // a remote by its name is the repository's own
	case roleData, roleForm:
		c.data(r, w)
	case roleMethod:
		c.method(w)
	case roleSocat:
		c.socat(w)
	default:
		return false
	}
	return true
}

// applySetting handles the roles of variables and settings.
func (c *call) applySetting(r role, w *shell.Word, flag bool) bool {
	switch r {
	case roleEnv, roleMark, roleDefine:
	case roleAssign:
		if name, _, ok := strings.Cut(w.Text, "="); ok && name != "" {
			v := after(w, len(name)+1)
			c.a.assign(name, &v, c.f.span(w.Span), c.cmd)
		}
	case roleSetVar:
		c.a.assign(w.Text, &shell.Word{}, c.f.span(w.Span), c.cmd)
		if !w.Known {
			c.gap(DynamicOperand, "which variable is set is known only at run time", w)
		}
	case roleEnvName:
		c.showVariable(w)
	case roleSetting:
		if !w.Known || strings.IndexByte(w.Text, '=') >= 0 {
			e := c.newEffect(System, w)
			e.Detail = "changes a setting"
			c.a.effect(e)
		}
	case roleGitConfig:
		if flag {
			c.gitConfig(w)
		} else if len(c.ops()) > 1 { // git config NAME VALUE
			if !w.Known || gitRuns(strings.ToLower(w.Text)) {
				c.gap(NotPlain, "a setting that can make git run a program", w)
			}
			c.configFile()
		}
	case roleSSHOption:
		c.sshOption(w)
	default:
		return false
	}
	return true
}

// configFile is the file that git's settings are written to, if a flag says so.
func (c *call) configFile() {
	for i := range c.seen() {
		if s := &c.seen()[i]; s.has && s.flag.role == roleRead {
			c.changeFile(Write, &s.val)
		}
	}
}

func (c *call) newEffect(k Kind, w *shell.Word) Effect {
	return Effect{Kind: k, Raw: w.Text, shape: c.a.shapeOf(w, c.f.dir), bound: w.Bound, Program: c.name, Command: c.cmd, Span: c.f.span(w.Span), Certain: w.Known, Where: c.f.where, Host: c.f.host, Tags: c.linked}
}

// place resolves the path of an effect and classifies it.
func (c *call) place(e *Effect, w *shell.Word) {
	e.Recursive = e.Recursive || c.recursive
	c.a.place(e, w, &c.f)
}

func (a *analyzer) place(e *Effect, w *shell.Word, f *frame) {
	if f.where != "" {
		a.classify(e, w.Text, w.Glob)
		a.throughMounts(e, w, f)
		return // a path of another machine
	}
	p := a.resolve(f.dir, w)
	e.Path, e.Real, e.Glob = p.Abs, p.Real, w.Glob
	e.dots = w.Glob && a.globs().dots
	if w.Glob && a.globs().cases { // `shopt -s nocaseglob; cat .ENV*`
		e.Path, e.Real = strings.Map(openLetter, e.Path), ""
	}
	if p.Why != "" {
		e.Certain, e.lost = false, p.Abs != "" && p.Real == ""
	}
	if p.Abs == "" && e.shape == nil && p.Text != "" {
		shape := fromAnywhere(p.Text)
		if w.Tilde && p.Text[0] == '~' { // `~-/x`, `~ann/x`: whose directory that is, is not known
			_, rest, _ := strings.Cut(p.Text, "/")
			shape = fromAnywhere(rest)
		}
		e.shape, e.bound = &shape, true
	}
	a.classify(e, p.Text, w.Glob)
	if e.Real != e.Path && e.Real != "" && !e.Secret {
		a.classify(e, e.Real, w.Glob)
	}
}

func (a *analyzer) classify(e *Effect, p string, glob bool) {
	entry, ok := a.opts.Sensitive.Lookup(p)
	if glob && !entry.Secret {
		if g, hit := a.glob(p); hit && (!ok || g.Secret) {
			entry, ok = g, true
		}
	}
	if !ok {
		return
	}
	reading := e.Kind == Read
	if reading && !entry.Secret || !reading && !entry.Guarded && !entry.Secret {
		if e.Sensitive == "" {
			e.Sensitive = entry.Class
		}
		return
	}
	e.Sensitive = entry.Class
	e.Secret = e.Secret || entry.Secret && reading
}

// glob looks for a sensitive path that a shell pattern reaches. That costs more than anything
// else about a word, so there is a limit, and behind it nothing is known.
func (a *analyzer) glob(p string) (paths.Entry, bool) {
	if !a.afford(globWork) || len(p) > maxPattern {
		return paths.Entry{Class: "unknown", Reason: "one of very many patterns", Secret: true, Guarded: true}, true
	}
	return a.opts.Sensitive.Glob(p)
}

// readFile is a file whose content is read, and shown if show is set.
func (c *call) readFile(w *shell.Word, show bool) {
	if w.Known && (w.Text == "-" || w.Text == "") { // no file has an empty name: `sed -i '' s/a/b/ f`
		return
	}
	e := c.newEffect(Read, w)
	if c.inPlace {
		c.changeFile(Write, w)
		return
	}
	switch {
	case processSubst(w):
		return
	case !w.Known && w.Why == whyFound:
		e.Secret = c.f.secretNames
		e.Harmless = !e.Secret && !(show && c.f.foundAll && showsAll(c.name) && c.a.holdsProject(c.f.found))
		c.foundEffects(&e)
		return
	case !w.Known:
		e.Harmless = true
		c.a.throughMounts(&e, w, &c.f)
		c.a.effect(e)
		if show {
			c.gap(DynamicOperand, "which file is read is known only at run time", w)
		}
		return
	}
	c.place(&e, w)
	e.visible = e.Recursive && !e.Glob && c.a.visibleOnly(c.words)
	if e.Recursive && !e.Glob && c.searches() && (e.Raw == "." || strings.HasSuffix(e.Raw, "/") || c.a.dirAt(&e)) {
		e.name = nameFilter(c.words) // `grep -r x --include='*.go' .`
	}
	if c.recursive && !e.Secret && c.a.below(&e) {
		e.Secret = true
	}
	if !show {
		e.Secret = false
	}
	if c.names && show {
		e.Secret = true
	}
	e.Harmless = !e.Secret && !(show && c.create && c.recursive && c.a.holdsProject(e.Path)) // `tar c . | cat`
	c.addDetails(&e)
	c.a.effect(e)
	c.a.throughLinks(&e)
}

// below reports whether a directory that is read with everything in it holds secrets.
func (a *analyzer) below(e *Effect) bool {
	p := or(e.Real, e.Path)
	if p == "" {
		p = strings.TrimRight(e.Raw, "/")
	}
	if strings.HasPrefix(p, "~") && strings.IndexByte(p, '/') < 0 || isHome(p) {
		e.Sensitive = "home"
		return true
	}
	if a.opts.FS != nil {
		if h, ok := a.opts.FS.Home(""); ok && paths.Inside(p, h) {
			e.Sensitive = "home"
			return true
		}
	}
	entry, ok := a.opts.Sensitive.Below(p)
	if ok {
		e.Sensitive = entry.Class
	}
	return ok
}

// isHome reports whether a directory is where somebody's home usually is.
func isHome(p string) bool {
	for _, root := range [...]string{"/home/", "/Users/", "/var/home/"} {
		if rest, ok := strings.CutPrefix(p, root); ok {
			return strings.IndexByte(rest, '/') < 0
		}
	}
	return p == "/root" || p == "/home" || p == "/Users"
}

func processSubst(w *shell.Word) bool {
	return strings.HasPrefix(w.Raw, "<(") || strings.HasPrefix(w.Raw, ">(")
}

// listFile is a path of which only name and metadata are read.
func (c *call) listFile(w *shell.Word) {
	if c.inPlace { // `ruff check --fix src`
		c.format(w)
		return
	}
	if c.spec.style&styleFind != 0 {
		c.startsAt(w)
	}
	e := c.newEffect(Read, w)
	e.Harmless, e.Detail, e.Tags = true, "list", e.Tags|List
	if w.Known {
		p := c.a.resolve(c.f.dir, w)
		if c.f.where == "" {
			e.Path, e.Real, e.Glob = p.Abs, p.Real, w.Glob
		}
		e.Certain = p.Why == ""
	}
	e.Recursive = c.recursive
	c.a.effect(e)
}

// format is a file that is rewritten, or a directory in which every file is that is not hidden:
// `black .` does not write to .git.
func (c *call) format(w *shell.Word) {
	if !w.Known && w.Why != whyFound { // `prettier --write $(git diff --name-only)`
		w = &shell.Word{Text: ".", Raw: w.Raw, Known: true, Span: w.Span}
	}
	if dir, ok := strings.CutSuffix(w.Text, "/..."); ok && w.Known { // `go fmt ./...`
		w = &shell.Word{Text: dir, Raw: w.Raw, Known: true, Span: w.Span}
	}
	n := len(c.a.an.Effects)
	c.changeFile(Write, w)
	if !w.Known || len(c.a.an.Effects) == n {
		for ; n < len(c.a.an.Effects); n++ {
			e := &c.a.an.Effects[n]
			e.visible = e.name == "" // of what is found by a name, that says more
			e.formatted = e.visible
		}
		return
	}
	switch e := c.a.an.Effects[n]; {
	case w.Glob: // of files, and perhaps of directories
		e.visible, e.formatted = true, true
		c.a.effect(e)
	case e.Path != "":
		dir := w.Text == "." || c.a.dirAt(&e)
		c.a.an.Effects[n].visible, c.a.an.Effects[n].formatted = dir, dir
	}
}

// changeFile is a path that is written or removed.
func (c *call) changeFile(k Kind, w *shell.Word) {
	if w.Known && c.a.sink(w.Text) || processSubst(w) {
		return
	}
	e := c.newEffect(k, w)
	switch {
	case !w.Known && w.Why == whyFound:
		e.Harmless = c.dry
		c.addDetails(&e)
		c.foundEffects(&e)
		return
	case !w.Known:
		c.a.throughMounts(&e, w, &c.f)
		c.gap(DynamicOperand, "which file is changed is known only at run time", w)
	default:
		c.place(&e, w)
		e.isDir = k == Delete && !c.recursive && c.name != "rm" && (e.Glob || c.a.dirAt(&e))
	}
	e.Harmless = c.dry
	c.addDetails(&e)
	c.a.effect(e)
	c.a.throughLinks(&e)
}

// moveFile is a path that is taken away and has another name then.
func (c *call) moveFile(w *shell.Word) {
	from := len(c.a.an.Effects)
	c.changeFile(Delete, w)
	for i, end := from, len(c.a.an.Effects); i < end && (w.Known || w.Why == whyFound) && !c.a.full; i++ {
		if e := c.a.an.Effects[i]; e.Kind == Delete {
			e.moved, c.a.an.Effects[i].moved = true, true
			e.Kind, e.Harmless, e.Detail, e.Tags = Read, true, "", e.Tags|Linked
			c.a.effect(e)
		}
	}
}

// sink reports whether writing to the path changes nothing.
func (a *analyzer) sink(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "/dev/full", "/dev/zero":
		return true
	}
	return false
}

// nameOf is a pattern of the file names that are meant.
func (c *call) nameOf(w *shell.Word) {
	if !w.Known {
		c.names = true // nobody can say that they are not secrets
		return
	}
	e, ok := c.a.opts.Sensitive.Lookup(w.Text)
	if !ok {
		e, ok = c.a.glob(w.Text)
	}
	if ok && e.Secret {
		c.names = true
	}
}

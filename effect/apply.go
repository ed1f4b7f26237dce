package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/internal/git"
	"github.com/obstat/obstat/effect/kb"
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
		c.scriptFile(r, lang, w)
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
		c.writeFile(w, flag)
	case roleDelete:
		c.changeFile(Delete, w)
	case roleDir:
		c.f.dir = c.a.chdir(c.f.dir, w)
	case roleFrom, roleTo:
		c.transfer(r, w)
	case roleName:
		c.nameOf(w)
	case roleTarFile:
		c.tarFile(w)
	case roleSuffix:
		if strings.Contains(w.Text, "/") || !w.Known {
			v := *w
			v.Glob = true
			c.changeFile(Write, &v)
		}
	case roleInto:
		c.putInto(w)
	case roleLink:
		c.readFile(w, false)
		c.changeFile(Write, w)
	case roleMove:
		c.moveFile(w)
	default:
		return c.applyGit(r, w) || c.applyContainer(r, w)
	}
	return true
}

// applyGit handles the roles of revisions and tracked files.
func (c *call) applyGit(r role, w *shell.Word) bool {
	switch r {
	case roleRev:
		c.revision(w)
	case roleRepo:
		c.f.repo, c.f.otherRepo = c.a.chdir(c.f.dir, w), true
	case roleBlob:
		c.blob(w)
	case roleTracked:
		alone := len(c.ops()) == 1 && w.Text != "." && !c.dashes() && !c.isFiles(w)
		c.undoes(!alone, func() { c.tracked(w, alone) })
	case roleBranch:
		c.tracked(w, true)
	case roleRefspec:
		c.refspec(w)
	case rolePathspec:
		c.restored(w)
	case roleUndone:
		c.undoes(true, func() { c.restored(w) })
	default:
		return false
	}
	return true
}

// applyContainer handles the roles of a container's surroundings.
func (c *call) applyContainer(r role, w *shell.Word) bool {
	switch r {
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

// writeFile is an operand or a flag's value that is written.
func (c *call) writeFile(w *shell.Word, flag bool) {
	if flag && w.Known && w.Text == "-" {
		return // standard output
	}
	n := len(c.a.an.Effects)
	c.changeFile(Write, w)
	if (flag || !harmlessDeeds(c.spec.does)) && n < len(c.a.an.Effects) {
		c.putIn(&c.a.an.Effects[n])
	}
}

// applyNetwork handles the roles of addresses and of data to send.
func (c *call) applyNetwork(r role, w *shell.Word) bool {
	switch r {
	case roleURL:
		c.url(w)
	case roleHost:
		_, c.container.host = urlHost(w.Text) // `ssh ssh://me@host:22`, `ssh me@host`
		c.connect(c.container.host, w, false)
	case roleLookup:
		c.connect(strings.TrimPrefix(w.Text, "@"), w, true) // `dig @h.example x` asks h.example
		if !w.Known {
			c.gap(DynamicOperand, "what is asked for is known only at run time", w)
		}
	case roleVia:
		c.via(w)
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
	case roleUnset:
		c.unset(w)
	case roleEnvName:
		c.showVariable(w)
	case roleSetting:
		if w.Known && strings.Contains(w.Text, "..") { // `sysctl -n /../../etc/shadow`
			c.readFile(&shell.Word{Text: path.Join("/proc/sys", w.Text), Raw: w.Raw, Known: true, Span: w.Span}, true)
		}
		if _, command, ok := strings.Cut(w.Text, "=|"); ok { // `sysctl 'kernel.core_pattern=|/bin/x'`
			c.shellText(&shell.Word{Text: command, Raw: w.Raw, Known: w.Known, Span: w.Span})
		}
		if !w.Known || strings.IndexByte(w.Text, '=') >= 0 {
			e := c.newEffect(System, w)
			e.Detail = "changes a setting"
			c.a.effect(e)
		}
	case roleGitConfig:
		if flag {
			c.gitConfig(w)
		} else if len(c.ops()) > 1 { // git config NAME VALUE
			if !w.Known || git.Runs(strings.ToLower(w.Text)) {
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
	e := c.f.effect(k, w.Text, c.f.span(w.Span), c.cmd)
	e.Program, e.Certain, e.Tags = c.name, w.Known, c.linked
	e.shape, e.bound = c.a.shapeOf(w, c.f.dir), w.Bound
	e.runner = runnerReaders().Has(c.name) && c.a.isRunnerFile(w, &c.f)
	return e
}

// own is an effect of the whole command.
func (c *call) own(k Kind, detail string, tags Tags) Effect {
	e := c.f.effect(k, "", c.span(), c.cmd)
	e.Program, e.Detail, e.Tags = c.name, detail, tags
	return e
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
	if rest, ok := ofProcess(p.Abs); ok {
		e.Certain = false
		e.open(fromAnywhere(rest))
		a.classify(e, rest, w.Glob)
		return
	}
	e.Path, e.Real, e.Glob = p.Abs, p.Real, w.Glob
	e.dots = w.Glob && a.globbing().dots
	if w.Glob && a.globbing().cases { // `shopt -s nocaseglob; cat .ENV*`
		e.Path, e.Real = paths.AnyCase(e.Path), ""
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
		e.open(shape)
	}
	a.classify(e, p.Text, w.Glob)
	if e.Real != e.Path && e.Real != "" && !e.Secret {
		a.classify(e, e.Real, w.Glob)
	}
}

// ofProcess returns the path behind the directory of a process, which is any: `x` of /proc/1/cwd/x and of
// /proc/self/root/x.
func ofProcess(p string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(p, "/proc/")
	if !ok {
		return "", false
	}
	_, rest, _ = strings.Cut(rest, "/")
	for strings.HasPrefix(rest, "task/") { // /proc/1/task/1/cwd
		_, rest, _ = strings.Cut(rest[len("task/"):], "/")
	}
	link, rest, _ := strings.Cut(rest, "/")
	switch link {
	case "cwd", "root":
		return rest, true
	case "fd", "map_files":
		_, rest, _ = strings.Cut(rest, "/")
		return rest, rest != ""
	}
	return "", false
}

func (a *analyzer) classify(e *Effect, p string, glob bool) {
	entry, ok := paths.Sensitive(p)
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
	return paths.SensitiveGlob(p)
}

// readFile is a file whose content is read, and shown if show is set.
func (c *call) readFile(w *shell.Word, show bool) {
	if w.Known && (w.Text == "-" || w.Text == "") { // no file has an empty name: `sed -i '' s/a/b/ f`
		return
	}
	if c.mayConnect(w) {
		return // no file: `xmllint http://h.example/x`
	}
	if c.inPlace {
		from := len(c.a.an.Effects)
		c.changeFile(Write, w)
		if c.readsLinks(from); !c.open {
			return
		}
	}
	if processSubst(w) {
		return
	}
	e := c.newEffect(Read, w)
	if !w.Known {
		c.readUnknown(&e, w, show)
		return
	}
	c.place(&e, w)
	if e.Recursive && !e.Glob {
		c.narrow(&e)
	}
	if c.recursive && !e.Secret {
		e.Secret = c.a.below(&e)
	}
	e.Secret = show && (e.Secret || c.found.secret)
	wholeProject := show && c.create && c.recursive && c.a.holdsProject(e.Path) // `tar c . | cat`
	e.Harmless = !e.Secret && !wholeProject
	c.addDetails(&e)
	c.a.effect(e)
	c.a.throughLinks(&e)
}

// readsLinks adds that the files behind links which are edited in place are read: `sed -i s/a/b/ link` puts a file
// with the text of the other in the link's place.
func (c *call) readsLinks(from int) {
	for i, end := from, len(c.a.an.Effects); i < end && c.a.opts.FS != nil && !c.a.full; i++ {
		e := c.a.an.Effects[i]
		if _, link := c.a.opts.FS.Readlink(e.Path); e.Kind == Write && e.Path != "" && link {
			e.Kind, e.Harmless, e.Tags, e.Detail = Read, !e.Secret, e.Tags|Linked, ""
			c.a.effect(e)
		}
	}
}

// readUnknown is a file that is known only at run time, or was found.
func (c *call) readUnknown(e *Effect, w *shell.Word, show bool) {
	if w.Why == whyFound {
		e.Secret = c.f.found.secret
		e.Harmless = !e.Secret && !(show && c.a.showsProject(c.name, &c.f.found))
		c.foundEffects(e)
		return
	}
	e.Harmless = true
	c.a.throughMounts(e, w, &c.f)
	c.a.effect(*e)
	if show {
		c.gap(DynamicOperand, "which file is read is known only at run time", w)
	}
}

// narrow leaves out the files of a tree that a search passes by: `grep -r x --include='*.go' .`.
func (c *call) narrow(e *Effect) {
	l := c.a.dict.lister(c.words)
	if l == nil {
		return
	}
	e.visible = c.a.visibleOnly(l, c.words)
	if l.Searches() && (e.Raw == "." || strings.HasSuffix(e.Raw, "/") || c.a.dirAt(e)) {
		e.name = l.Name(c.words)
	}
}

// below reports whether a directory that is read with everything in it holds secrets.
func (a *analyzer) below(e *Effect) bool {
	p := e.real()
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
	entry, ok := paths.SensitiveBelow(p)
	if ok {
		e.Sensitive = entry.Class
	}
	return ok
}

var homes = kb.Table("!homes")

// isHome reports whether homes usually lie there, or a directory is one.
func isHome(p string) bool {
	return homes().Has(p) || homes().Has(path.Dir(p)+"/")
}

func processSubst(w *shell.Word) bool {
	return strings.HasPrefix(w.Raw, "<(") || strings.HasPrefix(w.Raw, ">(")
}

// listFile is a path of which only name and metadata are read.
func (c *call) listFile(w *shell.Word) {
	if c.mayConnect(w) {
		return
	}
	if c.inPlace { // `ruff check --fix src`
		if c.format(w); !c.open {
			return
		}
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
		raw := w.Raw
		w = here(w.Span)
		w.Raw = raw
	}
	if dir, ok := strings.CutSuffix(w.Text, "/..."); ok && w.Known { // `go fmt ./...`
		w = &shell.Word{Text: dir, Raw: w.Raw, Known: true, Span: w.Span}
	}
	n := len(c.a.an.Effects)
	c.changeFile(Write, w)
	if !w.Known || len(c.a.an.Effects) == n {
		for ; n < len(c.a.an.Effects); n++ {
			e := &c.a.an.Effects[n]
			e.visible = e.name == "" // a pattern of names says more
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
	if w.Known && sink(w.Text) || processSubst(w) || c.mayConnect(w) {
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
		e.isDir = k == Delete && !c.recursive && (e.Glob || c.a.dirAt(&e)) && !spares().Has(c.name)
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

var (
	sinks  = kb.Table("!sinks")
	spares = kb.Table("!spares-directories")
)

// sink reports whether writing to the path changes nothing.
func sink(p string) bool { return strings.HasPrefix(p, "/dev/") && sinks().Has(p) }

// nameOf is a pattern of the file names that are meant.
func (c *call) nameOf(w *shell.Word) {
	if !w.Known {
		c.found.secret = true // they may be those of secrets
		return
	}
	e, ok := paths.Sensitive(w.Text)
	if !ok {
		e, ok = c.a.glob(w.Text)
	}
	c.found.secret = c.found.secret || ok && e.Secret
}

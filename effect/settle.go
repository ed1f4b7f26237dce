package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/git"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// whyInput and inputMark are of a word that stands for those that xargs reads.
const (
	whyInput  = "read from standard input"
	inputMark = "{}"
)

// settle turns the flags and operands that were met into effects.
func (c *call) settle() {
	defer c.manner()
	before := len(c.a.an.Effects)
	done := c.settleFlags()
	if c.isGit() && c.f.where == "" {
		c.a.an.Commands[c.cmd].Steered = c.distrust()
	}
	if done {
		return
	}
	c.deeds()
	ops, operands := c.ops(), len(c.a.an.Effects)
	c.recursive = c.recursive || c.isGit() && c.gave(git.Untracked) // `git diff --no-index a b`
	c.operands(ops)
	c.filled(before)
	c.linksTo(ops)
	c.copiesTree(ops)
	if c.fromInput {
		c.namedByInput()
	}
	for i := before; i < len(c.a.an.Effects) && c.into != ""; i++ {
		if e := &c.a.an.Effects[i]; e.Unnamed && e.Tags.Has(Contents) && e.Command == c.cmd && e.Where == "" {
			e.at = c.into
		}
	}
	if whole := c.wholeTree(); (whole || c.recursive && c.reads()) && len(c.a.an.Effects) == operands {
		c.readTree()
	}
	c.foundHere()
	inside := len(c.a.an.Effects)
	c.inner()
	c.exported(inside)
	if in := c.spec.stdin; in != nil && len(ops) <= c.spec.stdinAt() && c.rest < 0 && !c.overArgs && !c.idle {
		c.standardInput(in)
	}
	c.fedText()
	c.destroys()
}

// manner notes how the command is told to go about its work.
func (c *call) manner() {
	cmd := &c.a.an.Commands[c.cmd]
	cmd.Manner = Manner{Force: c.force, Recursive: c.recursive, Dry: c.dry || c.help, Open: c.unsure || !cmd.Known}
}

var destroyers = kb.Table("!destroys")

// destroys is a command to another machine that says by a word before its flags that it destroys something there:
// `gh repo delete x`.
func (c *call) destroys() {
	connects := func(d deed) bool {
		return d.verb == doesConnect && !d.tags.Has(Fetch) || d.verb == doesDelete && d.tags.Has(Transfer)
	}
	if !slices.ContainsFunc(c.spec.does, connects) || c.isGit() || c.dry || c.read != nil {
		return
	}
	if destroyers().Has(c.name) { // `dropdb app`
		c.destroy()
		return
	}
	for i := 1; i < len(c.words) && i < 6 && !word.IsFlag(c.words[i].Text); i++ {
		if w := &c.words[i]; w.Known && destroyers().Has(w.Text) {
			c.destroy()
			return
		}
	}
	if slices.ContainsFunc(c.words, saysDelete) {
		c.destroy()
	}
}

// saysDelete reports whether a flag or an address says that something is destroyed: `kafka-topics --delete`,
// `curl -X POST http://h/job/x/doDelete`.
func saysDelete(w shell.Word) bool {
	if w.Text == "--remove" || w.Text == "--purge" || strings.HasPrefix(w.Text, "--delete") {
		return w.Known
	}
	if !strings.Contains(w.Text, "://") {
		return false
	}
	at := strings.ToLower(w.Text[strings.LastIndexByte(w.Text, '/')+1:])
	return strings.HasPrefix(at, "dodelete") || strings.HasPrefix(at, "_delete")
}

// destroy adds that something on another machine is destroyed.
func (c *call) destroy() {
	e := c.own(System, "destroys what lies elsewhere", Destroy)
	e.Certain = true
	c.a.effect(e)
}

// deeds emits the effects of the program's verbs, or of those that hold instead.
func (c *call) deeds() {
	does := c.spec.does
	switch few := c.spec.few >= 0 && c.rest < 0 && len(c.ops()) <= c.spec.few; {
	case c.read != nil:
		does = nil
		c.deed(c.read)
	case few && !c.harmful() && !c.splits():
		does = c.spec.fewer
	}
	for i := range does {
		c.taken = c.taken || does[i].verb == doesDelete && does[i].tags.Has(Taken)
		if !does[i].tags.Has(Patch) || !c.patched() {
			c.deed(&does[i])
		}
	}
}

// exported is the file that is put into the environment of a command, if that prints its environment:
// `pipenv run env` shows .env, `pipenv run pytest` does not.
func (c *call) exported(from int) {
	for i := range c.spec.does {
		d := &c.spec.does[i]
		if d.verb != doesExports {
			continue
		}
		shows := func(e Effect) bool { return e.Kind == Read && e.Sensitive == "environment" }
		if slices.ContainsFunc(c.a.an.Effects[from:], shows) {
			c.readFile(&shell.Word{Text: d.detail, Known: true, Span: c.words[0].Span}, true)
		}
	}
}

// reads reports whether an operand would be a file that is read.
func (c *call) reads() bool {
	return len(c.args) > 0 && c.args[len(c.args)-1].role == roleRead
}

// splits reports whether there may be more operands than words.
func (c *call) splits() bool {
	for _, i := range c.ops() {
		if w := &c.words[i]; w.Glob || !w.Known && w.Split {
			return true
		}
	}
	return false
}

// harmful reports whether a flag does more than read.
func (c *call) harmful() bool {
	for i := range c.seen() {
		for j := range c.seen()[i].flag.deeds {
			if !c.seen()[i].flag.deeds[j].verb.harmless() {
				return true
			}
		}
	}
	return false
}

// openedBefore are the files that flags have written before help is printed: `gpg --status-file x --version` makes x.
func (c *call) openedBefore() {
	for i := c.seenAt; i < len(c.a.seen) && c.a.afford(1); i++ {
		if s := c.a.seen[i]; s.has && (s.flag.role == roleWrite || s.flag.role == roleMaybe || s.flag.role == roleDelete) {
			c.apply(s.flag.role, s.flag.lang, &s.val, true)
		}
	}
}

// settleFlags turns the flags into effects and reports whether that is all there is.
func (c *call) settleFlags() bool {
	if c.help {
		c.openedBefore()
		return true
	}
	c.start = c.f.dir
	for i := c.seenAt; i < len(c.a.seen) && c.a.afford(1); i++ {
		s := &c.a.seen[i]
		if !s.has {
			continue
		}
		switch val := s.val; s.flag.role {
		case roleDir:
			c.worksIn(&val)
		case roleInto:
			c.putInto(&val)
		}
	}
	for i := c.seenAt; i < len(c.a.seen) && c.a.afford(1); i++ {
		s := c.a.seen[i]
		for j := range s.flag.deeds {
			if !s.flag.deeds[j].verb.harmless() {
				c.deed(&s.flag.deeds[j])
			}
		}
		if s.flag.role == roleExec {
			continue // after the operands: it needs the start
		}
		if s.flag.role == roleDefine {
			cmd := &c.a.an.Commands[c.cmd]
			cmd.Tails = append(cmd.Tails, s.at, min(s.at+1, len(c.words)-1))
		}
		if s.has && s.flag.role != roleText && s.flag.role != roleDir && s.flag.role != roleInto {
			c.apply(s.flag.role, s.flag.lang, &s.val, true)
		}
	}
	return false
}

// worksIn is a directory that the program goes to before it does anything.
func (c *call) worksIn(w *shell.Word) {
	c.listFile(w)
	if s := w.Shape(); !w.Known && s != "" && !strings.Contains(s, shell.Unknown) {
		p := c.a.resolve(c.f.dir, &shell.Word{Text: s, Known: true, Tilde: true})
		c.into = word.Or(p.Real, p.Abs) // a likely one
	}
	c.f.dir = c.a.chdir(c.f.dir, w)
	c.moved = w.Text
	if len(c.a.left.writes) > 0 { // `npm --prefix web run x` runs scripts of web/package.json
		for _, file := range codeFiles()[c.name] {
			c.alsoStarts(file, w)
		}
	}
}

// dirAt is the directory that the flags before word i lead to, in programs where their order counts.
func (c *call) dirAt(i int) string {
	dir := c.start
	for k := range c.seen() {
		if s := &c.seen()[k]; s.flag.role == roleDir && s.has && s.at < i {
			dir = c.a.chdir(dir, &s.val)
		}
	}
	return dir
}

// deed emits the effect of a verb.
func (c *call) deed(d *deed) {
	if c.deedOnFile(d) {
		return
	}
	e := c.own(d.verb.kind(), d.detail, d.tags)
	e.Certain, e.Harmless = true, c.dry
	switch d.verb {
	case doesQuery:
		e.Harmless, e.Detail = true, word.Or(e.Detail, "query")
	case doesCredential:
		e.Detail, e.Secret, e.Harmless = "credential", true, false
	case doesCode:
		e.Harmless = false
	case doesOpaque:
		e.Harmless = false
		c.a.gap(InlineCode, word.Or(d.detail, "runs code that cannot be seen"), c.span(), c.cmd)
	case doesRepo:
		why := c.distrust()
		if why == "" {
			c.a.note = "the repository's configuration can make it run programs; the workspace is trusted"
			return
		}
		e.Detail, e.Certain, e.Harmless = "the repository's configuration can make it run programs, and "+why, false, false
	case doesEnviron:
		if !c.listsVariables() {
			return
		}
		e.Sensitive, e.Secret, e.Harmless = "environment", true, false
	}
	if e.Kind == 0 {
		return
	}
	e.Unnamed = e.Kind == Write || e.Kind == Delete || d.verb == doesEnviron
	e.at = c.fallsAt(d.tags)
	if e.Unnamed && c.moved != "" && e.Where == "" {
		e.Path, e.Real, e.Raw, e.Recursive = c.f.dir, c.f.dir, c.moved, true
		c.a.classify(&e, c.f.dir, false)
	}
	c.addDetails(&e)
	c.a.effect(e)
}

// deedOnFile emits the effects of verbs that are about the files of a call, and says whether the verb is one.
func (c *call) deedOnFile(d *deed) bool {
	switch d.verb {
	case doesLoads:
		if !c.instead { // not `dotenv -f .env.test run x`
			c.readFile(&shell.Word{Text: d.detail, Known: true, Span: c.words[0].Span}, false)
		}
	case doesSaves:
		c.changeFile(Write, &shell.Word{Text: d.detail, Known: true, Span: c.words[0].Span})
	case doesInPlace:
		if c.inPlace = true; len(c.ops()) == 0 { // `ruff format`
			c.format(here(c.words[0].Span))
		}
	case doesTree:
		c.recursive = true
	case doesLinked:
		c.linked = Linked
	case doesAs:
		c.alsoNamed(d.detail)
	default:
		return false
	}
	return true
}

// alsoNamed adds the spelling by which the command is better known: of `git subtree push origin x` it is
// `git push origin x`.
func (c *call) alsoNamed(as string) {
	for _, i := range c.ops() {
		as += " " + c.words[i].Text
	}
	cmd := &c.a.an.Commands[c.cmd]
	cmd.Alts = append(cmd.Alts, as)
}

func (c *call) addDetails(e *Effect) {
	if c.recursive {
		e.Recursive = true
		e.Detail = joinDetail(e.Detail, "recursive")
	}
	if c.force && (e.Kind == Write || e.Kind == Delete || e.Kind == Connect || e.Kind == System) {
		e.Detail = joinDetail(e.Detail, "force")
	}
}

func joinDetail(a, b string) string {
	switch {
	case a == "":
		return b
	case a == "recursive" && b == "force": // as in most commands that remove something
		return "recursive, force"
	}
	return a + ", " + b
}

func (c *call) span() shell.Span {
	return c.f.span(shell.Span{Start: c.words[0].Span.Start, End: c.words[len(c.words)-1].Span.End})
}

// takesVariables reports whether an operand's place is for variables of the command that is run.
func takesVariables(o operand) bool { return o.role == roleEnv }

// operands gives each operand its place: fixed ones from both ends, the rest to the one
// that takes many.
func (c *call) operands(ops []int) {
	many := -1
	for i := range c.args {
		if c.args[i].many && c.args[i].role != roleEnv {
			many = i
			break
		}
	}
	for k, i := range ops {
		if !c.a.afford(1) {
			return
		}
		w := &c.words[i]
		at := k
		if isAssignment(w) && slices.ContainsFunc(c.args, takesVariables) {
			c.envWord(w) // `env A=1 B=2 C=3 make`, as many as there are
			continue
		}
		if many >= 0 && k >= many {
			at = many
			if left := len(ops) - k; left < len(c.args)-many {
				at = len(c.args) - left
			}
		}
		if at >= len(c.args) {
			c.gap(UnknownFlag, "one argument more than is understood", w)
			c.unplaced(i)
			c.mayRun(i)
			continue
		}
		o := &c.args[at]
		if c.unsaid(o, w) {
			c.mention(i, w)
		}
		books := c.harmlessSpec() || c.root.style&styleGit != 0 // `git remote add x https://h.example/x`
		if o.role == roleText && !books && !strings.ContainsAny(w.Text, " =") {
			c.mayConnect(w) // `convert http://h.example/a.png b.png`
		}
		c.mayRunOperand(o, i)
		w = c.databaseFile(c.listed(w))
		c.splitOperand(w)
		c.fileURL(w, o.role)
		if c.spec.style&styleOrder != 0 {
			c.f.dir = c.dirAt(i)
		}
		c.apply(o.role, o.lang, w, false)
		if c.taken && (o.role == roleRead || o.role == roleFrom) {
			c.changeFile(Delete, w)
		}
	}
}

var loneFiles = kb.Table("!lone-files")

// unsaid reports whether the use of an operand is not known: the program has none that the knowledge base tells of,
// the word may belong to a flag that is not known, or it names a file of more arguments, `nm @args`.
func (c *call) unsaid(o *operand, w *shell.Word) bool {
	switch o.role {
	case roleText, roleRefspec:
		return c.spec.anyArgs || c.unsure
	case roleRead, rolePeek, roleList, roleWrite:
		return strings.HasPrefix(w.Text, "@")
	case roleUnless: // `rename 's,^,d/,' f`, `make DESTDIR=d install`
		_, substitutes := replacement(w.Text)
		lone := len(c.ops()) == 1 && loneFiles().Has(c.name)
		return substitutes || lone || c.runsCode() && strings.Contains(w.Text, "=")
	}
	return false
}

// fileURL is an operand or value that names a file as an address: `aws ... --body file://x`.
func (c *call) fileURL(w *shell.Word, r role) {
	if r != roleText {
		return
	}
	for _, scheme := range [...]string{"file://", "fileb://"} {
		if i := strings.Index(w.Text, scheme); i >= 0 {
			i += len(scheme)
			if strings.HasPrefix(w.Text[i:], "localhost/") {
				i += len("localhost")
			}
			v := after(w, i)
			c.readFile(&v, true)
			return
		}
	}
}

// mayRun notes a word in which a command may stand that the program runs: `perf stat rm x`, `make CC='curl x'`.
func (c *call) mayRun(at int) {
	if cmd := &c.a.an.Commands[c.cmd]; c.startsOthers() && !c.isPackage(at) {
		cmd.Tails = append(cmd.Tails, at)
	}
}

var installWords = kb.Table("!install-words")

// isPackage reports whether a word is the name of a package that a package manager installs or removes, and no command:
// `apt-get install -y curl`.
func (c *call) isPackage(at int) bool {
	w := &c.words[at]
	fetches := func(d deed) bool { return d.verb == doesConnect && d.tags.Has(Fetch) }
	if !w.Known || word.IsFlag(w.Text) || strings.ContainsAny(w.Text, " \t\n='\"$") ||
		!slices.ContainsFunc(c.spec.does, fetches) {
		return false
	}
	for i := 1; i < at; i++ {
		if v := &c.words[i]; !word.IsFlag(v.Text) {
			return v.Known && installWords().Has(v.Text)
		}
	}
	return false
}

// mayRunOperand notes an operand in which a command may stand. Not for `make all`, which names none.
func (c *call) mayRunOperand(o *operand, at int) {
	text := c.words[at].Text
	switch o.role {
	case roleUnless:
		if strings.Contains(text, "=") {
			c.mayRun(at)
		}
	case roleDefine:
		c.mayRun(at)
	case roleText, roleRefspec:
		if c.startsOthers() {
			c.mayRun(at)
		} else if c.unsure || strings.ContainsAny(text, " \t") {
			c.mayRunValue(at) // `gh config set pager 'rm x'`, `envconsul -unknown x rm y`
		}
	}
}

// mayRunValue notes a word behind a flag that is not known, or a text with blanks, that any program but one that only
// reads may run: `mutt -e '$(rm x)'`, `transmission-cli -f /bin/rm x`.
func (c *call) mayRunValue(at int) {
	if at >= len(c.words) || c.harmlessSpec() || word.IsFlag(c.words[at].Text) {
		return
	}
	// `gh pr create --body 'rm x'` runs nothing.
	if name, ok := strings.CutPrefix(c.words[at-1].Text, "--"); !ok || !textFlags().Has(name) {
		cmd := &c.a.an.Commands[c.cmd]
		cmd.Tails = append(cmd.Tails, at)
	}
}

// startsOthers reports whether the program runs code or starts something, so that an operand whose
// meaning is not known may be a command.
func (c *call) startsOthers() bool {
	for i := range c.spec.does {
		switch c.spec.does[i].verb {
		case doesCode, doesOpaque, doesSystem:
			return true
		case doesConnect:
			if c.saysCommand() {
				return true
			}
		}
	}
	first := c.args[0].role // `python manage.py shell -c 'code'`
	return len(c.args) > 1 && (first == roleScript || first == roleModule)
}

var commandSayers = kb.Table("!says-command")

// saysCommand reports whether a word says that a command follows: `heroku run rm x`, `gcloud compute ssh h -- rm x`,
// `aws ecs execute-command --command 'rm x'`. Elsewhere `rm` is a service's own verb.
func (c *call) saysCommand() bool {
	if len(c.words) > 64 {
		return true
	}
	if !c.looked { // it is asked for each operand
		c.looked = true
		c.says = slices.ContainsFunc(c.words[1:], func(w shell.Word) bool {
			return len(w.Text) <= 40 && strings.IndexByte(w.Text, ' ') < 0 && commandSayers().Has(w.Text)
		})
	}
	return c.says
}

// splitOperand objects to a word that may be several when one of those could be delicate.
func (c *call) splitOperand(w *shell.Word) {
	if w.Known || !c.splitsInto(w) || w.Why == whyFound || strings.HasPrefix(w.Raw, "<(") {
		return
	}
	for i := range c.args {
		if c.args[i].role.risky() && !c.noFlag(w) {
			c.gap(DynamicOperand, "an argument is known only at run time", w)
			return
		}
	}
}

func (c *call) envWord(w *shell.Word) {
	name, _, _ := strings.Cut(w.Text, "=")
	v := after(w, len(name)+1)
	c.a.an.Commands[c.cmd].Env = append(c.a.an.Commands[c.cmd].Env, name)
	c.a.assign(name, &v, c.f.span(w.Span), c.cmd)
}

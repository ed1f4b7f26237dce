package native

import (
	"net/url"
	pathpkg "path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// A view asks about every command, file and host of a call by itself, whatever tool it is a
// call of: one question `run`, `read`, `write`, `delete`, `connect`, `code`, `system` or `tool`
// for each.
//
// An effect of a command has the command among its subjects, so that `run npm test` speaks for
// the files that the tests write; a redirect is the shell's own and has not. A command of which everything is
// known needs no rule of its own: its effects are judged.
type view struct{}

var (
	_ kit.EffectView = view{}
	_ kit.Outliner   = view{}
	_ kit.PrefixView = view{}
)

// Unknown tells whether a question is about code, about a command of which not everything is known, or about
// files that are not named, as the packages of `npm ci`.
func (view) Unknown(q *obstat.Question) bool {
	return q.Tool == "code" || q.Tool == "run" && !has(q, fieldKnown) || has(q, fieldUnnamed)
}

// Here tells whether a question is about files that are not named, and lie where the command works: those that `tsc`
// compiles. A confined run judges each.
func (view) Here(q *obstat.Question) bool { return has(q, fieldHere) }

func has(q *obstat.Question, field string) bool {
	return slices.ContainsFunc(q.Subjects, func(s obstat.Subject) bool { return s.Field == field })
}

// Partly tells whether a question is about many files of the workspace, as `black .` writes them, or about one that is
// known only when it runs, as `cat "$f"` reads it, or that may be passed by, as a secret by `grep -r x .`.
// A deletion that is refused when all is over is too late: `rm "$f"` asks before.
func (view) Partly(q *obstat.Question) bool {
	if q.Tool != "read" && q.Tool != "write" {
		return false
	}
	inside, many := false, false
	for _, s := range q.Subjects {
		switch s.Field {
		case fieldMaybe:
			return true
		case fieldAbs:
			many = paths.Set{Text: s.Text}.Marked()
		case fieldPlace:
			inside = inside || s.Text == placeWorkspace
		}
	}
	return inside && many
}

// maxCommand is the longest command that allow rules are matched against.
const maxCommand = 10_000

// everyFile is the end of a set of all that is in a root of the workspace or a home: nothing in it is
// passed by. Of another directory, which ends in one mark, rules for a name are not asked; see
// [obstat.Cond].
const everyFile = string(paths.AnyText) + string(paths.AnyText)

// tempDirs are the directories for temporary files.
var tempDirs = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders"}

// Questions returns the questions that a call poses to the rules.
func (view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	w := newCallWalk(f)
	for i := range w.a.Effects {
		w.effect(&w.a.Effects[i])
	}
	t, known := effect.Lookup(f.Call.Tool)
	if !t.Shell() {
		w.tool(&t, known)
	} else if kind := w.kind(); kind != nil {
		w.ask("tool",
			append(kind, obstat.Subject{Field: fieldKnown, Text: "yes"})...) // its commands are judged by themselves
	}
	for i := range w.a.Commands {
		w.command(i)
	}
	for i := range w.a.Gaps {
		w.gap(&w.a.Gaps[i], &t)
	}
	if len(w.s.questions) == 0 { // an assignment, a comment
		w.ask("run", obstat.Subject{Field: fieldKnown, Text: "yes"})
	}
	return w.s.questions, nil
}

// A callWalk makes the questions of one call.
type callWalk struct {
	f *obstat.Facts
	a *effect.Analysis
	s *scratch
}

func newCallWalk(f *obstat.Facts) *callWalk {
	s, ok := f.Scratch.(*scratch)
	if !ok {
		s = &scratch{}
		f.Scratch = s
	}
	s.questions = s.questions[:0]
	return &callWalk{f: f, a: f.Analysis(), s: s}
}

// A scratch is memory for questions, used again from call to call.
type scratch struct {
	questions []obstat.Question
	subjects  []obstat.Subject
	tops      tops
	have      bool
}

// Reset forgets the call.
func (s *scratch) Reset() {
	if cap(s.subjects) > 1024 || cap(s.questions) > 256 {
		*s = scratch{}
	}
	clear(s.subjects)
	clear(s.questions)
	*s = scratch{questions: s.questions[:0], subjects: s.subjects[:0]}
}

// ask poses a question.
func (w *callWalk) ask(tool string, subjects ...obstat.Subject) {
	at := len(w.s.subjects)
	if at+len(subjects) > cap(w.s.subjects) { // the questions before keep their memory
		w.s.subjects, at = make([]obstat.Subject, 0, max(64, 2*cap(w.s.subjects), len(subjects))), 0
	}
	w.s.subjects = append(w.s.subjects, subjects...)
	w.s.questions = append(w.s.questions,
		obstat.Question{Tool: tool, Subjects: w.s.subjects[at : at+len(subjects) : at+len(subjects)]})
}

// kind says which kind of tool is called, where a rule looks at that.
func (w *callWalk) kind() []obstat.Subject {
	if !w.f.Wants(fieldKind) {
		return nil
	}
	return []obstat.Subject{{Field: fieldKind, Text: effect.ToolKind(w.f.Call.Tool)}}
}

// command asks whether a command may run.
func (w *callWalk) command(i int) {
	var buf [8]obstat.Subject
	subjects := w.seen(append(buf[:0], w.commandSubjects(i)...), i)
	if w.known(i) {
		subjects = append(subjects, obstat.Subject{Field: fieldKnown, Text: "yes"})
	}
	w.ask("run", subjects...)
}

// seen adds every spelling of command i that deny and ask rules see.
func (w *callWalk) seen(to []obstat.Subject, i int) []obstat.Subject {
	c := &w.a.Commands[i]
	add := func(text string) {
		if text == "" {
			return
		}
		to = append(to, obstat.Subject{Field: fieldSeen, Text: text})
		if !strings.Contains(text, "  ") && !strings.ContainsAny(text, "\t\r\n\v\f") {
			return
		}
		to = append(to, obstat.Subject{Field: fieldSeen, Text: folded(text)})
	}
	add(c.Text)
	for _, alt := range c.Alts {
		add(alt)
	}
	add(c.Least())
	add(w.a.WithVariables(i))
	if base := pathpkg.Base(c.Path); c.Path != base && c.Program != "" && strings.HasPrefix(c.Text, c.Path) {
		add(c.Program + c.Text[len(c.Path):])
	}
	return to
}

// commandSubjects returns the command that allow rules see, and the one that a rule for
// exactly this command sees. For the eslint of `npx eslint` that is `npx eslint`, too: `run npx` allows whatever
// program a package brings.
func (w *callWalk) commandSubjects(i int) []obstat.Subject {
	if i < 0 || i >= len(w.a.Commands) {
		return w.kind()
	}
	c := &w.a.Commands[i]
	if c.Text == "" || c.Program == "" || len(c.Text) > maxCommand {
		return w.kind()
	}
	var out []obstat.Subject
	for at := i; at >= 0 && w.a.Commands[at].Text != ""; at = w.a.GivenBy(at) {
		set := oneBlank(w.a.WithVariables(at))
		for _, text := range [...]string{w.a.Commands[at].Text, w.a.Commands[at].Written(), set} {
			if text != "" && text != set {
				out = append(out, obstat.Subject{Field: fieldCommand, Text: text})
			}
			if text != "" && w.f.Wants(fieldExact) {
				out = append(out, obstat.Subject{Field: fieldExact, Text: text})
			}
		}
		if set != "" && w.f.Wants(fieldAssigned) {
			out = append(out, obstat.Subject{Field: fieldAssigned, Text: set})
		}
	}
	if len(c.Via) > 0 && w.f.Wants(fieldExact) {
		out = append(out, w.inside(i)...)
	}
	if w.f.Wants(fieldManner) {
		out = append(out, manner(c)...)
	}
	return append(out, w.kind()...)
}

// inside returns the commands that command i is written inside of: who allows exactly `timeout 5 make x` has seen
// `make x`.
func (w *callWalk) inside(i int) (out []obstat.Subject) {
	c := &w.a.Commands[i]
	for j := range w.a.Commands {
		o := &w.a.Commands[j]
		if j != i && c.Known && w.a.Under(j, i) && strings.Contains(o.Text, c.Text) {
			out = append(out, obstat.Subject{Field: fieldExact, Text: o.Text})
		}
	}
	return out
}

// The words behind `where` of a rule for commands.
const (
	mannerForce     = "force"
	mannerRecursive = "recursive"
	mannerDry       = "dry-run"
	mannerMaybe     = "may be " // before one of them
)

// manners are the words in the order of documents.
var manners = []string{mannerForce, mannerRecursive, mannerDry}

// manner says how a command goes about its work: of `git push -uf` it is force, of `git push $X` it may be each.
func manner(c *effect.Command) []obstat.Subject {
	out := []obstat.Subject{{Field: fieldManner, Text: "plain"}} // a condition needs something to look at
	for i, is := range [...]bool{c.Force, c.Recursive, c.Dry} {
		switch {
		case is:
			out = append(out, obstat.Subject{Field: fieldManner, Text: manners[i]})
		case c.Open || !c.Catalogued:
			out = append(out, obstat.Subject{Field: fieldManner, Text: mannerMaybe + manners[i]})
		}
	}
	return out
}

// known tells whether all that a command does is known, so that its effects stand for it.
func (w *callWalk) known(i int) bool {
	c := &w.a.Commands[i]
	if c.Program == "" || !c.Catalogued || c.Wrapper && !c.Transparent && c.Program != "find" {
		return false
	}
	for j := range w.a.Gaps {
		if w.a.Gaps[j].Command == i {
			return false
		}
	}
	return true
}

// gap asks about a part that hides a command, as `$X` does: a rule for exactly this text has seen it.
func (w *callWalk) gap(g *effect.Gap, t *effect.Tool) {
	if !g.Hides || !t.Shell() {
		return
	}
	exact := ""
	if g.Command >= 0 {
		exact = w.a.Commands[g.Command].Text
	}
	subjects := []obstat.Subject{{Field: fieldCommand, Text: ""}, {Field: fieldSeen, Text: ""},
		{Field: fieldExact, Text: exact}}
	if g.Kind == effect.ForeignShell || g.Kind == effect.Syntax {
		for _, text := range pieces(w.a.Source) {
			subjects = append(subjects, obstat.Subject{Field: fieldSeen, Text: text})
			if small := strings.ToLower(text); g.Kind == effect.ForeignShell {
				subjects = append(subjects, obstat.Subject{Field: fieldSeen, Text: small},
					obstat.Subject{Field: fieldFolded, Text: small})
			}
		}
	}
	w.ask("run", append(subjects, w.kind()...)...)
}

// pieces cuts a text that the reader of shells does not understand, PowerShell or one with an open
// quote, where commands may begin: a rule that denies `rm` is about `ls | rm x` and `& "rm" x`.
func pieces(text string) (out []string) {
	if len(text) > maxCommand {
		return nil
	}
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";|&\n\r(){}`", r) }) {
		words := strings.Fields(piece)
		if len(words) == 0 {
			continue
		}
		if words[0] = strings.Trim(words[0], `"'`); words[0] != "" {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// tool asks whether a tool may be called: one that is known by its effects is, if these are.
func (w *callWalk) tool(t *effect.Tool, known bool) {
	name := w.f.Call.Tool
	subjects := append([]obstat.Subject{{Field: fieldTool, Text: name}}, w.kind()...)
	if server := !known || t.Canonical == "mcp"; server {
		spelled, ok := serverTool(name)
		if !ok {
			spelled, _ = serverTool("mcp__" + name)
		}
		subjects = append(subjects, obstat.Subject{Field: fieldServer, Text: spelled})
	} else if len(w.a.Gaps) == 0 {
		subjects = append(subjects, obstat.Subject{Field: fieldKnown, Text: "yes"})
	}
	w.ask("tool", subjects...)
}

// effect asks about one thing that the call does.
func (w *callWalk) effect(e *effect.Effect) {
	by := w.by(e)
	switch e.Kind {
	case effect.Read, effect.Write, effect.Delete:
		if e.Where == "" {
			w.files(e, by)
		} else if e.Kind != effect.Read { // on another machine, or in a container
			w.ask(e.Kind.String(), by...)
		}
	case effect.Connect:
		if e.Host == "" && (e.Raw == "" || e.Tags.Has(effect.Sent)) && connects(w.a, e) {
			return // where to is said by another effect
		}
		w.ask("connect", append(by, obstat.Subject{Field: fieldHost, Text: hostOf(e)})...)
		if e.Secret { // `gh auth token`, `vault kv get`
			w.ask("read", append(w.by(e), obstat.Subject{Field: fieldPlace, Text: placeSecrets})...)
		}
	case effect.Code:
		if e.Detail != "" && w.a.Tool != "task" && w.a.Tool != "skill" {
			w.ask("code", by...)
		}
	case effect.System:
		w.ask("system", by...)
	}
}

// connects tells whether the command of e is known to connect to some host.
func connects(a *effect.Analysis, e *effect.Effect) bool {
	for i := range a.Effects {
		if o := &a.Effects[i]; o.Kind == effect.Connect && o.Command == e.Command && o.Host != "" {
			return true
		}
	}
	return false
}

// by returns the command that has the effect, or the tool.
func (w *callWalk) by(e *effect.Effect) []obstat.Subject {
	switch {
	case e.Tags.Has(effect.Redirect):
		return nil
	case e.Command >= 0:
		return w.commandSubjects(e.Command)
	}
	out := append([]obstat.Subject{{Field: fieldTool, Text: w.f.Call.Tool}}, w.kind()...)
	if spelled, ok := serverTool(w.f.Call.Tool); ok {
		out = append(out, obstat.Subject{Field: fieldServer, Text: spelled})
	}
	return out
}

// files asks about the files that an effect touches, by their names and by where links lead.
func (w *callWalk) files(e *effect.Effect, by []obstat.Subject) {
	verb := e.Kind.String()
	if e.Kind != effect.Read && e.Harmless { // /dev/null
		return
	}
	if e.Unnamed && e.Tags.Has(effect.Books) {
		w.books(e, by)
		return
	}
	set := e.Target()
	if set.IsZero() {
		if e.Secret { // no file: `printenv`, `echo $GITHUB_TOKEN`
			by = append(by, obstat.Subject{Field: fieldPlace, Text: placeSecrets})
		} else if e.Unnamed && !e.Tags.Has(effect.Tree|effect.Clean) {
			by = append(by, obstat.Subject{Field: fieldUnnamed, Text: "yes"})
			if e.Tags.Has(effect.Here) {
				by = append(by, obstat.Subject{Field: fieldHere, Text: "yes"})
			}
		}
		w.ask(verb, by...)
		return
	}
	if e.Named() && e.Path != "" && strings.HasPrefix(set.Text, e.Path+string(paths.AnyText)+"/") {
		w.found(verb, set, e, by)
		return
	}
	hidden := e.Loose() || e.Path == "" && strings.ContainsRune(e.Shape(), 0)
	if hidden {
		set = paths.Anything()
	}
	w.set(verb, set, e, by, hidden)
	if real := e.RealTarget(); !real.IsZero() && real != set {
		w.set(verb, real, e, by, hidden || real.IsAnything())
	}
}

// found asks about the files of some name that a search finds, in the directory and below it.
func (w *callWalk) found(verb string, set paths.Set, e *effect.Effect, by []obstat.Subject) {
	dir, name := strings.TrimSuffix(e.Path, "/"), set.Text[len(e.Path)+1:]
	for _, text := range [...]string{dir + name, dir + "/" + string(paths.AnyText) + name} {
		w.ask(verb, append(w.subjects(verb, paths.Set{Text: text}, e, false), by...)...)
	}
}

// books asks about files that a program keeps for itself, such as .git: they are in a place, and no rule for
// a path is about them.
func (w *callWalk) books(e *effect.Effect, by []obstat.Subject) {
	place := ""
	if i := e.Command; i >= 0 && w.a.Commands[i].Dir != "" && w.tops().inside(paths.Under(w.a.Commands[i].Dir)) {
		place = placeWorkspace
	}
	w.ask(e.Kind.String(), append(by, obstat.Subject{Field: fieldPlace, Text: place})...)
}

// set asks about a set of paths: about itself and, where all below is meant, about that.
func (w *callWalk) set(verb string, set paths.Set, e *effect.Effect, by []obstat.Subject, hidden bool) {
	below := set.Below
	set.Below = false
	if text := set.Text; hidden || !below || !strings.HasSuffix(text, string(paths.AnyText)) {
		w.ask(verb, append(w.subjects(verb, set, e, hidden), by...)...)
	}
	if below && !e.Tags.Has(effect.List) {
		dir, all := strings.TrimSuffix(set.Text, "/"), string(paths.AnyText)
		if w.tops().top(paths.Set{Text: or(dir, "/")}) {
			all = everyFile
		}
		set.Text = dir + "/" + all
		w.ask(verb, append(w.subjects(verb, set, e, hidden), by...)...)
	}
	if verb == "read" && !hidden && (below || e.Glob) && !passesBy(e) {
		w.secretsIn(set, e, by)
	}
}

// passesBy tells whether the contents of files in a directory do not come to light: names alone are listed, all of it
// is moved, or a search such as `rg x` leaves out ignored and hidden files.
func passesBy(e *effect.Effect) bool { return e.Tags.Has(effect.List) || e.Moved() || e.VisibleOnly() }

// secretsIn asks about the secrets that lie where a directory or a pattern leads: `cat deploy/*`, `tar cf a.tar svc`.
// A pattern reads them; what lies below a directory may be passed by.
func (w *callWalk) secretsIn(set paths.Set, e *effect.Effect, by []obstat.Subject) {
	for _, f := range w.lookIn(set, e).files {
		field := fieldMaybe
		if e.Glob {
			field = fieldPlace
		}
		said := append(saying{}, by...)
		said.add(fieldAbs, f)
		said.add(field, placeSecrets)
		w.ask("read", said...)
		if !e.Glob {
			return // one is enough for a question
		}
	}
}

// lookIn looks for secrets in the directory that an effect is about; of a pattern's, those that it stands for.
func (w *callWalk) lookIn(set paths.Set, e *effect.Effect) (found look) {
	fs, ok := w.f.World.(paths.Searcher)
	dir := or(e.Real, e.Path)
	if e.Glob {
		dir = paths.LooksIn(dir)
	}
	dir = pathpkg.Clean(dir)
	if !ok || dir == "/" || dir == "." {
		return look{}
	}
	found.files, found.all = fs.Secrets(dir)
	if e.Glob && !e.Recursive {
		other := func(f string) bool { return !set.Has(f) }
		found.files = slices.DeleteFunc(slices.Clone(found.files), other)
	}
	return found
}

// A look is for secrets: some that were found, and whether those are all.
type look struct {
	files []string
	all   bool
}

// clean tells whether there are none.
func (l look) clean() bool { return l.all && len(l.files) == 0 }

// hostOf returns the host of a connection, "" where it cannot be told.
func hostOf(e *effect.Effect) string {
	if e.Host != "" {
		return strings.ToLower(strings.TrimSuffix(e.Host, "."))
	}
	if u, err := url.Parse(e.Raw); err == nil && !strings.ContainsAny(e.Raw, "\\\t\r\n") {
		if host := strings.ToLower(u.Hostname()); host != "" || !e.Tags.Has(effect.Fetch) {
			return host
		}
	}
	if e.Tags.Has(effect.Fetch) {
		return registries
	}
	return ""
}

// registries is the host of `connect registries`: wherever the user's settings of a package manager
// lead, which a confined run finds out.
const registries = "registries"

// Command poses nothing: the questions of the whole call are about every command.
func (view) Command(*obstat.Facts, int) ([]obstat.Question, bool) { return nil, true }

// File asks about a file of a verb, or of a tool whose verb is known.
func (view) File(f *obstat.Facts, tool, p, real string) ([]obstat.Question, bool) {
	verb := tool
	if !onPaths(verb) {
		return nil, false
	}
	w := &callWalk{f: f, s: &scratch{}}
	if s, ok := f.Scratch.(*scratch); ok && s.have {
		w.s.tops, w.s.have = s.tops, true
	}
	var by []obstat.Subject
	if tool == f.Call.Tool { // opencode's own `write`: a rule for the tool speaks for its file
		by = append(w.kind(), obstat.Subject{Field: fieldTool, Text: tool})
	}
	e := w.moving(verb, p, real)
	w.ask(verb, append(w.subjects(verb, paths.Exactly(p), e, false), by...)...)
	if real != "" && real != p {
		w.ask(verb, append(w.subjects(verb, paths.Exactly(real), e, false), by...)...)
	}
	return w.s.questions, true
}

// Host asks whether a call may connect to a host.
func (view) Host(host string) obstat.Question {
	return obstat.Question{Tool: "connect", Subjects: []obstat.Subject{{Field: fieldHost, Text: host}}}
}

// HoldsBelow: what lies below a directory of the workspace, of a home or of the temporary directory lies there, too.
func (view) HoldsBelow(s obstat.Subject) bool {
	return s.Field == fieldPlace && (s.Text == placeWorkspace || s.Text == placeHome || s.Text == placeTemp)
}

// Begins asks about a command of which only the beginning is known.
func (view) Begins(_ *obstat.Facts, prefix string) obstat.Question {
	return obstat.Question{Tool: "run",
		Subjects: []obstat.Subject{{Field: fieldCommand, Text: prefix}, {Field: fieldSeen, Text: prefix}}}
}

// Outline returns the questions of any call to a tool.
func (view) Outline(tool string) []obstat.Question {
	of := func(verb string, fields ...string) obstat.Question {
		q := obstat.Question{Tool: verb}
		for _, field := range fields {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: field})
		}
		return q
	}
	on := func(verb string) obstat.Question { return of(verb, fieldAbs, fieldPath, fieldHome, fieldPlace) }
	t, _ := effect.Lookup(tool)
	switch {
	case onPaths(tool):
		return []obstat.Question{on(tool)}
	case isVerb(tool) && tool != "tool":
		return []obstat.Question{of(tool, fieldCommand, fieldSeen, fieldHost)}
	case t.Shell():
		return []obstat.Question{{Tool: "tool", Subjects: []obstat.Subject{{Field: fieldKind, Text: "shell"},
			{Field: fieldKnown, Text: "yes"}}}, of("run", fieldCommand, fieldSeen, fieldKind)}
	}
	out := []obstat.Question{{Tool: "tool",
		Subjects: []obstat.Subject{{Field: fieldTool, Text: tool}, {Field: fieldKind, Text: effect.ToolKind(tool)}}}}
	switch {
	case t.Canonical == "fetch" || t.Canonical == "search":
		out = append(out, of("connect", fieldHost))
	case t.Write:
		out = append(out, on("write"), on("delete"))
	case len(t.Paths) > 0:
		out = append(out, on("read"))
	}
	return out
}

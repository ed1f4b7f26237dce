package obstat

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/paths"
)

// The floor puts each path and host that a call touches to the rules, as the set that it may be: `cat .en?`.

// effects puts the files and hosts that the call would touch to the rules about
// these: `echo x > .env` to the rules for writing `.env`.
func (fl *floorWalk) effects() {
	for i := range fl.a.Effects {
		if fl.o.verdict == Deny {
			return
		}
		fl.effect(&fl.a.Effects[i])
	}
}

func (fl *floorWalk) effect(e *effect.Effect) {
	face, ok := fl.face(e)
	if !ok {
		return
	}
	if e.Kind == effect.Connect {
		fl.host(e, face)
		return
	}
	if fl.pl.marks {
		fl.possibleMarks(e, face)
	}
	if e.Path == "" {
		if fl.o.verdict == Allow && !fl.shell() && !fl.wide() && !fl.server {
			fl.cap(fl.text(e.Span), "a path rule might apply to a path that cannot be seen")
		}
		fl.possibly(e, face)
		return
	}
	if e.Unnamed && e.Tags.Has(effect.Books) {
		return
	}
	// The call's own verdict speaks for the file tools' own paths and for what
	// programs do, also with their input; only what a redirect writes has to be allowed by itself.
	must := !fl.shell() && !fl.wide() && !fl.server
	if isRedirect(e) && e.Kind != effect.Read {
		must = must || fl.confined || !fl.exact() && (!fl.wide() || slices.Contains(fl.narrow, e.Command))
	}
	tight, loosest := fl.spellings(e, face)
	fl.tighten(tight, e.Raw, whyEffect(e))
	if must {
		fl.tighten(loosest, e.Raw, whyEffect(e)) // unless it allows
		fl.probing = false
		fl.allowed(&loosest)
		fl.probing = true
	}
	fl.inside(e, face)
	fl.possibly(e, face)
	if reads, ok := fl.pol.prog.Faces[FaceRead]; ok && reads.Tool != face.Tool && e.Kind == effect.Read && e.Recursive {
		fl.possibly(e, reads) // what lies in there a search reads, whatever the rules for searching say
	}
	if also, ok := fl.alike(e, face); ok {
		tight, _ := fl.spellings(e, also)
		fl.tighten(tight, e.Raw, whyEffect(e))
		fl.possibly(e, also)
	}
}

// inside puts a file without a name, in a directory that a command writes to, to the rules:
// `wget -P src URL`.
func (fl *floorWalk) inside(e *effect.Effect, face Face) {
	if !e.Tags.Has(effect.Into) {
		return
	}
	in := *e
	if in.Path += "/" + placeholder; in.Real != "" {
		in.Real += "/" + placeholder
	}
	tight, _ := fl.spellings(&in, face)
	fl.tighten(tight, e.Raw, "it would write in "+e.Path)
}

// alike returns how the dialect's rules speak of what a file tool does that is none of those that the dialect's
// document knows by their names: a rule against editing a file holds for a tool `move_file`, too.
func (fl *floorWalk) alike(e *effect.Effect, face Face) (Face, bool) {
	if e.Tags.Has(effect.List) || fl.pol.owns(face) {
		return Face{}, false
	}
	also, ok := fl.common(e)
	return also, ok && also != face
}

// faceOf returns the name of the face that an effect of a kind has.
func faceOf(k effect.Kind) string {
	switch k {
	case effect.Read:
		return FaceRead
	case effect.Write:
		return FaceWrite
	case effect.Delete:
		return FaceDelete
	case effect.Connect:
		return FaceConnect
	}
	return ""
}

// shell tells whether the call runs a command.
func (fl *floorWalk) shell() bool { return fl.field != "" }

// isRedirect tells whether e is the shell's own redirect, not an effect of a
// program.
func isRedirect(e *effect.Effect) bool { return e.Tags.Has(effect.Redirect) }

func whyEffect(e *effect.Effect) string {
	switch {
	case isRedirect(e) && e.Kind == effect.Write:
		return "a redirect's target is a file that is written"
	case e.Kind == effect.Read:
		return "it would read " + e.Path
	case e.Kind == effect.Delete:
		return "it would delete " + e.Path
	}
	return "it would write " + e.Path
}

// face returns how the dialect's rules speak of e: for a file tool, the tool
// itself. Of a tool that fetches, only the files are looked at here, `file:///home/u/.env` among
// them: the stages have seen the address.
func (fl *floorWalk) face(e *effect.Effect) (Face, bool) {
	fetches := fl.tool.Canonical == "fetch"
	if fetches && e.Kind == effect.Connect {
		return Face{}, false
	}
	if !fl.shell() && !fetches && !fl.server {
		for _, field := range fl.tool.Paths {
			if text, ok := fl.f.Field(field); ok && text == e.Raw {
				return Face{fl.f.Call.Tool, field}, true
			}
		}
	} // else it is a name that a search looks at, `.e*`, one of a list, or an address
	if fl.server && e.Kind != effect.Connect {
		// The name of a server's tool says whether it reads or writes: `list_issues`.
		reads, writes := effect.Says(fl.f.Call.Tool)
		if reads != writes && (e.Kind == effect.Read) != reads {
			return Face{}, false
		}
	}
	return fl.common(e)
}

// common returns the tool whose rules speak of files that commands touch as e does.
func (fl *floorWalk) common(e *effect.Effect) (Face, bool) {
	face, ok := fl.pol.prog.Faces[faceOf(e.Kind)]
	if !ok && e.Kind == effect.Delete {
		face, ok = fl.pol.prog.Faces[FaceWrite]
	}
	return face, ok
}

// host puts a connection to the rules; a default about it does not count.
func (fl *floorWalk) host(e *effect.Effect, face Face) {
	if e.Raw == "" {
		return
	}
	fl.part = Part{Text: e.Raw, Span: e.Span, Why: "it would connect to " + e.Host}
	o := fl.judge(face.Tool, face.Field, e.Raw, "")
	if o.rule != nil || o.faulted {
		fl.tighten(o, e.Raw, "it would connect to "+e.Host)
	}
}

// spellings judges every way to write the file that e is about. tight is the
// strictest thing a rule says of any of them; loosest is the best of the
// answers, since a rule is free to use any spelling. Both the path as written and the
// one that it leads to have to be allowed: a rule for a place is not about what a link
// inside it leads to.
func (fl *floorWalk) spellings(e *effect.Effect, face Face) (tight, loosest outcome) {
	tight, loosest = outcome{verdict: Allow}, outcome{verdict: Allow}
	fl.part = Part{Span: e.Span}
	if fl.trace != nil {
		fl.part.Why = whyEffect(e)
	}
	for i, p := range [...]string{e.Real, e.Path} {
		if p == "" || i > 0 && p == e.Real {
			continue
		}
		best := outcome{verdict: Deny}
		said, narrow := outcome{verdict: Allow}, false
		for i, o := range fl.judgePath(e, face, p) {
			if o.faulted {
				return o, o
			}
			// A rule for all files has spoken of the one spelling that no other rule names.
			fits := o.rule != nil && !fl.breadth(o.rule, face.Tool).wide
			if fl.speaks(&o, face.Tool) && (o.verdict < said.verdict && fits == narrow || fits && !narrow) {
				said = o
			}
			narrow = narrow || fits
			if i == 0 || o.verdict > best.verdict {
				best = o
			}
		}
		if said.verdict < tight.verdict {
			tight = said
		}
		if loosest.stage == "" || best.verdict < loosest.verdict {
			loosest = best
		}
	}
	return tight, loosest
}

// judgePath puts a path to the rules: once to those of a dialect that are about places,
// and in every spelling to others.
func (fl *floorWalk) judgePath(e *effect.Effect, face Face, p string) iter.Seq2[int, outcome] {
	return func(yield func(int, outcome) bool) {
		if v, ok := fl.parts.(spellingView); ok {
			if ways, ok := v.Spellings(fl.f, face.Tool, p, e.Real); ok {
				for i, qs := range ways {
					if !yield(i, fl.judgeQuestions(qs, p)) {
						return
					}
				}
				return
			}
		} else if fl.parts != nil {
			if qs, ok := fl.parts.File(fl.f, face.Tool, p, e.Real); ok {
				yield(0, fl.judgeQuestions(qs, p))
				return
			}
		}
		for i, text := range fl.spell(p, p == e.Real) {
			fl.part.Text = text
			if !yield(i, fl.judge(face.Tool, face.Field, text, fl.f.Call.Anchor())) {
				return
			}
		}
	}
}

// judgeQuestions puts the questions about a path to the rules.
func (fl *floorWalk) judgeQuestions(qs []Question, p string) (o outcome) {
	fl.part.Text = p
	fl.answered(qs, &o)
	return o
}

// leadsTo returns where links lead from a path.
func (fl *floorWalk) leadsTo(p string) string {
	return (paths.Resolver{FS: fl.f.World}).Literal(p).Real
}

// spell returns the ways to write a path: absolute, from where rules start, also as ./src/a where
// rules do so, and from the home directory. A path that links were followed in is also written below the roots as they
// are called: of a project that is itself behind a link.
func (fl *floorWalk) spell(p string, real bool) []string {
	var out []string
	add := func(s string) {
		for _, have := range out {
			if have == s {
				return
			}
		}
		if s != "" {
			out = append(out, s)
		}
	}
	dir, world := fl.f.Call.Anchor(), fl.f.World
	written := func(p string) {
		add(p)
		if dir != "" && paths.Inside(dir, p) && p != dir {
			rel := strings.TrimPrefix(p, strings.TrimSuffix(path.Clean(dir), "/")+"/")
			add(rel)
			if fl.pol.dotted {
				add("./" + rel)
			}
		}
		if world == nil {
			return
		}
		if home, ok := world.Home(""); ok && paths.Inside(home, p) {
			add("~" + strings.TrimPrefix(p, path.Clean(home)))
		}
	}
	written(p)
	if !real || world == nil {
		return out
	}
	for _, root := range append([]string{dir}, fl.f.Call.Workspace()...) {
		at := (paths.Resolver{FS: world}).Literal(root).Real
		if at != "" && at != root && paths.Inside(at, p) {
			written(path.Join(root, strings.TrimPrefix(p, at)))
		}
	}
	return out
}

// A path that is not one literal is put to the rules as the set that it is: `cat .en?`,
// `cp -r . /tmp/x`, `git show HEAD:$f`. A deny or ask rule that may meet the set makes the
// call an ask that names the rule; one that cannot says nothing.

// possibly asks if a rule may apply to one of the paths that e touches.
func (fl *floorWalk) possibly(e *effect.Effect, face Face) {
	if fl.o.verdict == Deny || !e.Tags.Has(effect.Found|effect.Patch|effect.Contents) && e.Unnamed && e.Path == "" {
		return // a program's own books, git's working tree
	}
	if e.Tags.Has(effect.List) || e.IsRunnerFile() {
		return // names only; a CI system's file, which is none that a rule about some files means
	}
	sets := [...]paths.Set{e.Target(), e.RealTarget()}
	if e.Loose() {
		sets[0], sets[1] = paths.Anything(), paths.Anything()
	}
	for i, set := range sets {
		if set.IsZero() || set.Exact() || i > 0 && set == sets[0] {
			continue
		}
		fl.allBelow(e, face, set, set == sets[1] || sets[1].IsZero())
		if fl.onlyWhole(e) || fl.o.verdict < Allow {
			continue
		}
		r := fl.ruleForSome(e, face, &set)
		if r == nil {
			continue
		}
		if fl.confined {
			fl.partly = true
			continue
		}
		why := "it may " + verbOf(e) + " " + floor.Show(set) + ", and a rule speaks of some of that"
		fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: r}, fl.origin(e), why)
		return
	}
}

// onlyWhole tells whether only a rule for all that is in the directory is about the files of e: an
// archive's, those that a program makes where it was sent to, and those that a search tool comes by,
// which passes by the ones that it may not read, have no names in the call.
func (fl *floorWalk) onlyWhole(e *effect.Effect) bool {
	if e.Unnamed && !e.Tags.Has(effect.Found|effect.Patch) {
		return true
	}
	return !fl.shell() && e.Recursive && !e.Named()
}

// allBelow tightens by the verdict of a directory, and of a file in it, if e certainly touches all
// that is in there. real: the set is where links lead.
func (fl *floorWalk) allBelow(e *effect.Effect, face Face, set paths.Set, real bool) {
	if !set.Below || set.Marked() || e.Path == "" && e.Tags.Has(effect.Patch) {
		return
	}
	for _, p := range [...]string{set.Text, set.Text + "/" + placeholder} {
		inside := *e
		if inside.Path, inside.Real = p, p; !real {
			inside.Real = fl.leadsTo(p)
		}
		if tight, _ := fl.spellings(&inside, face); tight.verdict < Allow {
			fl.tighten(tight, fl.origin(e), "it would "+verbOf(e)+" all that is in "+set.Text)
			return
		}
	}
}

// ruleForSome returns a deny or ask rule that may apply to some of the paths of e. set becomes the one
// that the rule is about.
func (fl *floorWalk) ruleForSome(e *effect.Effect, face Face, set *paths.Set) *Rule {
	dir := set.Text
	if e.VisibleOnly() {
		dir = e.Path
	}
	within := set.Below && fl.within(dir)
	r := fl.ruleFor(*set, face, floor.Space{Below: set.Below, Within: within, Visible: e.VisibleOnly(),
		Stars: e.StarDirs(), Tops: starred(e), Changes: e.Kind != effect.Read})
	if r != nil || !within || !set.Marked() || e.VisibleOnly() {
		return r
	}
	set.Below = false // a pattern stands for more than the files in it
	r = fl.ruleFor(*set, face, floor.Space{Stars: e.StarDirs(), Tops: starred(e)})
	if set.Text += "/" + placeholder; r == nil && e.Kind == effect.Delete { // `mv .gi? x` takes .git's files
		r = fl.ruleFor(*set, face, floor.Space{})
	}
	return r
}

// starred tells whether e is on files that a shell pattern with `**/` stands for.
func starred(e *effect.Effect) bool { return e.Glob && strings.Contains(e.Path, "**/") }

// possibleMarks notes the marks that e may get, see [Mark]: `cat .en?` may
// read `.env`.
func (fl *floorWalk) possibleMarks(e *effect.Effect, face Face) {
	if e.Tags.Has(effect.List) || e.Unnamed {
		return
	}
	set := e.Target()
	if e.Loose() {
		set = paths.Anything()
	}
	if set.IsZero() || set.Exact() {
		return
	}
	for i := range fl.pl.stages {
		st := &fl.pl.stages[i]
		if !st.mark {
			continue
		}
		for _, s := range fl.spellSet(set) {
			like := &floor.Space{Below: s.Below, Within: s.Below && fl.within(set.Text),
				Visible: e.VisibleOnly(), Dir: fl.f.Call.Anchor()}
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: like}
			for _, q := range fl.spelled(face, floor.HideMarks(s.Text)) {
				for j := range q.Subjects {
					q.Subjects[j].Text = floor.ShowMarks(q.Subjects[j].Text)
				}
				for _, r := range st.list.about(q.Tool).all(q.Tool, fl.pol.compiled) {
					if may, _ := space.covers(r, &q, &q); may {
						fl.noteMark(r.ID)
					}
				}
			}
		}
	}
}

// origin returns the part of the command that an effect comes from.
func (fl *floorWalk) origin(e *effect.Effect) string {
	if e.Raw != "" {
		return e.Raw
	}
	return fl.text(e.Span)
}

func verbOf(e *effect.Effect) string {
	switch e.Kind {
	case effect.Read:
		return "read"
	case effect.Delete:
		return "delete"
	}
	return "write"
}

// ruleFor returns a deny or ask rule that may apply to one of a set of paths, however the
// rule spells them; nil if there is none.
func (fl *floorWalk) ruleFor(set paths.Set, face Face, like floor.Space) *Rule {
	like.Dir = fl.f.Call.Anchor()
	for _, s := range fl.spellSet(set) {
		for _, q := range fl.spelled(face, floor.HideMarks(s.Text)) {
			for i := range q.Subjects {
				q.Subjects[i].Text = floor.ShowMarks(q.Subjects[i].Text)
			}
			like.Below = s.Below
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: &like,
				anyText: strings.IndexByte(set.Text, paths.AnyText) >= 0}
			if r, _ := space.stricter(fl.pl, &q, &q); r != nil {
				return r
			}
		}
	}
	return nil
}

// spelled returns the questions about a file as it is written.
func (fl *floorWalk) spelled(face Face, text string) []Question {
	if fl.parts != nil {
		if at := (paths.Resolver{FS: fl.f.World, Dir: fl.f.Call.Anchor()}).Resolve(text); at.Abs != "" {
			if qs, ok := fl.parts.File(fl.f, face.Tool, at.Abs, at.Real); ok {
				return qs
			}
		}
	}
	return fl.questions(face.Tool, face.Field, text, fl.f.Call.Anchor())
}

// spellSet returns a set as absolute paths, as paths from the working directory and as paths
// from home.
func (fl *floorWalk) spellSet(set paths.Set) []paths.Set {
	out := []paths.Set{set}
	if dir := fl.f.Call.Anchor(); dir != "" {
		out = append(out, set.From(dir)...)
	}
	if fl.f.World == nil {
		return out
	}
	if home, ok := fl.f.World.Home(""); ok {
		for _, s := range set.From(home) {
			out = append(out, paths.Set{Text: "~/" + s.Text, Below: s.Below})
		}
	}
	return out
}

// within tells whether the directories that a text with marks stands for are inside the project. What a rule
// such as `*/.env` is about lies at the top of a project or a home, as far as is known: a
// directory inside is read without a question, unless the rule names a place in it.
func (fl *floorWalk) within(text string) bool {
	tops := append([]string{fl.f.Call.Anchor(), fl.f.Call.Dir}, fl.f.Call.Roots...)
	if fl.f.World != nil {
		if home, ok := fl.f.World.Home(""); ok {
			tops = append(tops, home)
		}
	}
	self := paths.Set{Text: text}
	for _, top := range tops {
		for at := top; at != "" && at != "."; at = path.Dir(at) { // it may be the top, or above it
			if self.Has(at) {
				return false
			}
			if at == "/" {
				break
			}
		}
	}
	return true
}

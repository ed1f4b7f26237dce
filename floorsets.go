package obstat

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// A path that is not one literal is put to the rules as the set that it is: `cat .en?`,
// `cp -r . /tmp/x`, `git show HEAD:$f`. A deny or ask rule that may meet the set makes the
// call an ask that names the rule; one that cannot says nothing.

// possibly asks if a rule may apply to one of the paths that e touches.
func (fl *floorWalk) possibly(e *effect.Effect, face Face) {
	if fl.o.verdict == Deny || e.Tags.Has(effect.List) || e.Unnamed && e.Path == "" && !e.Tags.Has(effect.Found|effect.Patch|effect.Contents) {
		return // names only, or a program's own books, git's working tree: nobody names them
	}
	// Nobody names an archive's files, nor those that a program makes where it was sent to, and a search tool
	// passes by what it may not read, as far as is known: only a rule for all that is in the directory is about them.
	whole := e.Unnamed && !e.Tags.Has(effect.Found|effect.Patch) || !fl.shell() && e.Recursive && !e.Named()
	sets := [...]paths.Set{e.Target(), e.RealTarget()}
	if e.Loose() {
		sets[0], sets[1] = paths.Anything(), paths.Anything()
	}
	for i, set := range sets {
		if set.IsZero() || set.Exact() || i > 0 && set == sets[0] {
			continue
		}
		if set.Below && !set.Marked() && (e.Path != "" || !e.Tags.Has(effect.Patch)) { // it, and what is in it, certainly gets the verdict of a file there
			for _, p := range [...]string{set.Text, set.Text + "/" + placeholder} {
				inside := *e
				if inside.Path, inside.Real = p, ""; set == sets[1] || sets[1].IsZero() {
					inside.Real = p
				}
				if tight, _ := fl.spellings(&inside, face); tight.verdict < Allow {
					fl.tighten(tight, fl.origin(e), "it would "+verbOf(e)+" all that is in "+set.Text)
					return
				}
			}
		}
		if whole || fl.o.verdict < Allow || fl.confined {
			continue
		}
		within := set.Below && (!e.VisibleOnly() && fl.within(set.Text) || e.VisibleOnly() && fl.within(e.Path))
		like := setSpace{below: set.Below, within: within, visible: e.VisibleOnly(), stars: e.StarDirs(), tops: starred(e), changes: e.Kind != effect.Read}
		r := fl.ruleFor(set, face, like)
		if r == nil && within && set.Marked() && !e.VisibleOnly() {
			set.Below = false // what a pattern stands for is more than what is in it
			r = fl.ruleFor(set, face, setSpace{stars: e.StarDirs(), tops: starred(e)})
			if set.Text += "/" + placeholder; r == nil && e.Kind == effect.Delete { // `mv .gi? x` takes what is in .git
				r = fl.ruleFor(set, face, setSpace{})
			}
		}
		if r != nil && !(e.Moved() && r.Tool.IsZero() && r.Whole()) { // for all else that is in a moved directory, its child stands
			o := outcome{verdict: Ask, stage: stageFloor, rule: r}
			fl.tighten(o, fl.origin(e), "it may "+verbOf(e)+" "+showSet(set)+", and a rule speaks of some of that")
			return
		}
	}
}

// possibleMarks notes what e may do, as far as a [Mark] asks for it: `cat .en?` may
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
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: &setSpace{below: s.Below, within: s.Below && fl.within(set.Text), visible: e.VisibleOnly(), dir: fl.f.Call.Anchor()}}
			for _, q := range fl.spelled(face, hideMarks(s.Text)) {
				for j := range q.Subjects {
					q.Subjects[j].Text = showMarks(q.Subjects[j].Text)
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

// showSet writes a set as a person would: a star for what is not known.
func showSet(s paths.Set) string {
	if s.IsAnything() {
		return "a path that cannot be seen"
	}
	var b strings.Builder
	class := false
	for _, r := range s.Text {
		switch {
		case r == paths.ClassOf, r == paths.ClassEnd:
			if class = r == paths.ClassOf; class {
				b.WriteByte('?')
			}
		case class:
		case r == paths.AnyText:
			b.WriteString("...")
		case r == paths.AnyName:
			b.WriteByte('*')
		case r == paths.OneChar:
			b.WriteByte('?')
		case r == paths.Visible:
		default:
			b.WriteRune(r)
		}
	}
	if s.Below {
		b.WriteString("/...")
	}
	return b.String()
}

// ruleFor returns a deny or ask rule that may apply to one of a set of paths, however the
// rule spells them; nil if there is none.
func (fl *floorWalk) ruleFor(set paths.Set, face Face, like setSpace) *Rule {
	like.dir = fl.f.Call.Anchor()
	for _, s := range fl.spellSet(set) {
		for _, q := range fl.spelled(face, hideMarks(s.Text)) {
			for i := range q.Subjects {
				q.Subjects[i].Text = showMarks(q.Subjects[i].Text)
			}
			like.below = s.Below
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: &like}
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

// A setSpace says of which paths a question's subjects are the set.
type setSpace struct {
	below   bool   // with all that is below
	within  bool   // a directory inside the project
	visible bool   // hidden names are passed by
	stars   bool   // AnyText stands for directories that are not hidden: `**`
	tops    bool   // AnyText may stand for no directory at all: `**/x` is x, too
	changes bool   // they are written or deleted
	dir     string // of the call
}

// meets tells whether a pattern may match one of the paths of a subject, and whether it matches
// all of them.
func (s *setSpace) meets(p *pattern.Pattern, text string) (may, must bool) {
	known := paths.Set{Text: text}.Known()
	must = p.MustMatch(known)
	if may = must || p.MayMeet(text, s.below); !may && s.tops {
		return p.MayMeet(atTop(text), s.below), false
	}
	if !may || must {
		return may, must
	}
	if s.within { // a rule for `**/config/prod.yaml` names this place, too, if it is config
		other, file := s.elsewhere(known), "/"+string(paths.AnyName)
		return !p.MayMeet(other, true) || p.MayMeet(known+file, false) && !p.MayMeet(other+file, false), false
	}
	if s.visible && s.below && !p.MayMeetAcross(text, "", false) || s.stars && !starsMeet(p, text, s.below) {
		return false, false
	}
	return mayFind(p, text) || s.changes && findsVisible(p, text, s.below), false
}

// starred tells whether e is on files that a shell pattern with `**/` stands for.
func starred(e *effect.Effect) bool { return e.Glob && strings.Contains(e.Path, "**/") }

// atTop returns the paths of text in which a leading AnyText stands for no directory: `**/.e*` is `.e*`, too.
func atTop(text string) string {
	return strings.TrimPrefix(text, string(paths.AnyText)+"/")
}

// starsMeet tells whether a pattern may match a path of text in which AnyText stands for visible
// directories, as `**` does: `cat **/*.md` does not read .git/x.md.
func starsMeet(p *pattern.Pattern, text string, below bool) bool {
	before, after, ok := strings.Cut(text, string(paths.AnyText)+"/")
	if !ok || strings.IndexByte(after, paths.AnyText) >= 0 || before != "" && !strings.HasSuffix(before, "/") {
		return true
	}
	return p.MayMeet(before+after, below) || p.MayMeetAcross(before+anyVisible, "/"+after, below)
}

// findsVisible tells whether a pattern may match a file that a search by name finds in directories that
// are not hidden: `find . -name '*.ts' -delete` deletes src/a.ts, and nothing of .git that anybody means.
func findsVisible(p *pattern.Pattern, text string, below bool) bool {
	before, after, ok := strings.Cut(text, string(paths.AnyText)+"/")
	if ok && before != "" && !strings.HasSuffix(before, "/") && strings.IndexByte(after, paths.AnyText) < 0 {
		return p.MayMeetAcross(before, "/"+after, below)
	}
	return starsMeet(p, text, below)
}

const anyVisible = string(paths.Visible) + string(paths.AnyName)

// elsewhere is a directory of the same project that nobody has: a rule that may meet it as well
// is about a name, not about the place that a set is in.
func (s *setSpace) elsewhere(text string) string {
	switch {
	case strings.HasPrefix(text, "/"):
		return strings.TrimSuffix(s.dir, "/") + "/" + placeholder + "/" + placeholder
	case strings.HasPrefix(text, "~/"):
		return "~/" + placeholder + "/" + placeholder
	}
	return placeholder + "/" + placeholder
}

// manifests are files that every project has, with nothing in them that a directory is closed for.
const manifests = " package.json tsconfig.json go.mod go.sum Cargo.toml pyproject.toml setup.py requirements.txt pom.xml build.gradle Gemfile composer.json README.md Makefile Dockerfile CMakeLists.txt "

// mayFind tells whether a rule that may meet a set is about a file that a search by name finds.
// A rule for all that is in a directory, such as `.git/**`, is not about the sources, `*.ts`,
// that are looked for around it, nor about package.json.
func mayFind(p *pattern.Pattern, text string) bool {
	i := strings.LastIndexByte(text, paths.AnyText)
	if i < 0 || i+3 >= len(text) || text[i+1] != '/' || text[i+2] != paths.AnyName && !strings.Contains(manifests, " "+text[i+2:]+" ") || strings.Count(text[i:], "/") > 1 {
		return true
	}
	p = p.Itself() // `config/prod.yaml` is also about what is in a directory of that name
	return p.MayMeet(text, false) && !p.MayMeet(text[:i+2]+placeholder, false)
}

// hideMarks writes the marks of a set with characters that a dialect takes for letters, and
// showMarks writes them back.
func hideMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= paths.ClassEnd {
			return markBase + r
		}
		return r
	}, text)
}

func showMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= markBase && r <= markBase+paths.ClassEnd {
			return r - markBase
		}
		return r
	}, text)
}

const markBase = '\U000F0100' // for private use

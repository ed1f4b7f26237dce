package obstat

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

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
	if reads, ok := fl.pol.prog.Faces[FaceRead]; ok && reads.Tool != face.Tool && fl.searches(e) {
		fl.possibly(e, reads) // what lies in there it reads, whatever the rules for searching say
	}
	if also, ok := fl.alike(e, face); ok {
		tight, _ := fl.spellings(e, also)
		fl.tighten(tight, e.Raw, whyEffect(e))
		fl.possibly(e, also)
	}
}

// inside puts a file in a directory that a command writes to, of which nobody says the name, to the rules: `wget -P src URL`.
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
	if fl.shell() || fl.server || face.Tool != fl.f.Call.Tool || e.Tags.Has(effect.List) || fl.pol.owns(face) {
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

// searches tells whether e is a search tool's look into the files of a directory.
func (fl *floorWalk) searches(e *effect.Effect) bool {
	return e.Kind == effect.Read && e.Recursive && !fl.shell() && !fl.server
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
// itself. Of a tool that fetches, only the file that it writes is looked at here:
// the stages have seen the address.
func (fl *floorWalk) face(e *effect.Effect) (Face, bool) {
	fetches := fl.tool.Canonical == "fetch"
	if fetches && e.Kind != effect.Write {
		return Face{}, false
	}
	if !fl.shell() && !fetches && !fl.server {
		for _, field := range fl.tool.Paths {
			if text, ok := fl.f.Field(field); ok && text == e.Raw {
				return Face{fl.f.Call.Tool, field}, true
			}
		}
		if e.Raw == "" && !(e.Kind == effect.Read && e.Named()) { // else it is a name that a search looks at, `.e*`, one of a list, or an address
			return Face{}, false
		}
	}
	if reads, writes := effect.Says(fl.f.Call.Tool); fl.server && reads != writes && e.Kind != effect.Connect && (e.Kind == effect.Read) != reads {
		return Face{}, false // what its name does not say
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
			if ways, ok := v.Spellings(fl.f, face.Tool, p, fl.real(p, e.Real)); ok {
				for i, qs := range ways {
					if !yield(i, fl.judgeQuestions(qs, p)) {
						return
					}
				}
				return
			}
		} else if fl.parts != nil {
			if qs, ok := fl.parts.File(fl.f, face.Tool, p, fl.real(p, e.Real)); ok {
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

// real returns where links lead from a path, if that is not known yet.
func (fl *floorWalk) real(p, known string) string {
	if known != "" || fl.f.World == nil {
		return known
	}
	if dir, ok := strings.CutSuffix(p, "/"+placeholder); ok { // which is no link
		return (paths.Resolver{FS: fl.f.World}).Literal(dir).Real + "/" + placeholder
	}
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

// A doubt is whether a deny or ask rule may apply to what is not known, and which; a
// stage may, too, that has no rules.
type doubt struct {
	may  bool
	rule *Rule
}

// mayTighten tells whether a deny or ask rule could apply to a hidden part:
// any command, any file.
func (fl *floorWalk) mayTighten() doubt {
	qs := fl.questions(fl.f.Call.Tool, fl.field, "", "")
	if len(qs) == 0 {
		qs = []Question{{fl.f.Call.Tool, nil}}
	}
	for i := range qs {
		if d := fl.mayTightenTool(qs[i].Tool); d.may {
			return d
		}
	}
	for _, name := range sortedKeys(fl.pol.prog.Faces) {
		if d := fl.mayTightenTool(fl.pol.prog.Faces[name].Tool); d.may {
			return d
		}
	}
	return doubt{}
}

// mayTightenTool tells whether a deny or ask rule could apply to some call of a
// tool, whatever its subjects are.
func (fl *floorWalk) mayTightenTool(tool string) doubt {
	qs := []Question{{tool, []Subject{{anyField, ""}}}}
	if v, ok := fl.pol.view.(outliner); ok {
		qs = v.Outline(tool)
	}
	return fl.rulesMay(qs, qs)
}

// placeholder is a text that no pattern holds literally: a pattern that matches
// everything after it matches everything.
const placeholder = "\uFFFC"

// mayTightenCommand tells whether a deny or ask rule could apply to a command
// of which only a prefix is known.
func (fl *floorWalk) mayTightenCommand(prefix, dir string) doubt {
	if v, ok := fl.parts.(prefixView); ok {
		return fl.rulesMay([]Question{v.Begins(fl.f, prefix)}, []Question{v.Begins(fl.f, prefix+placeholder)})
	}
	may := fl.questions(fl.f.Call.Tool, fl.field, prefix, dir)
	must := fl.questions(fl.f.Call.Tool, fl.field, prefix+placeholder, dir)
	if len(may) == 0 || len(may) != len(must) {
		return doubt{may: true}
	}
	return fl.rulesMay(may, must)
}

// rulesMay tells whether a rule of the stages may say deny or ask to a question
// that starts like one of may.
func (fl *floorWalk) rulesMay(may, must []Question) doubt {
	s := &space{pol: fl.pol, present: true, facts: fl.f}
	for i := range may {
		if r, yes := s.stricter(fl.pl, &may[i], &must[i]); yes {
			return doubt{true, r}
		}
	}
	return doubt{}
}

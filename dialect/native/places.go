package native

import (
	pathpkg "path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// subjects says a set of paths in every way that a rule may name it.
func (w *callWalk) subjects(verb string, set paths.Set, e *effect.Effect, hidden bool) []obstat.Subject {
	said := make(saying, 0, 8)
	said.add(fieldAbs, set.Text)
	t := w.tops()
	said.from(fieldPath, t.anchors, set.Text)
	said.from(fieldHome, t.homes, set.Text)
	if hidden {
		for _, p := range builtinPlaces {
			said.add(fieldMaybe, p)
		}
		return said
	}
	if verb == "read" || e == nil || !t.isRoot(set, e) || w.filled(e) { // `chmod 000 .` is about no file in the workspace
		said.workspace(t, set)
	}
	if e != nil && e.Moved() && t.inside(set) && w.stays(e) {
		said.add(fieldPlace, placeMoved)
	}
	home := holds(t.homes, set)
	if home {
		said.add(fieldPlace, placeHome)
	}
	switch temp := holds(tempDirs, set); {
	case temp && (home || t.inside(set)):
		// `HOME=/tmp/home` and a project in /tmp are kept: `write temp` opens neither .ssh nor .git/hooks.
		said.add(fieldMaybe, placeTemp)
	case temp:
		said.add(fieldPlace, placeTemp)
	}
	said.listed(verb, set, e, w)
	return said
}

// isRoot tells whether an effect is on a root of the workspace alone, not on files in it.
func (t *tops) isRoot(set paths.Set, e *effect.Effect) bool {
	return contains(t.roots, set.Text) && !e.Recursive && !e.Target().Below
}

// filled tells whether an effect is on a directory that gets files by name, which are effects of their own:
// that of `cp a/x.py .` on `.`.
func (w *callWalk) filled(dir *effect.Effect) bool {
	return slices.ContainsFunc(w.a.Effects, func(e effect.Effect) bool {
		return e.Kind == effect.Write && e.Command == dir.Command && e.Span == dir.Span && e.Path != dir.Path &&
			paths.Inside(dir.Path, e.Path)
	})
}

// A saying collects the subjects of a set of paths.
type saying []obstat.Subject

func (s *saying) add(field, text string) { *s = append(*s, obstat.Subject{Field: field, Text: text}) }

// from adds a path as it is written from each of some directories.
func (s *saying) from(field string, dirs []string, text string) {
	for _, dir := range dirs {
		if rel, ok := from(dir, text); ok {
			s.add(field, rel)
		}
	}
}

// workspace adds whether a set lies in the workspace; one that may lie in it may lie outside, too.
func (s *saying) workspace(t *tops, set paths.Set) {
	switch {
	case t.inside(set):
		s.add(fieldPlace, placeWorkspace)
	case t.meets(set):
		s.add(fieldMaybe, placeWorkspace)
		s.add(fieldMaybe, placeOutside)
	default:
		s.add(fieldPlace, placeOutside)
	}
}

// listed adds the places that the table of sensitive paths knows.
func (s *saying) listed(verb string, set paths.Set, e *effect.Effect, w *callWalk) {
	text := set.Text
	entry, listed := paths.Sensitive(text)
	if listed && (entry.Class == "agent-settings" || entry.Class == "obstat") {
		s.add(fieldPlace, placeSettings)
		if verb != "read" {
			s.add(fieldGuarded, "yes")
		}
	}
	switch {
	case e != nil && e.Glob && e.Command >= 0 && verb == "read" && w.lookIn(set, e).clean(): // `cat docs/a*`
	case e != nil && e.Secret || listed && entry.Secret:
		s.add(fieldPlace, placeSecrets)
	case e != nil && e.Command >= 0 && strings.HasSuffix(text, everyFile) && !e.VisibleOnly():
		if !w.lookIn(set, e).clean() {
			s.add(fieldMaybe, placeSecrets) // those of a project lie at its top
		}
	}
}

// moving returns the move that a file is deleted by, nil where something else may delete it, too: in
// `mv a b; rm a` it is gone.
func (w *callWalk) moving(verb, p, real string) (move *effect.Effect) {
	if verb != effect.Delete.String() {
		return nil
	}
	w.a = w.f.Analysis()
	for i := range w.a.Effects {
		e := &w.a.Effects[i]
		if e.Kind != effect.Delete {
			continue
		}
		set, at := e.Target(), e.RealTarget()
		switch {
		case e.Moved():
			if set.Has(p) || at.Has(real) {
				move = e
			}
		case set.IsZero() || set.Has(p) || set.Has(real) || at.Has(p) || at.Has(real):
			return nil
		}
	}
	return move
}

// stays tells whether everything that the command of a move writes lies in the workspace: in `mv a lib/`
// nothing is lost, in `mv a /tmp` the project loses a file.
func (w *callWalk) stays(move *effect.Effect) bool {
	writes := false
	for i := range w.a.Effects {
		e := &w.a.Effects[i]
		if e.Command != move.Command || e.Kind != effect.Write {
			continue
		}
		real := e.RealTarget()
		if e.Loose() || !w.tops().inside(e.Target()) || !real.IsZero() && !w.tops().inside(real) {
			return false
		}
		writes = true
	}
	return writes
}

// tops are the directories that paths are told from, each as it is called and where it leads.
type tops struct {
	roots []string // the project first
	// anchors are the roots that path rules start from: the project, and others beside it. A root
	// inside the project is none, for `secret/**` is about the project's own directory.
	anchors []string
	homes   []string
}

func (w *callWalk) tops() *tops {
	if w.s.have {
		return &w.s.tops
	}
	w.s.have = true
	t := &w.s.tops
	add := func(list *[]string, dir string) {
		if dir == "" {
			return
		}
		for _, d := range [...]string{pathpkg.Clean(dir), (paths.Resolver{FS: w.f.World}).Literal(dir).Real} {
			if d != "" && !contains(*list, d) {
				*list = append(*list, d)
			}
		}
	}
	add(&t.roots, w.f.Call.Anchor())
	t.anchors = t.roots
	for _, r := range w.f.Call.Roots { // not the working directory: the model may have chosen that
		n := len(t.roots)
		add(&t.roots, r)
		if beside := t.roots[n:]; !within(t.anchors, beside...) {
			t.anchors = append(t.anchors[:len(t.anchors):len(t.anchors)], beside...)
		}
	}
	if w.f.World != nil {
		if home, ok := w.f.World.Home(""); ok {
			add(&t.homes, home)
		}
	}
	return t
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// within tells whether a directory, by one of its names, lies in one of others.
func within(dirs []string, names ...string) bool {
	for _, d := range dirs {
		for _, name := range names {
			if paths.Inside(d, name) {
				return true
			}
		}
	}
	return false
}

// top tells whether a set may be a root of the workspace or a home, or lie above one.
func (t *tops) top(set paths.Set) bool {
	for _, dirs := range [...][]string{t.roots, t.homes} {
		for _, dir := range dirs {
			for ; dir != "/" && dir != "." && dir != ""; dir = pathpkg.Dir(dir) {
				if set.Has(dir) {
					return true
				}
			}
		}
	}
	return set.Text == "/"
}

// inside tells whether a set is certainly in the workspace.
func (t *tops) inside(set paths.Set) bool { return holds(t.roots, set) }

// meets tells whether some of a set may be in the workspace.
func (t *tops) meets(set paths.Set) bool {
	for _, r := range t.roots {
		if paths.Under(r).Meets(set) {
			return true
		}
	}
	return false
}

func holds(dirs []string, set paths.Set) bool {
	for _, d := range dirs {
		if paths.Under(d).Contains(set) {
			return true
		}
	}
	return false
}

// from returns a path as it is told from a directory.
func from(dir, p string) (rel string, ok bool) {
	if p == dir {
		return "", true
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	return strings.TrimPrefix(p, dir), strings.HasPrefix(p, dir)
}

package native

import (
	pathpkg "path"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// subjects says a set of paths in every way that a rule may name it.
func (w *callWalk) subjects(verb string, set paths.Set, e *effect.Effect, hidden bool) []obstat.Subject {
	out := make([]obstat.Subject, 0, 8)
	say := func(field, text string) { out = append(out, obstat.Subject{Field: field, Text: text}) }
	text := set.Text
	say(fieldAbs, text)
	t := w.tops()
	for _, dir := range t.anchors {
		if rel, ok := from(dir, text); ok {
			say(fieldPath, rel)
		}
	}
	for i := range t.homes {
		if rel, ok := from(t.homes[i], text); ok {
			say(fieldHome, rel)
		}
	}
	if hidden {
		for _, p := range builtinPlaces {
			say(fieldMaybe, p)
		}
		return out
	}
	switch {
	case verb != "read" && contains(t.roots, text) && e != nil && !e.Recursive && !e.Target().Below:
		// The directory itself, `chmod 000 .`, is not something in it.
	case t.inside(set):
		say(fieldPlace, placeWorkspace)
	case t.meets(set):
		say(fieldMaybe, placeWorkspace)
		say(fieldMaybe, placeOutside)
	default:
		say(fieldPlace, placeOutside)
	}
	if e != nil && e.Moved() && t.inside(set) && w.stays(e) {
		say(fieldPlace, placeMoved)
	}
	if holds(t.homes, set) {
		say(fieldPlace, placeHome)
	}
	if holds(tempDirs, set) {
		say(fieldPlace, placeTemp)
	}
	entry, listed := paths.Sensitive(text)
	if listed && (entry.Class == "agent-settings" || entry.Class == "obstat") {
		say(fieldPlace, placeSettings)
		if verb != "read" {
			say(fieldGuarded, "yes")
		}
	}
	switch {
	case e != nil && e.Secret || listed && entry.Secret:
		say(fieldPlace, placeSecrets)
	case e != nil && e.Command >= 0 && strings.HasSuffix(text, everyFile) && !e.VisibleOnly():
		say(fieldMaybe, placeSecrets) // those of a project lie at its top
	}
	return out
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
		if set, at := e.Target(), e.RealTarget(); !e.Moved() && (set.IsZero() || set.Has(p) || set.Has(real) || at.Has(p) || at.Has(real)) {
			return nil
		} else if e.Moved() && (set.Has(p) || at.Has(real)) {
			move = e
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

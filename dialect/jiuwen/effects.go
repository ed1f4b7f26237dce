package jiuwen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/paths"
)

// effectSubjects returns the effects of a call, one line each, for rules that
// look at that instead of at the command's text:
//
//	run rm -rf src
//	delete rm recursive,force workspace - /srv/ws/src
//	gap python3 inline-code - - print(1)
//
// A run line is a program by its base name with its words as the program gets
// them, wherever it stands: behind env, in quotes, inside sh -c. The others are
// kind, program, details, place, sensitive class and target; a part that is not
// there is "-", and only the last may hold blanks.
func effectSubjects(f *obstat.Facts) (out []obstat.Subject) {
	a := f.Analysis()
	for i := range a.Commands {
		c := &a.Commands[i]
		var b strings.Builder
		b.WriteString("run " + word(c.Program))
		for _, w := range c.Args() {
			b.WriteString(" " + oneLine(w.Text))
		}
		out = append(out, obstat.Subject{Field: fieldEffect, Text: b.String()})
	}
	roots := workspace(f, false)
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind != effect.Run {
			out = append(out, line(e.Kind.String(), e.Program, details(e.Detail, e.Recursive, e.Glob), place(roots, e),
				e.Sensitive, cmp.Or(e.Path, e.Raw)))
		}
	}
	for i := range a.Gaps {
		g := &a.Gaps[i]
		program, src := "", ""
		if g.Command >= 0 && g.Command < len(a.Commands) {
			program = a.Commands[g.Command].Program
		}
		if g.Span.Start >= 0 && g.Span.Start <= g.Span.End && g.Span.End <= len(a.Source) {
			src = a.Source[g.Span.Start:g.Span.End]
		}
		out = append(out, line("gap", program, details(g.Kind.String(), false, false), "", "", src))
	}
	return out
}

// details writes the properties of an effect as one word.
func details(detail string, recursive, glob bool) string {
	d := strings.NewReplacer(", ", ",", " ", "-").Replace(strings.ToLower(detail))
	if recursive && !strings.Contains(d, "recursive") {
		d += ",recursive"
	}
	if glob {
		d += ",glob"
	}
	return strings.TrimPrefix(d, ",")
}

func line(kind, program, details, where, class, target string) obstat.Subject {
	parts := []string{kind, word(program), word(details), word(where), word(class), oneLine(target)}
	return obstat.Subject{Field: fieldEffect, Text: strings.Join(parts, " ")}
}

// word keeps the parts of a line apart: a text with blanks is written `-`.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\r\n") {
		return "-"
	}
	return s
}

// oneLine keeps an expression that is searched for from starting in the middle
// of a text: a line of effects is one line.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// place says where the path of an effect lies, coarsely.
func place(roots []string, e *effect.Effect) string {
	real := cmp.Or(e.Real, e.Path)
	switch {
	case e.Host != "":
		return "remote"
	case e.Path == "":
		return ""
	case strings.HasPrefix(e.Path, "/dev/"):
		return "device"
	}
	for _, root := range roots {
		if real == root {
			return "root"
		}
		if paths.Inside(root, real) {
			return "workspace"
		}
	}
	if strings.HasPrefix(real, "/tmp/") || strings.HasPrefix(real, "/var/tmp/") {
		return "tmp"
	}
	return "outside"
}

// effectPaths returns the paths that a call would touch.
func effectPaths(f *obstat.Facts, base string) (out []string) {
	for _, e := range f.Analysis().Effects {
		if e.Path == "" || e.Host != "" || e.Where != "" {
			continue
		}
		if p, ok := resolve(f.World, base, e.Path); ok {
			out = append(out, p)
		}
	}
	return out
}

// trusted returns the directory that a shell override of add-dir is about. The
// document's pattern is any command that holds its name somewhere; the user meant commands
// that stay inside.
func (rule *ruleConfig) trusted() (dir string, ok bool) {
	if rule.source != sourceAddDir || rule.category != shellTools {
		return "", false
	}
	expr, ok := strings.CutPrefix(rule.pattern, "re:.*")
	if !ok {
		return "", false
	}
	if expr, ok = strings.CutSuffix(expr, ".*"); !ok {
		return "", false
	}
	dir, ok = pytext.Unescape(expr)
	return dir, ok && strings.HasPrefix(dir, "/")
}

// trustedSubjects returns the directories of add-dir that a command stays in:
// everything it would do is seen, and every path that it touches lies in the
// directory or the workspace, at least one of them in the directory.
func (v view) trustedSubjects(f *obstat.Facts) (out []obstat.Subject) {
	if len(v.Trusted) == 0 {
		return nil
	}
	a := f.Analysis()
	if !a.Full || len(a.Gaps) > 0 {
		return nil
	}
	roots := workspace(f, false)
	for _, dir := range v.Trusted {
		real, ok := resolve(f.World, "/", dir)
		touches, stays := false, ok
		for i := range a.Effects {
			in, ok := staysIn(&a.Effects[i], real, roots)
			touches, stays = touches || in, stays && ok
		}
		if touches && stays {
			out = append(out, obstat.Subject{Field: fieldTrusted, Text: dir})
		}
	}
	return out
}

// staysIn tells whether an effect touches a path in dir, and whether it stays
// within dir and the workspace. The directory itself may not be deleted.
func staysIn(e *effect.Effect, dir string, roots []string) (touches, stays bool) {
	switch e.Kind {
	case effect.Run:
		return false, true
	case effect.Read, effect.Write, effect.Delete:
	default:
		return false, false
	}
	real := cmp.Or(e.Real, e.Path)
	switch {
	case real == "" || e.Host+e.Where != "":
		return false, false
	case paths.Inside(dir, real):
		return true, e.Kind != effect.Delete || real != dir
	}
	return false, slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, real) })
}

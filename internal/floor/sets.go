package floor

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// Placeholder is a text that no pattern holds literally: a pattern that matches
// everything after it matches everything.
const Placeholder = "\uFFFC"

// A Space says which paths a text with the marks of [paths.Set] stands for.
type Space struct {
	Below   bool   // with all that is below
	Within  bool   // a directory inside the project
	Visible bool   // hidden names are passed by
	Stars   bool   // AnyText stands for directories that are not hidden: `**`
	Tops    bool   // AnyText may stand for no directory at all: `**/x` is x, too
	Changes bool   // they are written or deleted
	Dir     string // of the call
}

// Meets tells whether a pattern may match one of the paths of a text, and whether it matches all of
// them.
func (s *Space) Meets(p *pattern.Pattern, text string) (may, must bool) {
	known := paths.Set{Text: text}.Known()
	must = p.MustMatch(known)
	if may = must || p.MayMeet(text, s.Below); !may && s.Tops {
		return p.MayMeet(atTop(text), s.Below), false
	}
	switch {
	case !may || must:
		return may, must
	case s.Within:
		return s.namesPlace(p, known), false
	case s.Visible && s.Below && !p.MayMeetAcross(text, "", false):
		return false, false
	case s.Stars && !starsMeet(p, text, s.Below):
		return false, false
	}
	return MayFind(p, text) || s.Changes && findsVisible(p, text, s.Below), false
}

// namesPlace tells whether a pattern is about a directory inside the project, not about names
// anywhere: `**/config/prod.yaml` names the directory config.
func (s *Space) namesPlace(p *pattern.Pattern, dir string) bool {
	other, file := s.elsewhere(dir), "/"+string(paths.AnyName)
	return !p.MayMeet(other, true) || p.MayMeet(dir+file, false) && !p.MayMeet(other+file, false)
}

// elsewhere returns a directory of the same project that does not exist: a rule that may meet it as
// well is about a name, not about the place that a set is in.
func (s *Space) elsewhere(text string) string {
	none := Placeholder + "/" + Placeholder
	switch {
	case strings.HasPrefix(text, "/"):
		return strings.TrimSuffix(s.Dir, "/") + "/" + none
	case strings.HasPrefix(text, "~/"):
		return "~/" + none
	}
	return none
}

// atTop returns the paths of text in which a leading AnyText stands for no directory: `**/.e*` is
// `.e*`, too.
func atTop(text string) string { return strings.TrimPrefix(text, string(paths.AnyText)+"/") }

// starsMeet tells whether a pattern may match a path of text in which AnyText stands for visible
// directories, as `**` does: `cat **/*.md` does not read .git/x.md.
func starsMeet(p *pattern.Pattern, text string, below bool) bool {
	before, after, ok := strings.Cut(text, string(paths.AnyText)+"/")
	if !ok || strings.IndexByte(after, paths.AnyText) >= 0 || before != "" && !strings.HasSuffix(before, "/") {
		return true
	}
	return p.MayMeet(before+after, below) || p.MayMeetAcross(before+anyVisible, "/"+after, below)
}

const anyVisible = string(paths.Visible) + string(paths.AnyName)

// findsVisible tells whether a pattern may match a file that a search by name finds in directories
// that are not hidden: `find . -name '*.ts' -delete` deletes src/a.ts, and means nothing of .git.
func findsVisible(p *pattern.Pattern, text string, below bool) bool {
	before, after, ok := strings.Cut(text, string(paths.AnyText)+"/")
	if ok && before != "" && !strings.HasSuffix(before, "/") && strings.IndexByte(after, paths.AnyText) < 0 {
		return p.MayMeetAcross(before, "/"+after, below)
	}
	return starsMeet(p, text, below)
}

// MayFind tells whether a rule that may meet a set is about a file that a search by name finds. A
// rule for all that is in a directory, such as `.git/**`, is not about the sources, `*.ts`, that are
// looked for around it, nor about package.json.
func MayFind(p *pattern.Pattern, text string) bool {
	i := strings.LastIndexByte(text, paths.AnyText)
	if i < 0 || i+3 >= len(text) || text[i+1] != '/' || strings.Count(text[i:], "/") > 1 {
		return true
	}
	if text[i+2] != paths.AnyName && !slices.Contains(words()["manifests"], text[i+2:]) {
		return true
	}
	p = p.Itself() // `config/prod.yaml` is also about files in a directory of that name
	return p.MayMeet(text, false) && !p.MayMeet(text[:i+2]+Placeholder, false)
}

// MayLeaveOut tells whether a pattern may be about some of a set of paths. Of all that is in a
// directory inside the project, which ends in one mark, it is so only if the pattern names a place
// there: copying a directory does not ask for every `*.pem` that a rule leaves out.
func MayLeaveOut(p *pattern.Pattern, text string) bool {
	if !Marked(text) || !p.MayMeet(text, false) || !MayFind(p, text) {
		return false
	}
	known := paths.Set{Text: text}.Known()
	inside := text[len(known):] == string(paths.AnyText) && strings.HasSuffix(known, "/")
	return !inside || !p.MayMeet(Placeholder+"/"+Placeholder+"/"+string(paths.AnyText), false)
}

// Marked tells whether a text has marks of [paths.Set].
func Marked(text string) bool {
	for i := range len(text) {
		if text[i] <= paths.ClassEnd {
			return true
		}
	}
	return false
}

// markBase is the first of the characters for private use that marks are hidden as.
const markBase = '\U000F0100'

// HideMarks writes the marks of a set as characters that a dialect takes for letters.
func HideMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= paths.ClassEnd {
			return markBase + r
		}
		return r
	}, text)
}

// ShowMarks undoes [HideMarks].
func ShowMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= markBase && r <= markBase+paths.ClassEnd {
			return r - markBase
		}
		return r
	}, text)
}

// Show writes a set for people, with a star for each part that is not known.
func Show(s paths.Set) string {
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

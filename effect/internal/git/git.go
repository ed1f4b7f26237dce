// Package git reads the words of git's command line.
//
// It owns pathspecs, ranges of commits and settings (kb/gitwords.kb). It knows no working tree and
// has no effects: package effect asks it how much of a repository a command shows.
package git

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

var (
	runs     = kb.Table("!git-runs")
	harmless = kb.Table("!git-harmless")
	// NamesOnly has flags that print which files were changed, not how.
	NamesOnly = kb.Table("!git-changes")
	patches   = kb.Table("!git-patches")
	diffs     = kb.Table("!git-diffs")
	objects   = kb.Table("!git-objects")
)

// Words returns a command of git.
func Words(args ...string) []shell.Word {
	out := []shell.Word{{Text: "git", Known: true}}
	for _, a := range args {
		out = append(out, shell.Word{Text: a, Known: true})
	}
	return out
}

// Runs reports whether a setting names a program that git runs, or where such settings are read from.
func Runs(setting string) bool { return runs().Has(setting) }

// Harmless reports whether a setting of the command line makes git run nothing. With
// `core.hooksPath=/dev/null` there are no hooks.
func Harmless(setting, value string) bool {
	return harmless().Has(setting) || setting == "core.hookspath" && value == "/dev/null"
}

var shows = sync.OnceValue(func() map[string]*kb.Sections {
	out := map[string]*kb.Sections{}
	for b := range kb.Find("!git-shows") {
		s, _ := ParseShows(b.Body)
		for name := range strings.FieldsSeq(b.Head[len("!git-shows"):]) {
			out[name] = s
		}
	}
	return out
})

// ParseShows reads a block of the table `!git-shows`.
func ParseShows(body string) (*kb.Sections, error) {
	return kb.ReadSections(body, map[string]string{"with": "", "without": "", "sub": "", "changes": "", "history": ""})
}

// Shows returns when a subcommand prints the content of all tracked files, nil if it never does.
func Shows(sub string) *kb.Sections { return shows()[sub] }

// Untracked reports whether a flag makes git compare files that it does not track, with all that is below.
func Untracked(flag string) bool { return flag == "--no-index" }

// Diffs reports whether a subcommand shows changes, and not whole files.
func Diffs(sub string) bool { return diffs().Has(sub) }

// Patches reports whether words behind a subcommand make git show how files were changed, or may: a flag is not known.
func Patches(sub string, args []shell.Word) bool {
	if sub == "format-patch" {
		return true
	}
	return slices.ContainsFunc(args, func(w shell.Word) bool {
		shape := w.Shape()
		mayBeFlag := shape == "" || shape[0] == '-' || strings.HasPrefix(shape, shell.Unknown)
		return !w.Known && mayBeFlag || patches().Has(w.Text)
	})
}

// Objects reports whether a text makes git print the names of objects which are no commits.
func Objects(source string) bool {
	return objects().In(source) || strings.Contains(source, "ls-files -s") || strings.Contains(source, "ls-files --stage")
}

// IsRange reports whether a word is two revisions, `v1..HEAD`.
func IsRange(t string) bool {
	return strings.Contains(t, "..") && !strings.HasPrefix(t, "../") && !strings.Contains(t, "/..")
}

// NamesAll reports whether a word of `git add` stands for files of any name: `-Av`, `.`, `src/..`, "$PWD".
func NamesAll(w shell.Word) bool {
	t, _, _ := strings.Cut(w.Text, "=")
	switch t {
	case "":
		return strings.Contains(w.Raw, "PWD")
	case "--all", "--force", "--pathspec-from-file":
		return true
	}
	if strings.HasPrefix(t, ":") || strings.Contains(w.Raw, "PWD") {
		return true
	}
	if letters := word.Letters(t); letters != "" {
		return strings.ContainsAny(letters, "Af")
	}
	clean := path.Clean(t)
	return clean == "." || clean == "*" || strings.HasPrefix(clean, "..")
}

// AddsAll reports whether a command puts files of any name under git's control: `git add -A`.
func AddsAll(words []shell.Word) bool {
	at := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "add" || w.Text == "stage" })
	return at > 0 && words[0].Text == "git" && slices.ContainsFunc(words[at+1:], NamesAll)
}

// ListsBranches reports whether git prints names of branches, none of which begins with a dash.
func ListsBranches(words []shell.Word) bool {
	if len(words) < 3 || words[0].Text != "git" || words[1].Text != "branch" {
		return false
	}
	for i := range words[2:] {
		switch w := &words[2+i]; {
		case !w.Known:
			return false
		case w.Text == "-r" || w.Text == "-a" || w.Text == "--list":
		case strings.HasPrefix(w.Text, "--merged") || strings.HasPrefix(w.Text, "--no-merged"):
		case i > 0 && !word.IsFlag(w.Text): // `--merged main`
		default:
			return false
		}
	}
	return true
}

// ListsHistory reports whether git prints the names of all commits. Of those, head takes some of the last.
func ListsHistory(words []shell.Word, head bool) bool {
	if len(words) < 2 || words[0].Text != "git" || words[1].Text != "rev-list" && words[1].Text != "log" {
		return false
	}
	first := slices.ContainsFunc(words, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "--max-parents") || w.Text == "--reverse"
	})
	return AllHistory(words[2:]) && (first || !head)
}

// AllHistory reports whether git goes through all commits, with the first, in which every file is new:
// `git log -p` without a number, a range or a date, or with ones that leave nothing out.
func AllHistory(words []shell.Word) bool {
	for i := range words {
		t := words[i].Text
		name, value, attached := strings.Cut(t, "=")
		switch {
		case name == "--max-parents":
			return true
		case limits(&words[i]):
			return false
		case t == "-n" || strings.HasPrefix(name, "--max-c") || name == "--since" || name == "--after":
			if !attached && i+1 < len(words) {
				value = words[i+1].Text
			}
		case word.IsFlag(t) && word.AllDigits(strings.TrimPrefix(t[1:], "n")):
			value = strings.TrimPrefix(t[1:], "n")
		default:
			continue
		}
		return large(value)
	}
	return true
}

// ListsFirst reports whether a text makes git list the first commit among others.
func ListsFirst(source string) bool {
	return strings.Contains(source, "--max-parents") || strings.Contains(source, "rev-list --all") ||
		strings.Contains(source, "--reverse")
}

// limits reports whether a word leaves the first commits out: `v1..HEAD`, `^main`, `-L 1,5:f`.
func limits(w *shell.Word) bool {
	t := w.Text
	return IsRange(word.Or(t, w.Shape())) || t == "--not" || strings.HasPrefix(t, "--no-walk") ||
		strings.HasPrefix(t, "^") || strings.HasPrefix(t, "-L")
}

// large reports whether a number of commits, or a date, leaves little out: not `20`, `2025-01-01`.
func large(value string) bool {
	year := len(value) > 4 && value < "2020" && word.AllDigits(value[:4])
	return year || word.AllDigits(value) && len(value) > 2 || strings.Contains(value, "year")
}

// EmptyTree reports whether a word is the name of the tree without files, by which a diff shows whole files.
func EmptyTree(t string) bool {
	return strings.HasPrefix(t, "4b825dc") || strings.HasPrefix(t, "6ef19b4")
}

// A Pathspec is git's way to name tracked files.
type Pathspec struct {
	Text    string
	Top     bool // from the top of the working tree
	Exclude bool // all but these
	Fold    bool // without regard to case
	Literal bool // no pattern
}

// ReadPathspec reads `:(top,icase)x`, `:/x`, `:!x` or a plain path; magic is false for the last.
func ReadPathspec(t string) (spec Pathspec, magic bool) {
	if inner, ok := strings.CutPrefix(t, ":("); ok {
		words, rest, _ := strings.Cut(inner, ")")
		has := func(magic string) bool { return kb.HasWord(words, magic, ',') }
		return Pathspec{rest, has("top"), has("exclude"), has("icase"), has("literal")}, true
	}
	if spec.Text = t; len(t) < 2 || t[0] != ':' || strings.IndexByte("/!^", t[1]) < 0 {
		return spec, false
	}
	for spec.Text = t[1:]; spec.Text != "" && strings.IndexByte("/!^", spec.Text[0]) >= 0; spec.Text = spec.Text[1:] {
		spec.Top = spec.Top || spec.Text[0] == '/'
		spec.Exclude = spec.Exclude || spec.Text[0] != '/'
	}
	spec.Text = strings.TrimPrefix(spec.Text, ":")
	return spec, true
}

package effect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// patched gives `git apply` and `patch` the files that the patch names, where its text is known: from a here-document, or from a
// file that the command itself writes. It reports whether that is so.
func (c *call) patched() bool {
	in, known := inputOf(c.f.script, c.f.at)
	text := in.Text
	for _, i := range c.ops() {
		if w := &c.words[i]; w.Text != "-" || !w.Known {
			text, known = c.a.writtenText(c.f.dir, w)
		}
	}
	strip, flags := c.patchFlags()
	if !known || !flags || len(c.ops()) > 1 || c.name != "git" && len(c.ops()) > 0 || c.f.otherRepo || !c.a.afford(len(text)/bytesOfWork) {
		return false
	}
	names, ok := patchNames(text, strip)
	dir, top := c.f.dir, c.a.worktree(c.f.dir)
	if !ok || slices.ContainsFunc(names, func(name string) bool { return c.a.isLink(dir, name) || c.a.isLink(top, name) }) {
		return false
	}
	moves := strings.Contains(text, "\nrename from ") || strings.Contains(text, "\ncopy from ")
	for _, at := range [...]string{dir, top} { // git takes the names from the top, patch from here
		for _, name := range names {
			c.f.dir = at
			w := shell.Word{Text: name, Raw: name, Known: true, Span: c.words[0].Span}
			if c.changeFile(Write, &w); moves {
				c.readFile(&w, true)
			}
		}
		if c.f.dir = dir; c.name != "git" || at == top {
			break
		}
	}
	return true
}

// isLink reports whether a file is a link, of which a patch would change where it leads.
func (a *analyzer) isLink(dir, name string) bool {
	if a.opts.FS == nil {
		return false
	}
	_, link := a.opts.FS.Readlink(a.resolve(dir, &shell.Word{Text: name, Known: true}).Abs)
	return link
}

// patchFlags returns how many directories -p takes off a name, and whether all other flags leave the names alone.
func (c *call) patchFlags() (strip int, ok bool) {
	if strip = -1; c.name == "git" {
		strip = 1
	}
	for i := 1; i < len(c.words); i++ {
		switch w := &c.words[i]; {
		case !w.Known:
			return 0, false
		case len(w.Text) == 3 && w.Text[:2] == "-p" && w.Text[2] >= '0' && w.Text[2] <= '9':
			strip = int(w.Text[2] - '0')
		case isFlag(w.Text) && !hasWord(" -R --reverse -v --verbose -3 --3way --index --cached --recount -N --forward -s --quiet --silent -f --force -t --batch --dry-run ", w.Text, ' '):
			return 0, false
		}
	}
	return strip, strip >= 0
}

// writtenText returns what the command itself writes into a file, if all of that is known.
func (a *analyzer) writtenText(dir string, file *shell.Word) (string, bool) {
	p := a.resolve(dir, file)
	var text string
	ok := false
	for _, w := range a.writes {
		e := &a.an.Effects[w.effect]
		if !same(e, &Effect{Kind: Read, Raw: file.Text, Path: p.Abs, Real: p.Real}) || a.keeps(e) {
			continue
		}
		if text != "" || appended(&w, a.wordsOf(e)) || slices.ContainsFunc(a.an.Effects[w.effect+1:], mayReplace) {
			return "", false
		}
		if text, ok = a.textOf(&w, a.wordsOf(e)); !ok {
			return "", false
		}
	}
	return text, ok
}

// appended reports whether what is written may follow other text that is in the file already.
func appended(w *written, words []shell.Word) bool {
	return w.script == nil || w.at >= len(w.script.Commands) || slices.ContainsFunc(w.script.Commands[w.at].Redirects, func(r shell.Redirect) bool { return strings.HasSuffix(r.Op, ">>") }) ||
		slices.ContainsFunc(words[min(1, len(words)):], func(w shell.Word) bool { return isFlag(w.Text) })
}

// mayReplace reports whether files are written of which it is not said which they are: `tar xf x.tar`.
func mayReplace(e Effect) bool { return e.Kind == Write && (e.Unnamed || e.Recursive) && !e.Harmless }

// addedLines returns the lines that a patch puts into files.
func addedLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if added, ok := strings.CutPrefix(line, "+"); ok {
			b.WriteString(added + "\n")
		}
	}
	return b.String()
}

// patchNames returns the files that a unified diff changes. Every line of it has to be understood: `patch` takes a list of
// editor's commands for a patch, too, and a link in one would lead the next file elsewhere.
func patchNames(text string, strip int) (names []string, ok bool) {
	var before, after int // lines that are left of a hunk
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case before > 0 || after > 0:
			if line == "" {
				line = " "
			}
			switch line[0] {
			case ' ':
				before, after = before-1, after-1
			case '-':
				before--
			case '+':
				after--
			case '\\':
			default:
				return nil, false
			}
		case word == "---" || word == "+++" || word == "rename" || word == "copy":
			if word == "rename" || word == "copy" { // `rename to x` has no a/ before the name
				_, rest, _ = strings.Cut(rest, " ")
				rest = strings.Repeat("a/", strip) + rest
			}
			name, _, _ := strings.Cut(rest, "\t")
			if names, ok = stripped(names, name, strip); !ok {
				return nil, false
			}
		case word == "diff":
			both := strings.Split(strings.TrimPrefix(rest, "--git "), " ")
			if len(both) != 2 || !strings.HasPrefix(rest, "--git ") {
				return nil, false
			}
			for _, name := range both { // which count where nothing else names the file: of one that is empty, or gets another mode
				if names, ok = stripped(names, name, strip); !ok {
					return nil, false
				}
			}
		case word == "@@":
			if before, after, ok = hunk(rest); !ok || len(names) == 0 {
				return nil, false
			}
		case word == "similarity" || line == "" || strings.HasPrefix(line, `\ No newline`):
		case word == "index" && !strings.Contains(rest, " "):
		case hasWord(" old new deleted index ", word, ' ') && (strings.HasSuffix(line, " 100644") || strings.HasSuffix(line, " 100755")): // `new file mode 100644`, not that of a link
		default:
			return nil, false
		}
	}
	return names, before == 0 && after == 0 && len(names) > 0
}

// stripped adds a name of a patch without the directories that -p takes off.
func stripped(names []string, name string, strip int) ([]string, bool) {
	if name == "/dev/null" {
		return names, true
	}
	if name == "" || name[0] == '/' || strings.ContainsAny(name, "\" \t\r\\") || strings.Contains(name, "//") {
		return nil, false
	}
	for range strip {
		_, name, _ = strings.Cut(name, "/")
	}
	return append(names, name), name != ""
}

// hunk reads the numbers of lines in `-1,4 +1,5 @@ func f()`.
func hunk(s string) (before, after int, ok bool) {
	var counts [2]int
	for i, sign := range [...]byte{'-', '+'} {
		var part string
		part, s, _ = strings.Cut(s, " ")
		if part == "" || part[0] != sign {
			return 0, 0, false
		}
		counts[i] = 1
		if _, n, given := strings.Cut(part, ","); given {
			if _, err := fmt.Sscanf(n, "%d", &counts[i]); err != nil || !allDigits(n) {
				return 0, 0, false
			}
		}
	}
	return counts[0], counts[1], strings.HasPrefix(s, "@@")
}

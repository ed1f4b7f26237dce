package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// standardDir reports whether the programs of the knowledge base live in a directory. A program
// in another place has the name but is not known to be the program.
func standardDir(dir string) bool { return standardDirs().Has(dir) }

var (
	standardDirs = kb.Table("!standard-dirs")
	gnuNames     = kb.Table("!gnu")
)

// programName returns the base name of a program and whether it is found on the usual
// search path or lies in a standard directory.
func programName(p string) (string, bool) {
	p = strings.TrimPrefix(p, "=") // zsh's `=rm` is /bin/rm
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return p, true
	}
	if direct(p) != p { // where it leads depends on links
		return p[i+1:], false
	}
	dir := path.Clean(p[:i+1])
	return p[i+1:], standardDir(dir)
}

// ProgramName returns the name of a program that is found on the usual search path or lies in a standard directory, rm
// of /bin/rm; "" of another.
func ProgramName(path string) string {
	if name, ok := programName(path); ok {
		return name
	}
	return ""
}

// MaxSets is how many of a command's variables are looked at one by one; Sets has one more where there are more.
const MaxSets = 32

// addCommand appends a Command for words and returns its index.
func (a *analyzer) addCommand(words []shell.Word, assigns []shell.Assign, f *frame) int {
	at := Standing{Via: f.via, Dir: f.dir, owner: f.owner}
	a.an.Commands = append(a.an.Commands, Command{Words: words, Path: words[0].Text, Standing: at})
	c := &a.an.Commands[len(a.an.Commands)-1]
	c.Span = f.span(shell.Span{Start: words[0].Span.Start, End: words[len(words)-1].Span.End})
	if words[0].Known && !words[0].Glob {
		c.Program, _ = programName(words[0].Text)
	}
	if f.script != nil && f.at >= 0 && f.at < len(f.script.Commands) {
		c.Nest = f.script.Commands[f.at].Nest
	}
	c.Text, c.Prefix, c.Known = canonical(words, f.source)
	if !c.Known && len(words) == 2 && f.script != nil && a.dict.evaluates(c.Program) {
		c.Known = f.script.PrintsSetup(words[1].Raw)
	}
	if alt := plainName(c.Program); alt != c.Path && c.Program != "" {
		if alt += c.Text[min(len(standardName(&words[0])), len(c.Text)):]; alt != c.Text {
			c.Alts = append(c.Alts, alt)
		}
	}
	if written := c.Written(); written != "" {
		c.Alts = append(c.Alts, written)
	}
	if c.Around() && c.Program != "" {
		c.Alts = append(c.Alts, direct(c.Path)+c.Text[min(len(standardName(&words[0])), len(c.Text)):])
	}
	for i := range assigns {
		if assigns[i].Span.Start < words[0].Span.Start { // not those of `export A=b`
			c.Env = append(c.Env, assigns[i].Name)
			if value := &assigns[i].Value; value.Known && !assigns[i].Append && len(c.Sets) <= MaxSets {
				c.Sets = append(c.Sets, assigns[i].Name+"="+quoted(value))
			}
			if !f.pinned { // else the span is the whole text's around it
				c.Set = f.span(shell.Span{Start: assigns[0].Span.Start, End: assigns[i].Span.End})
			}
		}
	}
	return len(a.an.Commands) - 1
}

// maxName is the longest name that a file can have.
const maxName = 255

// plainName is the program's name in rules: without .exe, in lower case.
func plainName(name string) string {
	if len(name) > maxName {
		return name
	}
	if n := len(name) - 4; n > 0 && strings.EqualFold(name[n:], ".exe") {
		name = name[:n]
	}
	if len(name) > 2 && name[0] == 'g' && gnuNames().Has(name) {
		return name[1:] // GNU's, as macOS has it
	}
	return strings.ToLower(name)
}

// canonical joins words with one blank, quoted where a shell would need it. prefix is
// the certain part of the text.
func canonical(words []shell.Word, source string) (text, prefix string, known bool) {
	if t, ok := asWritten(words, source); ok {
		return t, t, true
	}
	var b strings.Builder
	n := 0
	for i := range words {
		n += max(len(words[i].Text), len(words[i].Raw)) + 3
	}
	b.Grow(n)
	cut := -1
	for i := range words {
		w := &words[i]
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case !w.Known && cut < 0 && !strings.ContainsAny(w.Text, "'\"`\\$"):
			b.WriteString(w.Text)
			cut = b.Len()
			b.WriteString(strings.TrimPrefix(w.Raw, w.Text))
		case !w.Known && cut < 0: // without its quotes, a part of `echo "it's $x"` would not end
			cut = b.Len()
			b.WriteString(w.Raw)
		case !w.Known:
			b.WriteString(w.Raw)
		case i == 0:
			b.WriteString(standardName(w))
		default:
			b.WriteString(quoted(w))
		}
	}
	if text = b.String(); cut < 0 {
		return text, text, true
	}
	return text, text[:cut], false
}

// standardName writes a program in a standard directory by its name alone: `/bin/rm` is rm.
func standardName(w *shell.Word) string {
	if name, ok := programName(w.Text); ok && !w.Glob && name != "" {
		return name
	}
	return quoted(w)
}

// Around tells whether a command's program is given by a way around, ./bin/../x: a rule for ./bin/* is not about it,
// nor is one for ./x, since bin may be a link.
func (c *Command) Around() bool { return direct(c.Path) != c.Path }

// direct returns the path of a program without ways around: ./x of ./bin/../x.
func direct(p string) string {
	if !strings.Contains(p, "/../") {
		return p
	}
	way := path.Clean(p)
	switch {
	case p[0] == '~' && way[0] != '~': // the home's own directory
		return p
	case strings.HasPrefix(p, "./") && way[0] != '.', !strings.Contains(way, "/"):
		return "./" + way
	}
	return way
}

// asWritten returns the source text of the words if it is canonical already.
func asWritten(words []shell.Word, source string) (string, bool) {
	first, last := words[0].Span, words[len(words)-1].Span
	if source == "" || last.End > len(source) || first.Start < 0 || words[0].Text == "" || words[0].Text[0] == '/' {
		return "", false
	}
	at := first.Start
	for i := range words {
		w := &words[i]
		if i > 0 {
			if at >= len(source) || source[at] != ' ' {
				return "", false
			}
			at++
		}
		if !w.Known || w.Text == "" || w.Span.Start != at || w.Span.End-at != len(w.Text) || source[at:w.Span.End] != w.Text {
			return "", false
		}
		at = w.Span.End
	}
	return source[first.Start:last.End], true
}

// quoted is the word as a shell would need it to be written.
func quoted(w *shell.Word) string {
	if w.Glob || w.Tilde || word.Plain(w.Text) {
		return w.Text
	}
	return "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
}

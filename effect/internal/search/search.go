// Package search reads command lines that print names of files: `find src -name '*.go'`, `grep -rl x`.
//
// It owns the tables of listers (kb/listers.kb) and the reading of words by them. It resolves no
// path and has no effects: package effect asks it where a search begins and which names it takes.
package search

import (
	"iter"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// sections are the keywords of a lister's block, and behind some of them their own.
var sections = map[string]string{
	"prints": "always letters of sub", "refuses": "", "name": "", "fold": "", "extension": "", "or": "", "not": "",
	"until": "", "operands": "", "starts": "", "prefixed": "", "files": "always", "links": "letters",
	"hidden": "always letters", "only": "", "visible": "but letters before globs",
	"letters": "", "numbers": "", "flag": "", "sub": "",
}

// A Lister says how a program prints names of files. A nil Lister prints none.
type Lister struct{ *kb.Sections }

// Parse reads the body of a block.
func Parse(body string) (*Lister, error) {
	s, err := kb.ReadSections(body, sections)
	return &Lister{s}, err
}

func (l *Lister) given(section string) bool { return l != nil && l.Given(section) }

func (l *Lister) has(section, w string) bool { return l != nil && l.Has(section, w) }

// Prints reports whether a command prints nothing but names of files that are there.
func (l *Lister) Prints(words []shell.Word) bool {
	if l == nil || !l.printsSub(words) {
		return false
	}
	names := l.given("prints always") || l.given("prints sub")
	for i := range words[1:] {
		t := words[1+i].Text
		flag, _, _ := strings.Cut(t, "=")
		if l.has("refuses", t) || l.has("refuses", flag) {
			return false // it prints other things, or begins elsewhere
		}
		names = names || l.has("prints", flag) || l.printsLetters(word.Letters(t))
	}
	return names
}

// printsSub reports whether the subcommand is one that prints names: `git diff --name-only`.
func (l *Lister) printsSub(words []shell.Word) bool {
	if !l.given("prints sub") {
		return true
	}
	return len(words) > 1 && l.Pair("prints sub", words[1].Text, func(flag string) bool {
		return flag == "" || slices.ContainsFunc(words[2:], func(w shell.Word) bool { return w.Text == flag })
	})
}

// printsLetters reports whether letters that take no value make a search print names: `grep -rlZ`.
func (l *Lister) printsLetters(letters string) bool {
	l1, of := l.Text("prints letters"), l.Text("prints of")
	return letters != "" && of != "" && strings.Contains(letters, l1) && strings.Trim(letters, of) == ""
}

// Name returns the one pattern of names that a search takes; "" if there are several or none, or if
// they are turned round. Only words before the first action count, and of a pattern without regard
// to case the letters are left open.
func (l *Lister) Name(words []shell.Word) string {
	name := ""
	for i := 1; i < len(words) && l != nil; i++ {
		t := words[i].Text
		switch {
		case !words[i].Known, l.has("or", t):
			return ""
		case l.has("until", t):
			return name
		case l.has("not", t): // which leaves less
			if i++; i+1 < len(words) && word.IsFlag(words[i].Text) && !word.IsFlag(words[i+1].Text) {
				i++
			}
			continue
		}
		value, used := l.nameAt(words, i)
		if used == 0 {
			continue
		}
		i += used - 1
		if name != "" || value == "" || value[0] == '!' || strings.Contains(value, "/") {
			return ""
		}
		name = value
	}
	return name
}

// nameAt returns the pattern of names that word i gives, and how many words that are; "" of a
// pattern that is known only at run time.
func (l *Lister) nameAt(words []shell.Word, i int) (value string, used int) {
	t := words[i].Text
	flag, attached, ok := strings.Cut(t, "=")
	next := func() string {
		if i+1 < len(words) && words[i+1].Known {
			return words[i+1].Text
		}
		return ""
	}
	switch {
	case l.has("name", t):
		return next(), 2
	case l.has("fold", t):
		return paths.AnyCase(next()), 2
	case l.has("extension", t) && next() != "":
		return "*." + next(), 2
	case ok && l.has("name", flag):
		return attached, 1
	case i > 1 && !word.IsFlag(t) && l.Pair("operands", words[1].Text, func(before string) bool {
		return before == "" || words[i-1].Text == before
	}):
		return t, 1
	}
	return "", 0
}

// Searches reports whether a program takes a pattern of names and looks into the files: grep.
func (l *Lister) Searches() bool { return l.given("name") && l.given("prints letters") }

// FilesOnly reports whether a search passes links by: `find . -type f`, but not with an alternative
// or with -L, and `grep -r`.
func (l *Lister) FilesOnly(words []shell.Word) bool {
	files := l.given("files always")
	for i := 0; i < len(words) && l != nil; i++ {
		t := words[i].Text
		if l.has("links", t) || strings.ContainsAny(word.Letters(t), l.Text("links letters")) {
			return false
		}
		if i+1 < len(words) && words[i+1].Known {
			files = files || l.Pair("files", t, func(v string) bool { return v == words[i+1].Text })
		}
	}
	return files
}

// All reports whether a listing has files of every name, hidden ones, too: `find . -type f`, `ls -A`.
func (l *Lister) All(words []shell.Word) bool {
	if l == nil {
		return false
	}
	hidden := l.given("hidden always")
	for i := range words[1:] {
		t := words[1+i].Text
		if !words[1+i].Known || l.has("only", t) {
			return false
		}
		hidden = hidden || strings.ContainsAny(word.Letters(t), l.Text("hidden letters"))
	}
	return hidden
}

// VisibleOnly reports whether a search passes hidden files by, as `rg` does unless it is told.
func (l *Lister) VisibleOnly(words []shell.Word) bool {
	if !l.given("visible") {
		return false
	}
	letters := l.Text("visible letters")
	for i := range words {
		t := words[i].Text
		if !words[i].Known || l.has("visible but", t) || l.hiddenGlob(words[i:]) {
			return false
		}
		run := word.Letters(t) // the rest of `-g*.rs` is a value
		at := strings.IndexAny(run, letters+l.Text("visible before"))
		if at >= 0 && strings.IndexByte(letters, run[at]) >= 0 {
			return false
		}
	}
	return true
}

// hiddenGlob reports whether the first of some words begins a pattern which hidden files may have,
// that are searched then: `-g '*'`, `--glob=.env`. One for files like `*.ts` is not such a pattern.
func (l *Lister) hiddenGlob(words []shell.Word) bool {
	t, glob := words[0].Text, ""
	for _, flag := range l.Words("visible globs") {
		rest, ok := strings.CutPrefix(t, flag)
		switch {
		case !ok:
		case rest == "" && len(words) > 1:
			glob = words[1].Text
		case len(flag) == 2:
			glob = strings.TrimPrefix(rest, "=")
		case strings.HasPrefix(rest, "="):
			glob = rest[1:]
		}
	}
	if glob == "" || glob[0] == '!' {
		return false
	}
	name := glob[strings.LastIndexByte(strings.TrimRight(glob, "/"), '/')+1:]
	ext, isExt := strings.CutPrefix(name, "*.")
	if !isExt {
		return name[0] > 127 || !word.IsByte(name[0])
	}
	for part := range strings.SplitSeq(strings.Trim(ext, "{}"), ",") {
		if len(part) > 4 || strings.EqualFold(part, "env") || !word.IsName(part) {
			return true
		}
	}
	return false
}

// Starts returns the places that a listing begins at: of find the words before its expression, of
// grep those behind the text that it looks for.
func (l *Lister) Starts(words []shell.Word) (out []shell.Word) {
	if l == nil {
		return nil
	}
	way := ""
	if how := l.Words("starts"); len(how) > 0 {
		way = how[0]
	}
	skip := way == "after-pattern"
	for i := range words[1:] {
		switch w := &words[1+i]; {
		case skip && l.has("starts", w.Text):
			skip = false
		case way == "before-expression" && len(out) > 0 && (word.IsFlag(w.Text) || w.Text == "(" || w.Text == "!"):
			return out
		case word.IsFlag(w.Text), way == "none":
		case skip:
			skip = false
		default:
			out = append(out, *w)
		}
	}
	return out
}

// Prefixed reports whether the names that are printed begin with the places that a search begins at,
// so that none begins with a dash.
func (l *Lister) Prefixed() bool { return l.given("prefixed") }

// Listers has the tables of listers.kb.
type Listers struct{ listers, selects, columns map[string]*Lister }

// Compile reads the tables `!lister`, `!selects` and `!column`. Parse says where one is wrong.
func Compile(find func(name string) iter.Seq[kb.Block]) *Listers {
	read := func(table string) map[string]*Lister {
		out := map[string]*Lister{}
		for b := range find(table) {
			l, _ := Parse(b.Body)
			for name := range strings.FieldsSeq(b.Head[len(table):]) {
				out[name] = l
			}
		}
		return out
	}
	return &Listers{read("!lister"), read("!selects"), read("!column")}
}

// Of returns the lister of a program, nil if it is none.
func (t *Listers) Of(program string) *Lister { return t.listers[program] }

// Selects reports whether a command prints some of the lines that it reads, and nothing else:
// `head -20`, `grep -v test`.
func (t *Listers) Selects(words []shell.Word) bool {
	if len(words) == 0 || !words[0].Known {
		return false
	}
	l, operands := t.selects[words[0].Text], 0
	if l == nil {
		return false
	}
	for i := range words[1:] {
		w := words[1+i].Text
		switch letters := word.Letters(w); {
		case !words[1+i].Known || strings.HasPrefix(w, "--"):
			return false
		case letters != "":
			if strings.Trim(letters, l.Text("letters")) != "" {
				return false
			}
		case word.AllDigits(w) && l.given("numbers"): // `head -n 20`
		default:
			operands++
		}
	}
	return operands <= len(l.Words("operands"))
}

// Extension returns the pattern of names that a selection leaves: of `grep '\.go$'` it is *.go.
func (t *Listers) Extension(words []shell.Word) string {
	if len(words) != 2 || !t.selects[words[0].Text].given("operands") {
		return ""
	}
	ext, ok := strings.CutPrefix(words[1].Text, `\.`)
	if ext, end := strings.CutSuffix(ext, "$"); ok && end && ext != "" && word.IsName(ext) {
		return "*." + ext
	}
	return ""
}

var otherColumn = kb.Table("!column-not")

// Column returns words that print only the first column of a table: `docker ps -q` for `docker ps`.
func (t *Listers) Column(words []shell.Word) []shell.Word {
	l := t.columns[words[0].Text]
	other := func(w shell.Word) bool { return otherColumn().Has(w.Text) }
	if l == nil || len(words) < 2 || slices.ContainsFunc(words, other) {
		return nil
	}
	if l.given("sub") && !l.has("sub", words[1].Text) {
		return nil
	}
	return append(words[:len(words):len(words)], shell.Word{Text: l.Text("flag"), Known: true})
}

// FirstColumn reports whether awk prints the first word of lines, and nothing else: `/web/ {print $1}`.
func FirstColumn(program string) bool {
	condition, action, ok := strings.Cut(program, "{")
	if !ok || strings.Join(strings.Fields(action), " ") != "print $1}" {
		return false
	}
	condition = strings.TrimSpace(condition)
	if condition == "" || condition == "NR>1" {
		return true
	}
	inside := strings.Trim(condition, "/")
	return condition[0] == '/' && inside == condition[1:max(len(condition)-1, 1)] && word.Plain(inside)
}

var (
	about    = kb.Table("!lists")
	gitAbout = kb.Table("!lists-git")
)

// About reports whether a command's output is about files that are there: `ls`, `git status`.
func About(program string, args []shell.Word) bool {
	if about().Has(program) {
		return true
	}
	return program == "git" && slices.ContainsFunc(args, func(w shell.Word) bool { return gitAbout().Has(w.Text) })
}

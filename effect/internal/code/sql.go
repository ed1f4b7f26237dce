package code

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
)

// The tables of words are in kb/data.kb.
var (
	sqlChanges  = kb.Table("!sql-changes")
	sqlRefused  = kb.Table("!sql-refused")
	sqlReads    = kb.Table("!sql-reads")
	sqlWithin   = kb.Table("!sql-within")
	sqlParen    = kb.Table("!sql-paren")
	sqlName     = kb.Table("!sql-name")
	sqlCode     = kb.Table("!sql-code")
	sqlOutside  = kb.Table("!sql-outside")
	sqlDeletes  = kb.Table("!sql-deletes")
	sqlCommands = kb.Table("!sql-commands")
)

// SQL returns "" if every statement of a text only reads, the first verb that changes something, or
// "?" if the text is not understood.
func SQL(text string) string {
	r := sqlReader{text: text}
	return r.read()
}

// Deletes reports whether a verb that SQL returns takes data away.
func Deletes(verb string) bool { return sqlDeletes().Has(verb) }

// MetaCommand recognises clients' own commands that only show something: \dt, .tables.
func MetaCommand(s string) bool {
	if strings.ContainsAny(s, "\n|`;'\"!") {
		return false
	}
	name, _, _ := strings.Cut(s, " ")
	return sqlCommands().Has(name)
}

// CopyFile reads psql's `\copy t to 'a.csv' csv` and returns the file that it writes, or reads.
func CopyFile(text string) (file string, writes, ok bool) {
	rest, ok := strings.CutPrefix(text, `\copy `)
	from, file, found := strings.Cut(rest, " '")
	file, options, ends := strings.Cut(file, "'")
	if !ok || !found || !ends || strings.Contains(strings.ToLower(rest), "program") {
		return "", false, false
	}
	if strings.ContainsAny(from+options, "\n'\"`\\$") {
		return "", false, false
	}
	writes = strings.HasSuffix(strings.ToLower(from), " to")
	return file, writes, writes || strings.HasSuffix(strings.ToLower(from), " from")
}

// sqlReader tells whether SQL text only selects. Comments, escapes and dollar quotes, which
// databases read in different ways, make it give up, and so does every function that it does
// not know to be harmless.
type sqlReader struct {
	text string
	at   int
}

// A statement is the part of an SQL text up to its semicolon.
type statement struct {
	verb         string // its first word, "" before that
	before, last string // the last two words, last is "" behind a sign
}

func (r *sqlReader) read() string {
	if strings.ContainsAny(r.text, "\\$`#@{") || strings.Contains(r.text, "--") || strings.Contains(r.text, "/*") {
		return "?"
	}
	harm, st := "", statement{}
	for r.at < len(r.text) {
		switch ch := r.text[r.at]; {
		case ch == ';':
			r.at++
			st = statement{}
		case ch == '\'' || ch == '"':
			from := r.at + 1
			if !r.quoted(ch) {
				return "?"
			}
			if st.before, st.last = st.last, ""; ch == '"' { // `"readfile"('.env')` is a call, too
				st.last = strings.ToUpper(r.text[from : r.at-1])
			}
		case word.IsByte(ch):
			verb := st.word(strings.ToUpper(r.word()))
			if verb == "?" {
				return "?"
			}
			harm = word.Or(harm, verb)
		case ch == '(':
			if r.calls(&st, harm != "") {
				return "?"
			}
			r.at++
			st.last = ""
		default:
			r.at++
			if ch > ' ' {
				st.last = ""
			}
		}
	}
	return harm
}

// word takes the next word of a statement: "" if it only reads, the verb if it changes something,
// "?" if it is not understood.
func (st *statement) word(w string) string {
	first := st.verb == ""
	verb := sqlVerb(w, first)
	if first {
		st.verb = w
	}
	if runsOutside(st.verb, st.last, w) {
		return "?"
	}
	if verb == "?" && sqlWithin().Has(st.verb+":"+w) { // `insert into`
		verb = ""
	}
	st.before, st.last = st.last, w
	return verb
}

// calls reports whether the parenthesis at the current place calls a function that is not known to be harmless.
func (r *sqlReader) calls(st *statement, changes bool) bool {
	if strings.HasSuffix(strings.TrimRight(r.text[:r.at], " \t\n"), "]") { // `[readfile]('.env')`
		return true
	}
	if st.last == "" || sqlParen().Has(st.last) {
		return false
	}
	return !changes || sqlOutside().Has(st.last) && !sqlName().Has(st.before)
}

func (r *sqlReader) quoted(q byte) bool {
	for r.at++; r.at < len(r.text); r.at++ {
		if r.text[r.at] == q {
			r.at++
			return true
		}
	}
	return false
}

func (r *sqlReader) word() string {
	start := r.at
	for r.at < len(r.text) && word.IsByte(r.text[r.at]) {
		r.at++
	}
	return r.text[start:r.at]
}

// sqlVerb judges a word: as the first of a statement, or anywhere in it.
func sqlVerb(w string, first bool) string {
	switch {
	case sqlChanges().Has(w), w == "REPLACE" && first:
		return w
	case sqlRefused().Has(w), first && !sqlReads().Has(w):
		return "?"
	}
	return ""
}

// runsOutside reports whether a word of a statement, with the one before it, gives the database code or
// files of the machine: `language plpython3u`, `alter system`, `create foreign table`.
func runsOutside(verb, last, w string) bool {
	switch last {
	case "LANGUAGE", "EXTENSION", "EXISTS":
		return sqlCode().Has(w)
	case "ALTER":
		return w == "SYSTEM"
	case "FOREIGN":
		return verb == "CREATE" && w != "KEY" || w == "SCHEMA"
	}
	return false
}

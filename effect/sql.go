package effect

import (
	"strings"

	"github.com/obstat/obstat/shell"
)

// sql gives SQL text its effects: nothing beyond the connection if it only selects, a change
// if it is plain SQL, and code if it is anything else.
func (c *call) sql(w *shell.Word) {
	if !w.Known {
		c.code("SQL", w)
		return
	}
	text := strings.TrimSpace(w.Text)
	if text == "" || metaCommand(text) || c.copies(text, w) {
		return
	}
	if text[0] == '.' || text[0] == '\\' { // `.headers on`, and what follows
		first, rest, _ := strings.Cut(text, "\n")
		if rest != "" && (metaCommand(strings.TrimSpace(first)) || c.copies(first, w)) {
			v := *w
			v.Text = rest
			c.sql(&v)
			return
		}
	}
	if parts := strings.Split(strings.ReplaceAll(text, `"`, "'"), "'"); c.name == "duckdb" { // `select * from 'a.csv'` reads that file
		for i := 1; i < len(parts); i += 2 {
			c.readFile(&shell.Word{Text: parts[i], Raw: parts[i], Known: true, Glob: hasGlob(parts[i]), Span: w.Span}, true)
		}
	}
	r := sqlReader{text: text}
	switch verb := r.read(); verb {
	case "":
	case "?":
		c.code("SQL", w)
	default:
		e := c.newEffect(Write, w)
		e.Raw, e.Detail, e.Unnamed = "", "SQL "+verb, true // in the database
		if verb == "DROP" || verb == "DELETE" || verb == "TRUNCATE" {
			e.Kind = Delete
		}
		if ops := c.ops(); strings.HasPrefix(c.name, "sqlite") && len(ops) > 0 && c.words[ops[0]].Text != ":memory:" {
			c.changeFile(Write, c.databaseFile(&c.words[ops[0]]))
			return
		}
		c.a.effect(e)
	}
}

// databaseFile is the file of a database that SQLite is given as an address: `file:app.db?mode=ro`.
func (c *call) databaseFile(w *shell.Word) *shell.Word {
	name, ok := strings.CutPrefix(w.Text, "file:")
	if !ok || !w.Known || !strings.HasPrefix(c.name, "sqlite") {
		return w
	}
	v := *w
	v.Text, _, _ = strings.Cut(strings.TrimPrefix(name, "//"), "?")
	return &v
}

// copies is psql's `\copy t to 'a.csv' csv`, which writes a file, or reads one.
func (c *call) copies(text string, w *shell.Word) bool {
	rest, ok := strings.CutPrefix(text, `\copy `)
	what, file, found := strings.Cut(rest, " '")
	file, options, ends := strings.Cut(file, "'")
	if !ok || !found || !ends || strings.ContainsAny(what+options, "\n'\"`\\$") || strings.Contains(strings.ToLower(rest), "program") {
		return false
	}
	v := shell.Word{Text: file, Raw: file, Known: true, Span: w.Span}
	switch what = strings.ToLower(what); {
	case strings.HasSuffix(what, " to"):
		c.changeFile(Write, &v)
	case strings.HasSuffix(what, " from"):
		c.readFile(&v, true)
	default:
		return false
	}
	return true
}

// metaCommand recognises clients' own commands that only show something: \dt, .tables.
func metaCommand(s string) bool {
	if strings.ContainsAny(s, "\n|`;'\"!") {
		return false
	}
	name, _, _ := strings.Cut(s, " ")
	switch name {
	case ".tables", ".schema", ".databases", ".indexes", ".indices", ".fullschema", ".dump", ".help", ".show", ".version", ".dbinfo", ".headers", ".header", ".mode", ".width",
		`\l`, `\l+`, `\conninfo`, `\z`, `\x`, `\dt`, `\d`, `\du`, `\dn`, `\df`, `\dv`, `\di`, `\ds`, `\dp`, `\dx`, `\db`, `\dT`, `\d+`, `\dt+`, `\df+`, `\di+`, `\dv+`, `\dn+`, `\du+`, `\timing`, `\encoding`:
		return true
	}
	return false
}

// sqlReader tells whether SQL text only selects. Comments, escapes and dollar quotes, which
// databases read in different ways, make it give up, and so does every function that it does
// not know to be harmless.
type sqlReader struct {
	text string
	at   int
}

// read returns "" if every statement only reads, the first verb that changes something, or
// "?" if the text is not understood.
func (r *sqlReader) read() string {
	if strings.ContainsAny(r.text, "\\$`#@{") || strings.Contains(r.text, "--") || strings.Contains(r.text, "/*") {
		return "?"
	}
	harm, statement, first, before, last := "", "", true, "", ""
	for r.at < len(r.text) {
		ch := r.text[r.at]
		switch {
		case ch == ';':
			r.at++
			first, last = true, ""
		case ch == '\'' || ch == '"':
			from := r.at + 1
			if !r.quoted(ch) {
				return "?"
			}
			if before, last = last, ""; ch == '"' { // `"readfile"('.env')` is a call, too
				last = strings.ToUpper(r.text[from : r.at-1])
			}
		case isWordByte(ch):
			word := strings.ToUpper(r.word())
			v := sqlWord(word, first)
			if first {
				statement = word
			}
			if runsOutside(statement, last, word) {
				return "?"
			}
			if v == "?" && !hasWord(sqlWithin, statement+":"+word, ' ') {
				return "?"
			}
			if harm == "" && v != "?" {
				harm = v
			}
			first, before, last = false, last, word
		case ch == '(':
			if strings.HasSuffix(strings.TrimRight(r.text[:r.at], " \t\n"), "]") { // `[readfile]('.env')`
				return "?"
			}
			if last != "" && !hasWord(sqlBeforeParen, last, ' ') && (harm == "" || reachesOut(last) && !hasWord(sqlBeforeName, before, ' ')) {
				return "?"
			}
			r.at++
			last = ""
		default:
			r.at++
			if ch > ' ' {
				last = ""
			}
		}
	}
	return harm
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
	for r.at < len(r.text) && isWordByte(r.text[r.at]) {
		r.at++
	}
	return r.text[start:r.at]
}

// sqlWord judges a word: as the first of a statement, or anywhere in it.
func sqlWord(word string, first bool) string {
	switch word {
	case "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "TRUNCATE", "GRANT", "REVOKE", "MERGE", "REINDEX", "VACUUM", "RENAME", "UPSERT":
		return word
	case "REPLACE":
		if first {
			return word
		}
		return ""
	case "INTO", "OUTFILE", "DUMPFILE", "COPY", "PROGRAM", "CALL", "EXEC", "EXECUTE", "DO", "LOAD", "ATTACH", "DETACH", "INSTALL", "HANDLER", "LOCK", "PRAGMA", "SET", "KILL", "SHUTDOWN", "IMPORT", "EXPORT", "ANALYZE", "PREPARE", "NOTIFY", "LISTEN":
		return "?"
	}
	if !first {
		return ""
	}
	switch word {
	case "SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "WITH", "VALUES", "TABLE":
		return ""
	}
	return "?"
}

// runsOutside reports whether a word of a statement which changes something, with the one before it, gives the database code or
// files of the machine: `language plpython3u`, `alter system`, `create foreign table`.
func runsOutside(statement, last, word string) bool {
	switch last {
	case "LANGUAGE", "EXTENSION", "EXISTS":
		return hasWord(" C PLSH PLR FILE_FDW DBLINK ADMINPACK ", word, ' ') || strings.HasPrefix(word, "PLPYTHON") || strings.HasPrefix(word, "PLPERL") || strings.HasPrefix(word, "PLTCL")
	case "ALTER":
		return word == "SYSTEM"
	case "FOREIGN":
		return statement == "CREATE" && word != "KEY" || word == "SCHEMA"
	}
	return false
}

// reachesOut reports whether a function, of those that a statement which changes something may call, looks like one that
// reaches files or programs: readfile, load_extension, pg_read_file, dblink.
func reachesOut(name string) bool {
	for _, part := range [...]string{"FILE", "LOAD", "EXEC", "SYS", "SHELL", "CMD", "DBLINK", "EDIT", "LO_", "PG_LS", "PG_READ", "HTTP", "READ_", "_TO_XML", "TOKENIZER", "GLOB", "SNIFF", "PARQUET", "SCAN", "FSDIR", "CSV"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// sqlBeforeName are the words before a name that is no function: `create table files (id int)`.
const sqlBeforeName = " TABLE INTO EXISTS ON VIEW INDEX REFERENCES KEY CONSTRAINT TYPE "

// sqlWithin are words that mean more elsewhere, with the statement that they belong to.
const sqlWithin = " INSERT:INTO REPLACE:INTO MERGE:INTO UPDATE:SET INSERT:SET INSERT:DO ALTER:SET "

// sqlBeforeParen are the words that may stand before a parenthesis: keywords, and functions
// that only compute.
const sqlBeforeParen = "SELECT FROM WHERE IN EXISTS AND OR NOT ON AS VALUES OVER ANY ALL SOME UNION EXCEPT INTERSECT CASE WHEN THEN ELSE BY LIMIT HAVING USING JOIN DISTINCT " +
	"BETWEEN LIKE IS FILTER WITHIN GROUP ORDER PARTITION LATERAL WITH RECURSIVE MATERIALIZED RETURNING OFFSET COUNT SUM MIN MAX AVG TOTAL COALESCE IFNULL " +
	"NULLIF IIF LOWER UPPER LENGTH CHAR_LENGTH SUBSTR SUBSTRING TRIM LTRIM RTRIM REPLACE CONCAT CONCAT_WS GROUP_CONCAT STRING_AGG ARRAY_AGG JSON_AGG " +
	"JSONB_AGG JSON_EXTRACT JSON_OBJECT JSON_ARRAY JSON_EACH ROUND ABS CEIL CEILING FLOOR MOD POWER SQRT CAST CONVERT DATE TIME DATETIME JULIANDAY STRFTIME " +
	"DATE_TRUNC DATE_PART EXTRACT TO_CHAR TO_DATE NOW CURRENT_DATE CURRENT_TIMESTAMP CURRENT_DATABASE CURRENT_SCHEMA CURRENT_USER VERSION DATABASE USER " +
	"ROW_NUMBER RANK DENSE_RANK LAG LEAD FIRST_VALUE LAST_VALUE NTILE VARCHAR CHAR DECIMAL NUMERIC INT INTEGER GREATEST LEAST INSTR POSITION LEFT RIGHT " +
	"LPAD RPAD TYPEOF HEX PG_SIZE_PRETTY PG_DATABASE_SIZE PG_TOTAL_RELATION_SIZE PG_RELATION_SIZE PG_TABLE_SIZE"

package agents

import (
	"bytes"
	"strconv"
	"strings"
)

// A tomlValue is one value of a TOML document: where it is in the tree, its
// text without quotes, and where it stands in the file.
type tomlValue struct {
	path       string // keys joined with NUL, indexes of tables in lists as numbers
	text       string
	start, end int // of the value as written
	table      int // where the header of its table starts, -1 in none
}

func tomlPath(keys ...string) string { return strings.Join(keys, "\x00") }

// readTOML reads as much of TOML as is needed to find hooks and their hashes:
// tables, keys, strings, inline tables and lists. What it cannot read it skips
// to the next line.
func readTOML(src []byte) []tomlValue { return parseTOML(src).out }

// parseTOML reads a document, and notes where it is none.
func parseTOML(src []byte) *tomlReader {
	r := &tomlReader{src: src, table: -1, bad: -1, lists: map[string]int{}}
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		r.pos = len("\ufeff")
	}
	for r.pos < len(src) && len(r.out) < maxTOML {
		r.blank(true)
		if r.pos >= len(src) {
			break
		}
		if src[r.pos] == '[' {
			r.header()
		} else if keys := r.keys(); keys == nil || !r.take('=') {
			r.wrong()
			r.skipLine()
		} else {
			r.value(append(append([]string{}, r.at...), keys...), 0)
			r.lineEnd()
		}
		r.skipLine()
	}
	return r
}

// wrong notes the first place that is no TOML.
func (r *tomlReader) wrong() {
	if r.bad < 0 {
		r.bad = min(r.pos, len(r.src))
	}
}

// lineEnd notes what stands behind the end of a statement: a comment may, and
// the time of a date.
func (r *tomlReader) lineEnd() {
	r.blank(false)
	for r.pos < len(r.src) && strings.IndexByte("0123456789:.+-Zz", r.src[r.pos]) >= 0 {
		r.pos++
	}
	r.blank(false)
	if c := r.peek(); c != '\n' && c != '#' {
		r.wrong()
	}
}

const (
	maxTOML      = 100_000
	maxTOMLDepth = 20
)

type tomlReader struct {
	src   []byte
	pos   int
	at    []string       // the table
	table int            // where its header starts
	lists map[string]int // how many tables a list of tables has
	out   []tomlValue
	bad   int // where the first problem is, -1 for none
	// closed: hooks, or their state, are written in one value, which a table
	// cannot be added to.
	closed bool
}

func (r *tomlReader) peek() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return '\n'
}

func (r *tomlReader) take(c byte) bool {
	r.blank(false)
	if r.peek() != c || r.pos >= len(r.src) {
		return false
	}
	r.pos++
	return true
}

// blank skips blanks; with lines, also line ends and comments.
func (r *tomlReader) blank(lines bool) {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			r.pos++
		case c == '#' && lines:
			r.skipLine()
		default:
			return
		}
	}
}

func (r *tomlReader) skipLine() {
	if i := bytes.IndexByte(r.src[r.pos:], '\n'); i >= 0 {
		r.pos += i
		return
	}
	r.pos = len(r.src)
}

// header reads [a.b] or [[a.b]].
func (r *tomlReader) header() {
	r.table = r.pos
	r.pos++
	list := r.take('[')
	r.at = r.keys()
	if !r.take(']') || list && !r.take(']') {
		r.wrong()
	}
	r.lineEnd()
	if !list {
		r.at = r.resolve(r.at)
		return
	}
	key := tomlPath(r.at...)
	r.at = append(r.resolve(r.at), strconv.Itoa(r.lists[key]))
	r.lists[key]++
}

// resolve puts the index of the last table in for a list of tables.
func (r *tomlReader) resolve(keys []string) []string {
	var out []string
	for i, k := range keys {
		out = append(out, k)
		if n := r.lists[tomlPath(keys[:i+1]...)]; n > 0 && i+1 < len(keys) {
			out = append(out, strconv.Itoa(n-1))
		}
	}
	return out
}

// keys reads a dotted key, nil if there is none.
func (r *tomlReader) keys() []string {
	var out []string
	for {
		r.blank(false)
		var key string
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			key = r.quoted()
		default:
			start := r.pos
			for r.pos < len(r.src) && (isWordByte(r.src[r.pos]) || r.src[r.pos] == '-') {
				r.pos++
			}
			if key = string(r.src[start:r.pos]); key == "" {
				return nil
			}
		}
		out = append(out, key)
		if !r.take('.') {
			return out
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quoted reads a string of any of the four kinds.
func (r *tomlReader) quoted() string {
	q := r.src[r.pos : r.pos+1]
	if bytes.HasPrefix(r.src[r.pos:], bytes.Repeat(q, 3)) {
		q = bytes.Repeat(q, 3)
	}
	r.pos += len(q)
	start := r.pos
	for r.pos < len(r.src) {
		switch {
		case bytes.HasPrefix(r.src[r.pos:], q):
			for n := 0; len(q) == 3 && n < 2 && r.pos+3 < len(r.src) && r.src[r.pos+3] == q[0]; n++ {
				r.pos++ // the string ends with quotes
			}
			raw := string(r.src[start:r.pos])
			r.pos += len(q)
			if q[0] == '"' {
				if s, err := strconv.Unquote(`"` + strings.ReplaceAll(raw, "\n", `\n`) + `"`); err == nil {
					return s
				}
			}
			return raw
		case r.src[r.pos] == '\\' && q[0] == '"':
			r.pos += 2
		case r.src[r.pos] == '\n' && len(q) == 1:
			r.wrong()
			return string(r.src[start:r.pos]) // not closed
		default:
			r.pos++
		}
	}
	r.pos = len(r.src)
	r.wrong()
	return string(r.src[min(start, len(r.src)):])
}

// value reads the value of a key.
func (r *tomlReader) value(path []string, depth int) {
	r.blank(false)
	start := r.pos
	at := tomlPath(path...)
	r.closed = r.closed || at == "hooks" || at == tomlPath("hooks", "state")
	switch c := r.peek(); {
	case depth > maxTOMLDepth:
		r.skipLine()
	case c == '"' || c == '\'':
		text := r.quoted()
		r.add(path, text, start)
	case c == '[':
		r.pos++
		for i := 0; r.pos < len(r.src); i++ {
			r.blank(true)
			if r.take(']') {
				return
			}
			before := r.pos
			r.value(append(append([]string{}, path...), strconv.Itoa(i)), depth+1)
			r.blank(true)
			if !r.take(',') && r.peek() != ']' || r.pos == before {
				return
			}
		}
	case c == '{':
		r.pos++
		for r.pos < len(r.src) {
			r.blank(true)
			if r.take('}') {
				return
			}
			keys := r.keys()
			if keys == nil || !r.take('=') {
				return
			}
			r.value(append(append([]string{}, path...), keys...), depth+1)
			r.blank(true)
			if !r.take(',') && r.peek() != '}' {
				return
			}
		}
	default:
		for r.pos < len(r.src) && !strings.ContainsRune(" \t\r\n,]}#", rune(r.src[r.pos])) {
			r.pos++
		}
		if r.pos == start || strings.ContainsAny(string(r.src[start:r.pos]), `="'[{`) {
			r.wrong()
		}
		r.add(path, string(r.src[start:r.pos]), start)
	}
}

func (r *tomlReader) add(path []string, text string, start int) {
	r.out = append(r.out, tomlValue{tomlPath(path...), text, start, r.pos, r.table})
}

package shell

import "strings"

// Plain text is what most command lines are made of: words, quoted strings without expansions,
// redirections to a file or descriptor, and && || ; | between commands. Whatever is not
// certainly that is left to the parser.

type plainKind uint8

const (
	plainEnd plainKind = iota
	plainWord
	plainAnd
	plainOr
	plainPipe
	plainSemicolon
	plainRedirect
	plainAssign // from is where the value begins
	plainOther  // not plain
)

// plainToken is a word or an operator.
type plainToken struct {
	kind       plainKind
	glob       bool
	tilde      bool
	pieces     bool    // the text of the word has to be put together
	op         plainOp // of a redirection
	start, end int32
	from, to   int32 // bounds of a word without its quotes, or of a redirection's descriptor
}

type plainOp uint8

const (
	opOut plainOp = iota
	opAppend
	opIn
	opDup
	opBoth
)

// plainOps are the operators as written, longest first where one begins another.
var plainOps = [...]string{opOut: ">", opAppend: ">>", opIn: "<", opDup: ">&", opBoth: "&>"}

type plainLexer struct {
	src  string
	at   int
	wide bool // a quoted string is not ASCII
}

// plain character classes of unquoted text
const (
	classOther uint8 = iota // needs the parser
	classWord
	classGlob
	classBlank
	classQuote
	classOp
	classRedirect
	classBrace
	classEscape
)

// plainClass is indexed by byte.
var plainClass = [256]uint8{
	' ': classBlank, '\t': classBlank,
	'\'': classQuote, '"': classQuote,
	'&': classOp, '|': classOp, ';': classOp,
	'<': classRedirect, '>': classRedirect,
	'*': classGlob, '?': classGlob,
	'{': classBrace, '\\': classEscape,
	'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1, 'h': 1, 'i': 1, 'j': 1, 'k': 1, 'l': 1, 'm': 1,
	'n': 1, 'o': 1, 'p': 1, 'q': 1, 'r': 1, 's': 1, 't': 1, 'u': 1, 'v': 1, 'w': 1, 'x': 1, 'y': 1, 'z': 1,
	'A': 1, 'B': 1, 'C': 1, 'D': 1, 'E': 1, 'F': 1, 'G': 1, 'H': 1, 'I': 1, 'J': 1, 'K': 1, 'L': 1, 'M': 1,
	'N': 1, 'O': 1, 'P': 1, 'Q': 1, 'R': 1, 'S': 1, 'T': 1, 'U': 1, 'V': 1, 'W': 1, 'X': 1, 'Y': 1, 'Z': 1,
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'_': 1, '-': 1, '.': 1, '/': 1, ':': 1, ',': 1, '+': 1, '%': 1, '@': 1, '=': 1, '^': 1,
}

// next reads one token; after one of kind plainOther there is no other.
func (l *plainLexer) next() plainToken {
	src, i := l.src, l.at
	for i < len(src) && plainClass[src[i]] == classBlank {
		i++
	}
	t := plainToken{start: int32(i), from: int32(i)}
	if i == len(src) {
		return t
	}
	switch plainClass[src[i]] {
	case classOp:
		return l.operator(t)
	case classRedirect:
		return l.redirect(t, i)
	}
	t.kind = plainWord
	if src[i] == '~' {
		t.tilde = true
		i++
	}
	for i < len(src) && plainClass[src[i]] == classWord {
		i++
	}
	if i == len(src) || plainClass[src[i]] == classBlank {
		t.end, t.to, l.at = int32(i), int32(i), i
		return t
	}
	return l.word(t, i)
}

// word reads the rest of a word that is more than letters.
func (l *plainLexer) word(t plainToken, i int) plainToken {
	src, from := l.src, int(t.start)
	quoted, braced := 0, false // pieces in quotes or behind a backslash
scan:
	for i < len(src) {
		c := src[i]
		switch plainClass[c] {
		case classWord:
			i++
		case classGlob:
			t.glob = true
			i++
		case classQuote:
			end := l.quoted(i)
			if end < 0 {
				return l.other(t)
			}
			quoted++
			i = end
		case classEscape:
			if i+1 >= len(src) || src[i+1] < ' ' || src[i+1] >= 0x7f {
				return l.other(t)
			}
			quoted++
			i += 2
		case classBrace:
			if i = closeBrace(src, i); i < 0 {
				return l.other(t)
			}
			braced = true
		case classBlank, classOp:
			break scan
		case classRedirect:
			if digits(src[from:i]) {
				return l.redirect(t, i)
			}
			break scan
		default:
			return l.other(t)
		}
	}
	if t.tilde && quoted > 0 || braced && (strings.IndexByte(src[from:i], ',') >= 0 || strings.Contains(src[from:i], "..")) {
		return l.other(t)
	}
	t.end, t.to, l.at = int32(i), int32(i), i
	switch {
	case quoted == 1 && plainClass[src[from]] == classQuote && src[i-1] == src[from] && !escapes(src[from:i]):
		t.from, t.to = t.from+1, t.to-1
	case quoted == 1 && src[from] == '\\' && i == from+2:
		t.from++
	case quoted > 0:
		t.pieces = true
	}
	return t
}

// escapes reports whether a string in double quotes has a backslash.
func escapes(s string) bool { return s[0] == '"' && strings.IndexByte(s, '\\') >= 0 }

func (l *plainLexer) other(t plainToken) plainToken {
	t.kind = plainOther
	return t
}

// closeBrace returns the end of {} or {name}, which stand for themselves, or -1. Before a
// redirection they do not.
func closeBrace(src string, i int) int {
	for i++; i < len(src); i++ {
		switch c := src[i]; {
		case c == '}':
			if i+1 < len(src) && plainClass[src[i+1]] == classRedirect {
				return -1
			}
			return i + 1
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9':
		default:
			return -1
		}
	}
	return -1
}

// quoted returns the end of the quoted string that begins at i, or -1 if it is not plain.
func (l *plainLexer) quoted(i int) int {
	quote := l.src[i]
	for i++; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == quote:
			return i + 1
		case c == '\\' && quote == '"':
			if i++; i >= len(l.src) || l.src[i] < ' ' || l.src[i] >= 0x7f {
				return -1
			}
		case c == '\n':
			if l.src[i-1] == '\\' { // see brokenDollar
				return -1
			}
		case c >= 0x80:
			l.wide = true
		case c < ' ' && c != '\t', c == 0x7f, quote == '"' && (c == '$' || c == '`'):
			return -1
		}
	}
	return -1
}

// unquoted puts a word together that has pieces in quotes or behind backslashes.
func unquoted(raw string) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '\'':
			n := strings.IndexByte(raw[i+1:], '\'')
			out = append(out, raw[i+1:i+1+n]...)
			i += n + 1
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' && strings.IndexByte("\"\\$`", raw[i+1]) >= 0 {
					i++
				} else if raw[i] == '\\' {
					out = append(out, '\\')
					i++
				}
				out = append(out, raw[i])
			}
		case '\\':
			i++
			out = append(out, raw[i])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func (l *plainLexer) operator(t plainToken) plainToken {
	rest := l.src[t.start:]
	n := 1
	switch {
	case strings.HasPrefix(rest, "&&"):
		t.kind, n = plainAnd, 2
	case strings.HasPrefix(rest, "||"):
		t.kind, n = plainOr, 2
	case strings.HasPrefix(rest, "&>"):
		return l.redirect(t, int(t.start))
	case rest[0] == '|':
		t.kind = plainPipe
	case rest[0] == ';':
		t.kind = plainSemicolon
	default:
		t.kind = plainOther
	}
	t.end = t.start + int32(n)
	l.at = int(t.end)
	return t
}

// redirect reads a redirection's operator at i, behind the descriptor that t begins with.
func (l *plainLexer) redirect(t plainToken, i int) plainToken {
	rest := l.src[i:]
	switch {
	case i-int(t.start) > 2, strings.HasPrefix(rest, "<<"), strings.HasPrefix(rest, "<>"), strings.HasPrefix(rest, "<&"),
		strings.HasPrefix(rest, ">|"), strings.HasPrefix(rest, "&>>"):
		return l.other(t)
	case strings.HasPrefix(rest, ">>"):
		t.op = opAppend
	case strings.HasPrefix(rest, ">&"):
		t.op = opDup
	case rest[0] == '>':
		t.op = opOut
	case rest[0] == '<':
		t.op = opIn
	default:
		t.op = opBoth
	}
	t.kind, t.to = plainRedirect, int32(i)
	l.at = i + len(plainOps[t.op])
	t.end = int32(l.at)
	return t
}

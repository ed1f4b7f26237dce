package ledger

import (
	"slices"
	"strings"
)

// scanAssignments finds NAME=value, name: value, "name": "value" and the like.
func (r *secretRules) scanAssignments(s string, out []span) []span {
	for i := 0; i < len(s); i++ {
		n := strings.IndexAny(s[i:], "=:")
		if n < 0 {
			return out
		}
		i += n
		if strings.HasPrefix(s[i:], "://") {
			i += 2
			continue
		}
		name := nameBefore(s, i)
		if name == "" {
			continue
		}
		if st := r.name(name); st != innocent {
			out = assigned(s, i, name, st, out)
		}
	}
	return out
}

// nameBefore returns the name that ends before s[end], closing quotes and
// brackets left out.
func nameBefore(s string, end int) string {
	floor := max(0, end-maxName-16)
	i := end
	for i > floor && strings.IndexByte(" \t\\\"'`])", s[i-1]) >= 0 && end-i < 16 {
		i--
	}
	last := i
	for i > floor && nameByte(s[i-1]) {
		i--
	}
	return s[i:last]
}

func nameByte(c byte) bool { return alnum(c) || c == '_' || c == '-' || c == '.' || c >= 0x80 }

// assigned finds the value behind the separator at s[sep].
func assigned(s string, sep int, name string, st strength, out []span) []span {
	from := sep + 1
	for from < len(s) && from < sep+3 && strings.IndexByte("=:>", s[from]) >= 0 {
		from++
	}
	spaced := from + len(s[from:]) - len(strings.TrimLeft(s[from:], " \t"))
	if isHeader(name) && (s[sep] == ':' && spaced > from || s[sep] != ':') && !quoteAt(s, spaced) {
		return header(s, spaced, out)
	}
	// A value on the next line is one only where quotes say so.
	if below := from + len(s[from:]) - len(strings.TrimLeft(s[from:], " \t\r\n")); quoteAt(s, below) {
		spaced = below
	}
	shell := s[sep] == '=' && spaced == from
	return valueAt(s, spaced, shell, isHeader(name), st, "value of "+name, out)
}

func isHeader(name string) bool {
	w := words(name)
	return len(w) > 0 && slices.Contains([]string{"authorization", "cookie"}, w[len(w)-1])
}

// header masks the rest of a header line, but for the scheme.
func header(s string, from int, out []span) []span {
	to := from + until(s[from:], "\r\n\"'`\\")
	from += schemeLen(s[from:to])
	return append(out, span{from, to, "header"})
}

// schemeLen returns the length of the scheme and the blanks behind it.
func schemeLen(v string) int {
	scheme, rest, found := strings.Cut(v, " ")
	for _, known := range []string{"bearer", "basic", "token", "digest", "apikey", "negotiate"} {
		if found && strings.EqualFold(scheme, known) {
			return len(v) - len(strings.TrimLeft(rest, " \t"))
		}
	}
	return 0
}

// quoteAt tells whether a quote begins at s[i], with whatever backslashes
// before it: text in text in text.
func quoteAt(s string, i int) bool {
	for i < len(s) && s[i] == '\\' {
		i++
	}
	return i < len(s) && strings.IndexByte("\"'`", s[i]) >= 0
}

// valueAt adds the value that begins at s[from].
func valueAt(s string, from int, shell, isHeader bool, st strength, why string, out []span) []span {
	to, deep := from, from < len(s) && s[from] == '\\'
	switch {
	case from >= len(s) || substitution(s[from:], shell):
		return out
	case quoteAt(s, from) && !(s[from] == '`' && shell):
		from, to = quoted(s, from)
		if after := to + 1; shell && !deep && after < len(s) && to > from && !endsWord(s[after]) {
			from-- // more of the same word follows: "a"b
			to = shellWord(s, from)
		}
	case shell:
		to = shellWord(s, from)
	default:
		to = from + until(s[from:], " \t\r\n\"'`")
		to = from + len(strings.TrimRight(s[from:to], ",;}])\\"))
	}
	if isHeader {
		from += schemeLen(s[from:to])
	}
	v := s[from:to]
	if harmless(v) || st == weak && !random(strings.Trim(v, "\"'")) {
		return out
	}
	return append(out, span{from, to, why})
}

// quoted returns the inside of the quotes that begin at s[i]. Quotes that are
// not closed go to the end of the line.
func quoted(s string, i int) (from, to int) {
	depth := 0
	for s[i+depth] == '\\' {
		depth++
	}
	q := s[i+depth]
	from = i + depth + 1
	slashes := 0
	for to = from; to < len(s); to++ {
		switch {
		case s[to] == q && slashes <= depth && (depth > 0 || slashes%2 == 0):
			if depth > 0 {
				to -= slashes
			}
			return from, max(from, to)
		case s[to] == '\n' && depth > 0:
			return from, to
		case s[to] == '\\':
			slashes++
			continue
		}
		slashes = 0
	}
	return from, from + until(s[from:], "\n")
}

// shellWord returns the end of the word that begins at s[i].
func shellWord(s string, i int) int {
	begin := i
	for i < len(s) {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '"' || c == '\'':
			if i > begin && (i+1 == len(s) || endsWord(s[i+1]) || strings.IndexByte(`"'],}\`, s[i+1]) >= 0) {
				return i // it closes a quote that was opened before the word
			}
			if n := strings.IndexByte(s[i+1:], c); n >= 0 {
				i += n + 1
			}
		case endsWord(c):
			return i
		}
		i++
	}
	return len(s)
}

func endsWord(c byte) bool { return strings.IndexByte(" \t\r\n;&|<>()`", c) >= 0 }

// substitution tells a value that is computed, as in `TOKEN=$(cat x)`: the command
// must stay readable.
func substitution(v string, shell bool) bool {
	v = strings.TrimLeft(v, `"`)
	if shell && strings.HasPrefix(v, "`") {
		return true
	}
	for _, p := range []string{"$(", "${", "<("} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	if len(v) < 2 || v[0] != '$' {
		return false
	}
	n := 1
	for n < len(v) && (v[n] == '_' || 'A' <= v[n] && v[n] <= 'Z') {
		n++
	}
	return n > 1 && (n == len(v) || endsWord(v[n]) || v[n] == '"')
}

// harmless tells values that give nothing away.
func harmless(v string) bool {
	switch strings.ToLower(v) {
	case "", Mask, "true", "false", "null", "nil", "none", "undefined", "string", "str", "int", "number", "bool", "boolean":
		return true
	}
	return false
}

// scanFlags finds --password value, and the same as elements of a list.
func (r *secretRules) scanFlags(s string, out []span) []span {
	for i := 0; i < len(s); i++ {
		n := strings.IndexByte(s[i:], '-')
		if n < 0 {
			return out
		}
		i += n
		begin := i
		for i < len(s) && nameByte(s[i]) {
			i++
		}
		if begin > 0 && nameByte(s[begin-1]) || i-begin > maxName {
			continue
		}
		st := r.name(s[begin:i])
		if st == innocent {
			continue
		}
		rest := strings.TrimLeft(s[i:], "\\\"'")
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ","), " \t")
		if from := len(s) - len(rest); from > i {
			out = valueAt(s, from, true, false, st, "value of "+s[begin:i], out)
		}
	}
	return out
}

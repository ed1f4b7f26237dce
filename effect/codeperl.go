package effect

import "strings"

// perlReader tells whether a Perl program only edits or picks lines, as sed does: `s/a/b/g`, `print if /x/`,
// `tr/a-z/A-Z/ unless $. == 1`. It gives up at everything else.
type perlReader struct {
	text string
	at   int
}

func readPerl(text string) bool {
	r := &perlReader{text: text}
	for {
		if r.skip(" \t\n;"); r.at == len(r.text) {
			return true
		}
		if !r.statement() {
			return false
		}
		if r.skip(" \t\n"); r.at < len(r.text) && r.text[r.at] != ';' {
			return false
		}
	}
}

func (r *perlReader) skip(set string) {
	for r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
	}
}

// take skips a word or a sign.
func (r *perlReader) take(word string) bool {
	rest := r.text[r.at:]
	if !strings.HasPrefix(rest, word) || isWordByte(word[0]) && len(rest) > len(word) && isWordByte(rest[len(word)]) {
		return false
	}
	r.at += len(word)
	r.skip(" \t")
	return true
}

func (r *perlReader) statement() bool {
	switch {
	case r.take("print") || r.take("say"):
		for _, what := range [...]string{`$_`, `$1`, `"$1\n"`, `"$_"`, `$.`} {
			if r.take(what) {
				break
			}
		}
	case r.take("next") || r.take("last"):
	case strings.HasPrefix(r.text[r.at:], "tr"):
		if r.at += 2; !r.parts(2, "cdsr") {
			return false
		}
	case strings.HasPrefix(r.text[r.at:], "s"):
		if r.at++; !r.parts(2, "gimsx") {
			return false
		}
	default:
		return false
	}
	if r.take("if") || r.take("unless") {
		return r.condition()
	}
	return true
}

func (r *perlReader) condition() bool {
	for {
		r.take("!")
		switch {
		case r.take("$."):
			if !(r.take("==") || r.take("!=") || r.take(">=") || r.take("<=") || r.take(">") || r.take("<")) {
				return false
			}
			from := r.at
			if r.skip("0123456789"); r.at == from {
				return false
			}
			r.skip(" \t")
		case r.at < len(r.text) && r.text[r.at] == 'm':
			if r.at++; !r.parts(1, "gimsx") {
				return false
			}
		case r.at < len(r.text) && r.text[r.at] == '/':
			if !r.parts(1, "gimsx") {
				return false
			}
		default:
			return false
		}
		if !(r.take("and") || r.take("or") || r.take("&&") || r.take("||")) {
			return true
		}
	}
}

// parts reads n texts behind a delimiter, and flags.
func (r *perlReader) parts(n int, flags string) bool {
	if r.at == len(r.text) || strings.IndexByte("/|#!,%~:", r.text[r.at]) < 0 {
		return false
	}
	delimiter := r.text[r.at]
	for part := range n {
		from := r.at + 1
		for r.at++; r.at < len(r.text) && r.text[r.at] != delimiter; r.at++ {
			if r.text[r.at] == '\\' {
				r.at++
			}
		}
		if r.at >= len(r.text) || !plainPerl(r.text[from:r.at], part == 0) {
			return false
		}
	}
	r.at++
	from := r.at
	for r.at < len(r.text) && isWordByte(r.text[r.at]) {
		r.at++
	}
	ok := strings.Trim(r.text[from:r.at], flags) == ""
	r.skip(" \t")
	return ok
}

// plainPerl reports whether a pattern, or what takes its place, holds no code: none in `(?{ })`, `@{[ ]}`, `${ }` or
// `$1[ ]`.
func plainPerl(s string, pattern bool) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '@':
			return false
		case '$':
			rest := s[i+1:]
			next := strings.TrimLeft(rest, "0123456789")
			switch {
			case next == "": // the end of a line, or of `$1`
			case len(next) < len(rest) && strings.IndexByte("[{-", next[0]) < 0:
			case pattern && (next[0] == ')' || next[0] == '|'):
			default:
				return false // `$1[code]`, `$#{code}`
			}
		case '?':
			if strings.HasPrefix(s[i:], "?{") || strings.HasPrefix(s[i:], "??{") || strings.HasPrefix(s[i:], "?(") || strings.HasPrefix(s[i:], "?#") {
				return false
			}
		case '*':
			if strings.HasPrefix(s[i:], "*{") {
				return false // `(*{ })`
			}
		}
	}
	return true
}

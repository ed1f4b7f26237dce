package pattern

import "strings"

// misses tells of most texts, by a look at what a pattern begins with, that
// they do not match, so that the pattern need not be read. false says nothing.
func misses(f Flavour, pat, s string) bool {
	switch f {
	case Exact:
		return s != pat
	case Fnmatch:
		return !strings.HasPrefix(s, untilAny(pat, "*?["))
	case Wildcard:
		head := untilAny(pat, "*?")
		if len(head) == len(pat)-1 { // " *" at the end may be missing
			head = strings.TrimSuffix(head, " ")
		}
		return !strings.HasPrefix(s, head) && strings.IndexByte(pat, '\\') < 0 && strings.IndexByte(s, '\\') < 0
	case Minimatch:
		head := untilAny(pat, `*?[]{}()!+@\#`)
		return !strings.HasPrefix(s, head) && !strings.Contains(pat, "..") && !strings.Contains(pat, "//") && !strings.Contains(s, "//")
	case Bash:
		return missesBash(pat, s)
	case Full, Search:
		return missesRE(pat, s, f == Full)
	}
	return false
}

// unread tells whether p matches s where that takes no reading of the pattern.
func (p *Pattern) unread(s string) (yes, known bool) {
	if misses(p.flavour, p.text, s) {
		return false, true
	}
	if p.flavour == Full {
		return amongWords(p.text, s)
	}
	return false, false
}

// amongWords tells of an expression that is a few words, as in Read|Grep|Glob, whether
// s is one of them; known is false for others.
func amongWords(re, s string) (yes, known bool) {
	for i := range len(re) {
		if re[i] != '|' && !itself(re[i]) {
			return false, false
		}
	}
	for w := range strings.SplitSeq(re, "|") {
		if w == s {
			return true, true
		}
	}
	return false, true
}

// untilAny returns s up to the first of some bytes.
func untilAny(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

func missesBash(pat, s string) bool {
	if head, ok := strings.CutSuffix(pat, ":*"); ok {
		return !strings.HasPrefix(s, strings.TrimFunc(head, pySpaceRune))
	}
	if strings.IndexByte(pat, '\\') >= 0 {
		return false
	}
	head := untilAny(pat, "*")
	if len(head) == len(pat) {
		return !strings.Contains(s, pat)
	}
	return !strings.HasPrefix(s, strings.TrimRightFunc(head, pySpaceRune))
}

// missesRE looks for the text that stands in an expression outside of groups:
// a match has all of it, in this order.
func missesRE(re, s string, full bool) bool {
	if strings.HasPrefix(re, "(?") {
		return false // flags, which may give everything another meaning
	}
	w := literalScan{re: re}
	if strings.HasPrefix(re, "^") {
		w.at = 1
	}
	first, missing := full || w.at == 1, false
	for w.at < len(re) {
		lit, ok := w.next()
		if !ok {
			return false
		}
		i := strings.Index(s, lit)
		if missing = missing || i < 0 || first && i > 0; !missing {
			s = s[i+len(lit):]
		}
		first = false
	}
	return missing && w.depth == 0
}

// A literalScan goes through the literals of an expression.
type literalScan struct {
	re    string
	at    int
	depth int // of groups
}

// next passes the text that is next, and one thing that is not text after it.
// It reports false where it does not know its way.
func (w *literalScan) next() (lit string, ok bool) {
	start := w.at
	for w.at < len(w.re) && itself(w.re[w.at]) {
		w.at++
	}
	if w.depth == 0 {
		lit = w.re[start:w.at]
	}
	if w.at == len(w.re) {
		return lit, true
	}
	c := w.re[w.at]
	w.at++
	switch c {
	case '*', '?', '+', '{': // they are about the last character
		lit = lit[:max(len(lit)-1, 0)]
		return lit, c != '{' || w.pass('}')
	case '\\':
		return lit, w.escape()
	case '[':
		return lit, w.class()
	case '(':
		w.depth++
		return lit, !strings.HasPrefix(w.re[w.at:], "?#") // a comment may hold anything
	case ')':
		w.depth--
		return lit, w.depth >= 0
	case '|':
		return lit, w.depth > 0
	}
	return lit, true
}

// pass goes behind the next c.
func (w *literalScan) pass(c byte) bool {
	i := strings.IndexByte(w.re[w.at:], c)
	w.at += i + 1
	return i >= 0
}

// escape passes an escape of one character.
func (w *literalScan) escape() bool {
	if w.at == len(w.re) {
		return false
	}
	c := w.re[w.at]
	w.at++
	letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
	return !letter || strings.IndexByte("dDwWsSbBAZ", c) >= 0
}

// class passes a class without escapes.
func (w *literalScan) class() bool {
	if strings.HasPrefix(w.re[w.at:], "^") {
		w.at++
	}
	start := w.at
	if strings.HasPrefix(w.re[w.at:], "]") {
		w.at++
	}
	return w.pass(']') && strings.IndexByte(w.re[start:w.at], '\\') < 0
}

// itself reports whether c stands for itself in every expression that does not
// begin with flags.
func itself(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(" _-/:=,;@%&~<>\"'", c) >= 0
}

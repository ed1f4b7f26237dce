package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// text is the text being walked: the source itself, or code found in it (eval, trap, ...).
type text struct {
	src   string // as the parser saw it; same length as orig
	orig  string // as written
	mask  byte   // byte that stands in src for one the parser would not keep; 0 if none
	base  int    // offset of the text in Script.Source, if exact
	exact bool   // offsets map into Script.Source
	whole Span   // otherwise everything lies here
}

// newText prepares code for the parser. The parser drops a carriage return before a newline
// and refuses bytes that are not UTF-8, where shells keep both as part of a word:
// such bytes are replaced by a control character that the text does not use.
func newText(code string, mask bool) (text, bool) {
	t := text{src: code, orig: code}
	if !mask {
		return t, true
	}
	for c := byte(0x0e); c < 0x1b; c++ {
		if strings.IndexByte(code, c) < 0 {
			t.mask = c
			break
		}
	}
	if t.mask == 0 {
		return t, false
	}
	b := []byte(code)
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			if b[i] == '\r' {
				b[i] = t.mask
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			b[i] = t.mask
		}
		i += n
	}
	t.src = string(b)
	return t, true
}

// needsMask reports whether code holds a byte that newText has to replace.
func needsMask(code string) bool {
	return strings.IndexByte(code, '\r') >= 0 || !utf8.ValidString(code)
}

// span maps offsets of the text to the source.
func (t *text) span(start, end int) Span {
	if !t.exact {
		return t.whole
	}
	n := len(t.orig)
	start = max(0, min(start, n))
	end = max(start, min(end, n))
	return Span{t.base + start, t.base + end}
}

// node returns the offsets of a node within the text.
func (t *text) node(n syntax.Node) (start, end int) {
	return t.clamp(int(n.Pos().Offset()), int(n.End().Offset()))
}

func (t *text) clamp(start, end int) (int, int) {
	n := len(t.orig)
	start = max(0, min(start, n))
	return start, max(start, min(end, n))
}

// restore puts back the bytes that the mask stands for, which came from orig[start:end].
// Expansion keeps order, so the nth mask stands for the nth masked byte.
func (t *text) restore(s string, start, end int) string {
	if t.mask == 0 || strings.IndexByte(s, t.mask) < 0 {
		return s
	}
	b := []byte(s)
	from := start
	for i := range b {
		if b[i] != t.mask {
			continue
		}
		k := strings.IndexByte(t.src[from:end], t.mask)
		if k < 0 {
			break
		}
		b[i] = t.orig[from+k]
		from += k + 1
	}
	return string(b)
}

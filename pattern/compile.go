package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxText bounds the text of a pattern, far above rules written by hand.
const maxText = 1 << 16

// A SyntaxError says where a pattern's text stops being a pattern.
type SyntaxError struct {
	Offset int    // in bytes, into the text given to Compile
	Msg    string // without the position
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at offset %d", e.Msg, e.Offset)
}

// Compile reads text as a pattern of flavour f. Its error is always a
// *SyntaxError.
func Compile(f Flavour, text string) (*Pattern, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{maxText, "the pattern is too long"}
	}
	if i := badUTF8(text); i >= 0 && f != Exact {
		return nil, &SyntaxError{i, "the pattern is not UTF-8 text"}
	}
	p := &Pattern{flavour: f, text: text}
	if cannotFail(f, text) {
		return p, nil
	}
	b, err := newBody(f, text)
	if err != nil {
		return nil, err
	}
	p.made.Store(b)
	return p, nil
}

// cannotFail tells of most texts, by a look, that they are patterns.
func cannotFail(f Flavour, text string) bool {
	switch f {
	case Exact, Fnmatch, Wildcard:
		return true
	case Minimatch:
		return len(text) <= maxMinimatch && !strings.ContainsAny(text, "{(") && strings.Count(text, "/") < maxSegments
	case Full, Search:
		return plainRE(text)
	}
	return false
}

// plainRE tells of most expressions that dialects make of globs, such as
// `(?s)src/[^/]*\.go(?:/.*)?`, that they are well formed: nothing but plain
// characters, escaped ones, alternatives, and the pieces below.
func plainRE(text string) bool {
	text = strings.TrimPrefix(text, "(?s)")
	for text != "" {
		c := text[0]
		piece := 0
		switch {
		case c == '.' && len(text) > 1 && (text[1] == '*' || text[1] == '+'), c == '\\' && len(text) > 1 && strings.IndexByte(`.*+?()[]{}|^$\/-`, text[1]) >= 0:
			piece = 2
		case c == '.' || c == '|' || c == ' ' || c == '_' || c == '-' || c == '/' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z':
			piece = 1
		}
		for _, p := range [...]string{"(?:/.*)?", "(?:.*/)?", "(?: .*)?", "[^/]*"} {
			if piece == 0 && strings.HasPrefix(text, p) {
				piece = len(p)
			}
		}
		if piece == 0 {
			return false
		}
		text = text[piece:]
	}
	return true
}

func newBody(f Flavour, text string) (*body, error) {
	m, t, err := compiler(f)(text)
	if err != nil {
		return nil, err
	}
	b := &body{m: m}
	b.shape.Store(t.known)
	return b, nil
}

// trees reads the text once more: the trees are seldom wanted, and not kept.
func (p *Pattern) trees() *trees {
	_, t, err := compiler(p.flavour)(p.text)
	if err != nil {
		return &trees{}
	}
	if t.grow != nil {
		known := t.known
		t = t.grow()
		t.known = known
	}
	return &t
}

// reached returns the languages of the texts that p may and must match.
func (p *Pattern) reached() *reach {
	if r := p.reach.Load(); r != nil {
		return r
	}
	t := p.trees()
	r := &reach{newLanguage(t.may), newLanguage(t.must)}
	if t.must == t.may {
		r.must = r.may
	}
	if !p.reach.CompareAndSwap(nil, r) {
		r = p.reach.Load()
	}
	return r
}

// compiler returns the function that reads a flavour.
func compiler(f Flavour) func(text string) (matcher, trees, error) {
	switch f {
	case Exact:
		return compileExact
	case Fnmatch:
		return compileFnmatch
	case Wildcard:
		return compileWildcard
	case Minimatch:
		return compileMinimatch
	case Bash:
		return compileBash
	case JSON:
		return compileJSON
	case Full:
		return func(text string) (matcher, trees, error) { return compileRE(text, true) }
	case Search:
		return func(text string) (matcher, trees, error) { return compileRE(text, false) }
	}
	return func(string) (matcher, trees, error) {
		return nil, trees{}, &SyntaxError{0, fmt.Sprintf("there is no pattern flavour %q", string(f))}
	}
}

// MustCompile is Compile for tables and tests: it panics where Compile fails.
func MustCompile(f Flavour, text string) *Pattern {
	p, err := Compile(f, text)
	if err != nil {
		panic(fmt.Sprintf("pattern.MustCompile(%s, %q): %v", f, text, err))
	}
	return p
}

// badUTF8 returns the offset of the first byte of s that is not UTF-8, or -1.
func badUTF8(s string) int {
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			return i
		}
		i += w
	}
	return -1
}

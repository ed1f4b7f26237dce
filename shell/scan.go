package shell

import (
	"unicode"
	"unicode/utf8"
)

// marks is the outcome of a first look at the bytes.
type marks struct {
	nul  bool // a NUL byte
	mask bool // bytes that the parser would not keep
	wide bool // bytes that are not ASCII
}

// ascii reports whether every byte is ASCII that the parser keeps.
func (m marks) ascii() bool { return !m.nul && !m.mask && !m.wide }

// maxFindings bounds how many findings are reported.
const maxFindings = 100

// scan looks at every byte once and reports characters that deceive a reader.
func (s *Script) scan() marks {
	var m marks
	src := s.Source
	for i := 0; i < len(src); {
		c := src[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			s.control(c, i, &m)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(src[i:])
		m.wide = true
		if r == utf8.RuneError && n == 1 {
			m.mask = true
			s.finding("a byte that is not UTF-8", i, 1)
		} else {
			s.character(r, i, n)
		}
		i += n
	}
	return m
}

func (s *Script) finding(why string, at, n int) {
	if len(s.Findings) < maxFindings {
		s.Findings = append(s.Findings, Finding{why, Span{at, at + n}})
	}
}

func (s *Script) control(c byte, at int, m *marks) {
	switch c {
	case '\r':
		m.mask = true
		s.finding("a carriage return, which is part of the word", at, 1)
	case 0:
		m.nul = true
		s.finding("a NUL byte", at, 1)
	default:
		s.finding("a control character", at, 1)
	}
}

func (s *Script) character(r rune, at, n int) {
	switch {
	case isBidi(r):
		s.finding("a character that reorders the text", at, n)
	case isInvisible(r):
		s.finding("a character that is not displayed", at, n)
	case unicode.IsSpace(r):
		s.finding("a space that is part of the word", at, n)
	case r >= 0x80 && r < 0xa0:
		s.finding("a control character", at, n)
	}
}

func isBidi(r rune) bool {
	switch r {
	case 0x061c, 0x200e, 0x200f:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func isInvisible(r rune) bool {
	switch r {
	case 0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2061,
		0x2062, 0x2063, 0x2064, 0x2800, 0x3164, 0xfeff, 0xffa0:
		return true
	}
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe01ef
}

// homographs reports words that look like other words: names of programs in letters that
// look like ASCII ones, and names that mix such letters with ASCII ones.
func (s *Script) homographs() {
	for i := range s.Commands {
		c := &s.Commands[i]
		for j := range c.Words {
			s.homograph(&c.Words[j], j == 0)
		}
		for j := range c.Redirects {
			s.homograph(&c.Redirects[j].Target, false)
		}
	}
}

func (s *Script) homograph(w *Word, program bool) {
	alike, ascii, other := 0, 0, 0
	for i, r := range w.Text {
		switch {
		case r < utf8.RuneSelf && (r|0x20) >= 'a' && (r|0x20) <= 'z':
			ascii++
		case r < utf8.RuneSelf:
		case isDash(r) && i > 0 && !program: // in prose
		case looksASCII(r):
			alike++
		default:
			other++
		}
	}
	if alike == 0 || other > 0 || (!program && ascii == 0) {
		return
	}
	s.finding("letters that look like ASCII ones", w.Span.Start, w.Span.End-w.Span.Start)
}

func isDash(r rune) bool { return r >= 0x2010 && r <= 0x2015 || r == 0x2212 }

// looksASCII reports whether r is easily taken for an ASCII character.
func looksASCII(r rune) bool {
	switch {
	case r >= 0xff01 && r <= 0xff5e, // full width
		r >= 0x1d400 && r <= 0x1d7ff, // mathematical letters
		isDash(r),
		r >= 0x24b6 && r <= 0x24e9: // circled letters
		return true
	}
	switch r {
	case 'а', 'с', 'ԁ', 'е', 'һ', 'і', 'ј', 'ԛ', 'о', 'р', 'ѕ', 'ѵ', 'ѡ', 'х', 'у', 'ԝ', 'к', 'м', 'т', 'п', 'г', 'ӏ',
		'А', 'В', 'С', 'Е', 'Н', 'І', 'Ј', 'К', 'М', 'О', 'Р', 'Ѕ', 'Т', 'Х', 'У', 'Ү', // Cyrillic
		'α', 'ο', 'ν', 'ι', 'κ', 'ρ', 'τ', 'υ', 'χ', 'γ', 'ω', 'ϲ', 'ϳ', 'Α', 'Β', 'Ε', 'Ζ', 'Η', 'Ι', 'Κ', 'Μ', 'Ν', 'Ο', 'Ρ', 'Τ', 'Υ', 'Χ', // Greek
		'ɑ', 'ɡ', 'ı', 'ǀ', 'ո', 'ս', 'օ', 'հ', 'ց', 'զ', 'ʟ', 'ꜱ', 'ʀ', 'ᴍ', // Latin and Armenian
		'∕', '⁄', '⧸', '╱', '․', 'ʼ':
		return true
	}
	return false
}

package re

import (
	"strings"
	"unicode"
)

// flagLetters are the letters of flags, in the order of their bits.
const flagLetters = "imsxauLt"

func flagOf(tok token) flagSet {
	return 1 << strings.IndexRune(flagLetters, tok.r)
}

// flags reads (?flags), (?flags:, (?flags-flags: after the first character.
func (p *parser) flags(tok token) (add, del flagSet, global bool) {
	if !tok.is('-') {
		add, tok = p.addFlags(tok)
	}
	if tok.is(')') {
		p.global |= add
		return add, 0, true
	}
	if add&flagT != 0 {
		p.fail(1, "bad inline flags: cannot turn on global flag")
	}
	if tok.is('-') {
		del = p.delFlags()
	}
	if del&flagT != 0 {
		p.fail(1, "bad inline flags: cannot turn off global flag")
	}
	if add&del != 0 {
		p.fail(1, "bad inline flags: flag turned on and off")
	}
	return add, del, false
}

// addFlags reads flags up to the character that ends them, which it returns.
func (p *parser) addFlags(tok token) (flagSet, token) {
	var add flagSet
	for {
		f := flagOf(tok)
		if f == flagL {
			p.fail(0, "bad inline flags: cannot use 'L' flag with a str pattern")
		}
		add |= f
		if f&typeFlags != 0 && add&typeFlags != f {
			p.fail(0, "bad inline flags: flags 'a', 'u' and 'L' are incompatible")
		}
		tok = p.get()
		if tok.in(")-:") {
			return add, tok
		}
		p.checkFlag(tok, "missing -, : or )", "missing -, : or )")
	}
}

func (p *parser) delFlags() flagSet {
	tok := p.get()
	p.checkFlag(tok, "missing flag", "missing flag")
	var del flagSet
	for {
		f := flagOf(tok)
		if f&typeFlags != 0 {
			p.fail(0, "bad inline flags: cannot turn off flags 'a', 'u' and 'L'")
		}
		del |= f
		tok = p.get()
		if tok.is(':') {
			return del
		}
		p.checkFlag(tok, "missing :", "missing :")
	}
}

// checkFlag refuses a letter that is no flag.
func (p *parser) checkFlag(tok token, end, other string) {
	switch {
	case !tok.ok:
		p.fail(0, "%s", end)
	case tok.in(flagLetters):
	case !tok.esc && unicode.IsLetter(tok.r):
		p.fail(tok.len(), "unknown flag")
	default:
		p.fail(tok.len(), "%s", other)
	}
}

func combine(flags, add, del flagSet) flagSet {
	if add&typeFlags != 0 {
		flags &^= typeFlags
	}
	return (flags | add) &^ del
}

func foldOf(flags flagSet) foldMode {
	switch {
	case flags&flagI == 0:
		return foldNone
	case flags&flagA != 0:
		return foldASCII
	}
	return foldUnicode
}

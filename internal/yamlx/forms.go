package yamlx

import "strings"

// The forms of scalars. They are small enough to be read by hand, and then a
// process that can read YAML and never does has no expressions to compile. A
// test holds each against its expression.

const (
	decimals = "0123456789"
	hexes    = "0123456789abcdefABCDEF"
)

// A form reads a text from left to right. Once something that has to be there
// is not, nothing matches any more.
type form struct {
	rest string
	bad  bool
}

// any skips characters of a set and returns how many there were.
func (f *form) any(set string) int {
	n := 0
	for n < len(f.rest) && strings.IndexByte(set, f.rest[n]) >= 0 {
		n++
	}
	f.rest = f.rest[n:]
	return n
}

// one takes one character of a set, if it is there.
func (f *form) one(set string) bool {
	if f.rest == "" || strings.IndexByte(set, f.rest[0]) < 0 {
		return false
	}
	f.rest = f.rest[1:]
	return true
}

// some takes at least one character of a set, between and times between them.
func (f *form) some(set string) { f.need(f.any(set) > 0) }

// times takes between lo and hi characters of a set and no more of them.
func (f *form) times(lo, hi int, set string) {
	n := f.any(set)
	f.need(lo <= n && n <= hi)
}

func (f *form) need(ok bool)    { f.bad = f.bad || !ok }
func (f *form) must(set string) { f.need(f.one(set)) }
func (f *form) matches() bool   { return !f.bad && f.rest == "" }
func (f *form) word(w ...string) {
	for _, w := range w {
		if f.rest == w {
			f.rest = ""
			return
		}
	}
	f.bad = true
}

// coreInt is [-+]?[0-9]+
func coreInt(text string) bool {
	f := form{rest: text}
	f.one("-+")
	f.some(decimals)
	return f.matches()
}

// coreBase is 0(o[0-7]+|x[0-9a-fA-F]+)
func coreBase(text string) bool {
	f := form{rest: text}
	f.must("0")
	if f.one("o") {
		f.some("01234567")
	} else {
		f.must("x")
		f.some(hexes)
	}
	return f.matches()
}

// coreFloat is [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func coreFloat(text string) bool {
	f := form{rest: text}
	f.one("-+")
	if f.one(".") {
		f.some(decimals)
	} else {
		f.some(decimals)
		if f.one(".") {
			f.any(decimals)
		}
	}
	if f.one("eE") {
		f.one("-+")
		f.some(decimals)
	}
	return f.matches()
}

// special is [-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)
func special(text string) bool {
	f := form{rest: text}
	signed := f.one("-+")
	f.must(".")
	if signed {
		f.word("inf", "Inf", "INF")
	} else {
		f.word("inf", "Inf", "INF", "nan", "NaN", "NAN")
	}
	return f.matches()
}

// oldInt is [-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)
func oldInt(text string) bool {
	f := form{rest: text}
	f.one("-+")
	switch {
	case !f.one("0"):
		f.must("123456789")
		f.any(decimals + "_")
	case f.one("b"):
		f.some("01_")
	case f.one("x"):
		f.some(hexes + "_")
	default:
		f.any("01234567_")
	}
	return f.matches()
}

// oldSixty is [-+]?[1-9][0-9_]*(:[0-5]?[0-9])+
// or [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*
func oldSixty(text string) bool {
	f := form{rest: text}
	f.one("-+")
	zero := strings.HasPrefix(f.rest, "0")
	f.must(decimals)
	f.any(decimals + "_")
	f.need(strings.HasPrefix(f.rest, ":"))
	for f.one(":") {
		low := f.one("012345")
		f.need(f.one(decimals) || low)
	}
	if f.one(".") {
		f.any(decimals + "_")
	} else {
		f.need(!zero)
	}
	return f.matches()
}

// oldFloat is ([-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?
func oldFloat(text string) bool {
	f := form{rest: text}
	if f.one(".") {
		f.must(decimals)
		f.any(decimals + "_")
	} else {
		f.one("-+")
		f.must(decimals)
		f.any(decimals + "_")
		f.must(".")
		f.any(decimals + "_")
	}
	if f.one("eE") {
		f.must("-+")
		f.some(decimals)
	}
	return f.matches()
}

// oldDate is a day, 2001-01-23, or a day with a time and perhaps a zone, where
// month, day and hour may have one digit.
func oldDate(text string) bool {
	day := form{rest: text}
	day.times(4, 4, decimals)
	day.must("-")
	day.times(2, 2, decimals)
	day.must("-")
	day.times(2, 2, decimals)
	return day.matches() || oldTime(text)
}

func oldTime(text string) bool {
	f := form{rest: text}
	f.times(4, 4, decimals)
	f.must("-")
	f.times(1, 2, decimals)
	f.must("-")
	f.times(1, 2, decimals)
	f.need(f.one("Tt") || f.any(" \t") > 0)
	f.times(1, 2, decimals)
	f.must(":")
	f.times(2, 2, decimals)
	f.must(":")
	f.times(2, 2, decimals)
	if f.one(".") {
		f.any(decimals)
	}
	if f.rest == "" {
		return f.matches()
	}
	f.any(" \t")
	if !f.one("Z") {
		f.must("-+")
		f.times(1, 2, decimals)
		if f.one(":") {
			f.times(2, 2, decimals)
		}
	}
	return f.matches()
}

package pattern

import "strings"

// kinds are kinds of text for which patterns mean more than they seem to. A
// text that is of none of them is plain: on plain texts many expressions and
// globs are nothing but literals with anything between them.
type kinds uint8

const (
	manyLines   kinds = 1 << iota // has a newline, which . does not match
	backslashed                   // has a backslash, which Wildcard takes for a slash
	untidy                        // a path with empty segments, dots that lead, or a slash at its end
)

// has reports whether s is of one of the kinds.
func (k kinds) has(s string) bool {
	return k&manyLines != 0 && strings.IndexByte(s, '\n') >= 0 ||
		k&untidy != 0 && isUntidy(s) ||
		k&backslashed != 0 && strings.IndexByte(s, '\\') >= 0
}

// isUntidy looks for a slash before a slash or a dot, eight bytes at a time.
func isUntidy(s string) bool {
	if s == "" || s[0] == '.' || s[len(s)-1] == '/' {
		return true
	}
	const ones, low, slashes = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, '/' * 0x0101010101010101
	i := 0
	for ; i+9 <= len(s); i += 8 {
		x := eightOf(s, i) ^ slashes
		y := (eightOf(s, i+1) | ones) ^ slashes // a dot is a slash but for its last bit
		if x = x | y; ^((x&low + low) | x | low) != 0 {
			return true
		}
	}
	for ; i+1 < len(s); i++ {
		if s[i] == '/' && s[i+1]|1 == '/' {
			return true
		}
	}
	return false
}

// eightOf returns the eight bytes of s at i.
func eightOf(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Package word has small questions about one word of a command line.
//
// It owns no knowledge of programs: package kb has that.
package word

import "strings"

// IsFlag reports whether a word begins like a flag.
func IsFlag(s string) bool { return len(s) > 1 && s[0] == '-' }

// Letters returns the letters of flags that stand together, `rl` of `-rl`; "" for `--all`.
func Letters(s string) string {
	if IsFlag(s) && s[1] != '-' {
		return s[1:]
	}
	return ""
}

// AllDigits reports whether a text is a number.
func AllDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// IsByte reports whether a byte may stand in a name.
func IsByte(ch byte) bool {
	letter := ch|0x20 >= 'a' && ch|0x20 <= 'z' || ch >= 0x80
	return letter || ch == '_' || ch >= '0' && ch <= '9'
}

// IsName reports whether a text has only ASCII letters, digits and underscores.
func IsName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 || !IsByte(byte(r)) })
}

// HasGlob reports whether a path holds a character of a shell pattern.
func HasGlob(p string) bool { return strings.ContainsAny(p, "*?[") }

// Plain reports whether a shell reads a text as it is, without quotes.
func Plain(s string) bool {
	if s == "" || s[0] == '~' || s[0] == '#' {
		return false
	}
	return !strings.ContainsAny(s, " \t\n\r'\"\\$`|&;()<>*?[!{")
}

// Or returns the first of two texts that is not empty.
func Or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

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

// AnyCase returns a pattern without regard to case: a letter, and a bracket that may have one, is any: `.e[n]v` is
// `.???`.
func AnyCase(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		switch end := bracket(glob[i:]); {
		case isLetter(c):
			c = '?'
		case c == '\\' && i+1 < len(glob) && isLetter(glob[i+1]):
			c = '?'
			i++
		case c == '\\' && i+1 < len(glob):
			b.WriteByte(c)
			i++
			c = glob[i]
		case end > 0:
			c = '?'
			i += end
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// bracket returns where the bracket ends that a pattern begins with; 0 where it begins with none, as `[x` does not.
func bracket(glob string) int {
	if glob[0] != '[' {
		return 0
	}
	i := 1
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		i++
	}
	for first := i; i < len(glob); i++ {
		switch class := strings.Index(glob[i:], ":]"); {
		case glob[i] == ']' && i > first:
			return i
		case strings.HasPrefix(glob[i:], "[:") && class > 0:
			i += class + 1
		case glob[i] == '\\':
			i++
		}
	}
	return 0
}

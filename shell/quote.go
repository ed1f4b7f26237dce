package shell

import (
	"strings"
	"unicode/utf8"
)

// unescape removes the backslashes of an unquoted literal.
func unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 && i+1 < len(s) {
		b.WriteString(s[:i])
		if s[i+1] != '\n' {
			b.WriteByte(s[i+1])
		}
		s = s[i+2:]
		i = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}

// unescapeDouble removes the backslashes that count inside double quotes;
// extra holds the characters besides $, ` and \ that a backslash protects.
func unescapeDouble(s, extra string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 && i+1 < len(s) {
		b.WriteString(s[:i])
		switch c := s[i+1]; {
		case c == '\n':
		case c == '$' || c == '`' || c == '\\' || strings.IndexByte(extra, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
		s = s[i+2:]
		i = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}

// ansiC decodes the inside of $'...'. sure is false if the value depends on the locale.
func ansiC(s string) (text string, sure bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	sure = true
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'x', 'u', 'U', '0', '1', '2', '3', '4', '5', '6', '7':
			if strings.HasPrefix(s[i:], "x{") { // a form whose end differs between versions
				return string(b), false
			}
			r, n := ansiNumber(s[i:])
			if n == 0 {
				b = append(b, '\\', c)
				continue
			}
			i += n - 1
			if r == 0 { // the string ends at a NUL, the rest is lost
				return string(b), sure
			}
			if c == 'u' || c == 'U' {
				sure = sure && r < utf8.RuneSelf
				b = utf8.AppendRune(b, rune(r))
			} else {
				b = append(b, byte(r))
			}
		case 'c':
			if i+1 >= len(s) {
				b = append(b, '\\', 'c')
				continue
			}
			i++
			if s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\' {
				i++
			}
			v := controlOf(s[i])
			if v == 0 {
				return string(b), sure
			}
			b = append(b, v)
		default:
			b = appendSimpleEscape(b, c)
		}
	}
	return string(b), sure
}

func controlOf(c byte) byte {
	if c == '?' {
		return 0x7f
	}
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c & 0x1f
}

func appendSimpleEscape(b []byte, c byte) []byte {
	const from, to = "abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v"
	if k := strings.IndexByte(from, c); k >= 0 {
		return append(b, to[k])
	}
	if c == '\\' || c == '\'' || c == '"' || c == '?' {
		return append(b, c)
	}
	return append(b, '\\', c)
}

// ansiNumber reads a numeric escape that starts with its letter or first octal digit.
// It returns the value and how many bytes it took; 0 bytes if it is not one.
func ansiNumber(s string) (value uint32, n int) {
	start, most, base := 1, 0, uint32(16)
	switch s[0] {
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
		most = 8
	default:
		start, most, base = 0, 3, 8
	}
	i := start
	for ; i < len(s) && i < start+most; i++ {
		d := digitOf(s[i])
		if d >= base {
			break
		}
		value = value*base + d
	}
	if i == start {
		return 0, 0
	}
	if s[0] != 'u' && s[0] != 'U' {
		value &= 0xff
	}
	return value, i
}

func digitOf(c byte) uint32 {
	switch {
	case '0' <= c && c <= '9':
		return uint32(c - '0')
	case 'a' <= c && c <= 'f':
		return uint32(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint32(c-'A') + 10
	}
	return 255
}

// Quote writes an argument for a POSIX shell: `a b` becomes `'a b'`, and a plain word stays as it is.
func Quote(s string) string {
	if s != "" && strings.Trim(s, plainChars) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// plainChars are the characters of words that mean themselves in a shell.
const plainChars = "-/._+:@%=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Package pytext writes values as Python does: str, repr, json.dumps, re.escape,
// Strip and the truth of a value.
//
// Two of the systems that obstat reads are Python programs, and match their
// patterns against these texts. It owns the texts and nothing else.
package pytext

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/obstat/obstat/internal/format/tree"
)

// Strip is str.strip: Go's spaces and the four separators that only Python
// counts among them.
func Strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// Truthy tells whether Python's `if x:` holds.
func Truthy(n *tree.Node) bool {
	if n == nil {
		return false
	}
	switch n.Kind {
	case tree.Bool:
		return n.Bool
	case tree.Number:
		f, _ := strconv.ParseFloat(n.Num, 64)
		return f != 0
	case tree.String:
		return n.Str != ""
	case tree.Array:
		return len(n.Elems) > 0
	case tree.Object:
		return len(n.Members) > 0
	}
	return false
}

// Str is str(x).
func Str(n *tree.Node) string {
	if n.Is(tree.String) {
		return n.Str
	}
	return repr.Write(n)
}

// repr is repr(x).
var repr = tree.Notation{Comma: ", ", Colon: ": ", Scalar: func(n *tree.Node) string {
	switch {
	case n.Is(tree.Bool):
		return map[bool]string{true: "True", false: "False"}[n.Bool]
	case n.Is(tree.Number):
		return number(n.Num)
	case n.Is(tree.String):
		return Quote(n.Str)
	}
	return "None"
}}

// number is repr of the number that Python reads from a JSON text: an int
// keeps its digits, a float is written in the shortest way that reads back.
func number(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		if v, ok := new(big.Int).SetString(text, 10); ok {
			return v.String()
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && f == 0:
		return text
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return float(f)
}

// float is float.__repr__ of a finite number: `1.0`, `1e+16`, `1e-05`.
func float(f float64) string {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	if exp, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:]); exp < -4 || exp >= 16 {
		return text
	}
	if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Quote is repr of a string.
func Quote(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// Escape is re.escape.
func Escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if mustEscape(s[i]) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mustEscape tells whether re.escape puts a backslash before a character.
func mustEscape(c byte) bool {
	return strings.IndexByte("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", c) >= 0
}

// Unescape undoes Escape; ok is false where the text is more than an escaped
// one.
func Unescape(expr string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\' && i+1 < len(expr) && mustEscape(expr[i+1]):
			i++
			b.WriteByte(expr[i])
		case mustEscape(c):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

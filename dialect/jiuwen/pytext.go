package jiuwen

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/obstat/obstat/internal/tree"
)

// The original is a Python program, and what it matches is what Python makes
// of an argument: str(x) where a command is not a string, repr(args) where the
// legacy matcher looks at all of them, strip() with Python's blanks.

// strip is str.strip: Go's spaces and the four separators that only Python
// counts among them.
func strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// truthy is what `if x:` sees.
func truthy(n *tree.Node) bool {
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

// pyStr is str(x).
func pyStr(n *tree.Node) string {
	if n.Is(tree.String) {
		return n.Str
	}
	var b strings.Builder
	pyRepr(&b, n)
	return b.String()
}

// pyRepr is repr(x).
func pyRepr(b *strings.Builder, n *tree.Node) {
	if n == nil {
		b.WriteString("None")
		return
	}
	switch n.Kind {
	case tree.Bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[n.Bool])
	case tree.Number:
		b.WriteString(pyNumber(n.Num))
	case tree.String:
		b.WriteString(pyQuote(n.Str))
	case tree.Array:
		b.WriteByte('[')
		for i, e := range n.Elems {
			if i > 0 {
				b.WriteString(", ")
			}
			pyRepr(b, e)
		}
		b.WriteByte(']')
	case tree.Object:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(pyQuote(m.Key) + ": ")
			pyRepr(b, m.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString("None")
	}
}

// pyNumber is repr of the number that Python reads from a JSON text: an int
// keeps its digits, a float is written in the shortest way that reads back.
func pyNumber(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		if v, ok := new(big.Int).SetString(text, 10); ok {
			return v.String()
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && f == 0 {
		return text
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return strings.ToLower(strings.TrimPrefix(s, "+"))[:min(len(s), 4)]
	}
	if e, _ := strconv.Atoi(exp); e < -4 || e >= 16 {
		return fmt.Sprintf("%se%+03d", mantissa, e)
	}
	if s = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyQuote is repr of a string.
func pyQuote(s string) string {
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

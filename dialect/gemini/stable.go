package gemini

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/tree"
)

// stable writes arguments as Gemini CLI does for its rules: keys in order, no blanks, and a
// zero byte around each top-level pair, which no value can have in it.
func stable(args *tree.Node) string {
	var b strings.Builder
	writeValue(&b, args, true)
	return b.String()
}

func writeValue(b *strings.Builder, n *tree.Node, top bool) {
	switch n.Kind {
	case tree.Object:
		b.WriteByte('{')
		for i, m := range sorted(n.Members) {
			if i > 0 {
				b.WriteByte(',')
			}
			if top {
				b.WriteByte(0)
			}
			b.WriteString(jsonString(m.Key) + ":")
			writeValue(b, m.Value, false)
			if top {
				b.WriteByte(0)
			}
		}
		b.WriteByte('}')
	case tree.Array:
		b.WriteByte('[')
		for i, e := range n.Elems {
			if i > 0 {
				b.WriteByte(',')
			}
			writeValue(b, e, false)
		}
		b.WriteByte(']')
	case tree.String:
		b.WriteString(jsonString(n.Str))
	case tree.Number:
		b.WriteString(number(n.Num))
	case tree.Bool:
		b.WriteString(strconv.FormatBool(n.Bool))
	default:
		b.WriteString("null")
	}
}

// sorted returns members in the order of JavaScript: by the halves of their characters.
func sorted(ms []tree.Member) []tree.Member {
	out := slices.Clone(ms)
	slices.SortStableFunc(out, func(a, b tree.Member) int {
		return slices.Compare(utf16.Encode([]rune(a.Key)), utf16.Encode([]rune(b.Key)))
	})
	return out
}

// number writes a number as JavaScript does.
func number(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch abs := math.Abs(f); {
	case err != nil:
		return "null" // beyond what a number can be
	case f == 0:
		return "0"
	case abs >= 1e21 || abs < 1e-6:
		s := strconv.FormatFloat(f, 'e', -1, 64)
		mantissa, exp, _ := strings.Cut(s, "e")
		return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// jsonString writes a text as JSON.stringify does.
func jsonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < 0x20 {
				b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
			} else {
				b.WriteString(s[i : i+size])
			}
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

package pytext

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// maxInt is the longest integer that Python reads from text.
const maxInt = 4300

// JSON writes a JSON text as json.dumps(x, sort_keys=True) does: `{"b":1,"a":"é"}`
// becomes `{"a": "\u00e9", "b": 1}`.
func JSON(raw []byte) (string, error) {
	n, problems := jsonx.Parse(raw, jsonx.Options{NUL: true})
	for _, p := range problems {
		if !p.Warning {
			return "", errors.New(p.Error())
		}
	}
	var failed error
	dumps := tree.Notation{Comma: ", ", Colon: ": ", Order: strings.Compare, Scalar: func(n *tree.Node) string {
		switch {
		case n.Is(tree.Bool):
			return strconv.FormatBool(n.Bool)
		case n.Is(tree.String):
			return jsonText(n.Str)
		case n.Is(tree.Number):
			text, err := jsonNumber(n.Num)
			failed = errors.Join(failed, err)
			return text
		}
		return "null"
	}}
	text := dumps.Write(n)
	return text, failed
}

// jsonNumber writes an integer with its digits and anything else as the
// float that Python would have read.
func jsonNumber(num string) (string, error) {
	if !strings.ContainsAny(num, ".eE") {
		if len(num) > maxInt {
			return "", fmt.Errorf("an integer of %d digits; Python reads at most %d", len(num), maxInt)
		}
		if num == "-0" {
			num = "0"
		}
		return num, nil
	}
	f, err := strconv.ParseFloat(num, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return "", err
	case math.IsInf(f, 1):
		return "Infinity", nil
	case math.IsInf(f, -1):
		return "-Infinity", nil
	}
	return float(f), nil
}

// jsonText writes s with every character outside printable ASCII escaped.
func jsonText(s string) string {
	const short = "\"\\\n\r\t\f\b"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch i := strings.IndexRune(short, r); {
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\nrtfb`[i])
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

package pytext

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
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
	var b strings.Builder
	err := writeValue(&b, n)
	return b.String(), err
}

// writeValue writes one value. jsonx bounds the depth.
func writeValue(b *strings.Builder, n *tree.Node) error {
	switch n.Kind {
	case tree.Null:
		b.WriteString("null")
	case tree.Bool:
		b.WriteString(strconv.FormatBool(n.Bool))
	case tree.String:
		writeString(b, n.Str)
	case tree.Number:
		return writeNumber(b, n.Num)
	case tree.Array:
		return writeArray(b, n.Elems)
	case tree.Object:
		return writeObject(b, n.Members)
	default:
		return errors.New("no value")
	}
	return nil
}

func writeArray(b *strings.Builder, elems []*tree.Node) error {
	b.WriteByte('[')
	for i, e := range elems {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := writeValue(b, e); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// writeObject sorts keys by their bytes, which is Python's order of code
// points.
func writeObject(b *strings.Builder, members []tree.Member) error {
	members = slices.SortedFunc(slices.Values(members), func(x, y tree.Member) int { return cmp.Compare(x.Key, y.Key) })
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteString(", ")
		}
		writeString(b, m.Key)
		b.WriteString(": ")
		if err := writeValue(b, m.Value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// writeNumber writes an integer with its digits and anything else as the
// float that Python would have read.
func writeNumber(b *strings.Builder, num string) error {
	if !strings.ContainsAny(num, ".eE") {
		if len(num) > maxInt {
			return fmt.Errorf("an integer of %d digits; Python reads at most %d", len(num), maxInt)
		}
		if num == "-0" {
			num = "0"
		}
		b.WriteString(num)
		return nil
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return err
	}
	switch {
	case math.IsInf(f, 1):
		b.WriteString("Infinity")
	case math.IsInf(f, -1):
		b.WriteString("-Infinity")
	default:
		b.WriteString(float(f))
	}
	return nil
}

// writeString writes s with every character outside printable ASCII escaped.
func writeString(b *strings.Builder, s string) {
	const short = "\"\\\n\r\t\f\b"
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
			fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

package adkfluent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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

// maxPythonInt is the longest integer that Python reads from text.
const maxPythonInt = 4300

// LegacyKey returns the key under which the original remembers an answer to
// this call: the first sixteen digits of the SHA-256 of what Python's
// json.dumps(..., sort_keys=True) writes. It is for reading old records; new
// ones use the whole hash (see Memory).
func LegacyKey(tool string, args []byte) (string, error) {
	text, err := pythonText(tool, args)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8]), nil
}

// pythonText writes {"args": ..., "tool": ...} as Python does.
func pythonText(tool string, args []byte) (string, error) {
	n, problems := jsonx.Parse(args, jsonx.Options{NUL: true})
	for _, p := range problems {
		if !p.Warning {
			return "", errors.New(p.Error())
		}
	}
	var b strings.Builder
	b.WriteString(`{"args": `)
	if err := pythonValue(&b, n); err != nil {
		return "", err
	}
	b.WriteString(`, "tool": `)
	pythonString(&b, tool)
	b.WriteByte('}')
	return b.String(), nil
}

// pythonValue writes one value. jsonx bounds the depth.
func pythonValue(b *strings.Builder, n *tree.Node) error {
	switch n.Kind {
	case tree.Null:
		b.WriteString("null")
	case tree.Bool:
		b.WriteString(strconv.FormatBool(n.Bool))
	case tree.String:
		pythonString(b, n.Str)
	case tree.Number:
		return pythonNumber(b, n.Num)
	case tree.Array:
		return pythonArray(b, n.Elems)
	case tree.Object:
		return pythonObject(b, n.Members)
	default:
		return errors.New("no value")
	}
	return nil
}

func pythonArray(b *strings.Builder, elems []*tree.Node) error {
	b.WriteByte('[')
	for i, e := range elems {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := pythonValue(b, e); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// pythonObject sorts keys by their bytes, which is Python's order of code
// points.
func pythonObject(b *strings.Builder, members []tree.Member) error {
	members = slices.SortedFunc(slices.Values(members), func(x, y tree.Member) int { return cmp.Compare(x.Key, y.Key) })
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteString(", ")
		}
		pythonString(b, m.Key)
		b.WriteString(": ")
		if err := pythonValue(b, m.Value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// pythonNumber writes an integer with its digits and anything else as the
// float that Python would have read.
func pythonNumber(b *strings.Builder, num string) error {
	if !strings.ContainsAny(num, ".eE") {
		if len(num) > maxPythonInt {
			return fmt.Errorf("an integer of %d digits; Python reads at most %d", len(num), maxPythonInt)
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
	b.WriteString(pythonFloat(f))
	return nil
}

// pythonFloat is float.__repr__, and json.dumps's words for what is no number.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return text
	}
	text = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// pythonString writes s with every character outside printable ASCII escaped.
func pythonString(b *strings.Builder, s string) {
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

package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/format/tree"
)

// An Object is a JSON object that keeps the order of its keys.
type Object []Field

// A Field is one key of an Object.
type Field struct {
	Key   string
	Value any
}

// Get returns the value of key and whether it is there.
func (o Object) Get(key string) (any, bool) {
	for _, f := range o {
		if f.Key == key {
			return f.Value, true
		}
	}
	return nil, false
}

// A Number is a number as it was written: no digit is lost.
type Number string

// Value turns a tree into plain Go values: Object, []any, string, Number, bool
// and nil. Value(nil) is nil.
func Value(n *tree.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case tree.Object:
		o := make(Object, len(n.Members))
		for i, m := range n.Members {
			o[i] = Field{m.Key, Value(m.Value)}
		}
		return o
	case tree.Array:
		a := make([]any, len(n.Elems))
		for i, e := range n.Elems {
			a[i] = Value(e)
		}
		return a
	case tree.String:
		return n.Str
	case tree.Number:
		return Number(n.Num)
	case tree.Bool:
		return n.Bool
	}
	return nil
}

// Marshal writes v as JSON on one line without blanks. It takes the types that
// Value returns, *tree.Node, and the plain Go types map[string]any (keys sorted),
// []string, int, int64, uint64 and float64. Text that is not UTF-8, numbers JSON
// cannot write, equal keys and other types are errors.
func Marshal(v any) ([]byte, error) {
	return appendValue(nil, v, false, 0)
}

// Canonical rewrites strict JSON in the one form that equal documents share:
// keys sorted by their bytes, no blanks, the shortest escapes. Numbers keep
// their digits: rounding them as RFC 8785 does would give different calls one
// digest.
func Canonical(raw []byte) ([]byte, error) {
	n, problems := Parse(raw, Options{NUL: true})
	if len(problems) > 0 {
		line, col := tree.LineCol(raw, problems[0].Offset)
		return nil, fmt.Errorf("%d:%d: %w", line, col, problems[0])
	}
	return appendValue(nil, n, true, 0)
}

// Quote writes s as a JSON string. Broken UTF-8 becomes U+FFFD.
func Quote(s string) string {
	return string(appendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

var errDepth = errors.New("value is nested too deep for JSON")

func appendValue(b []byte, v any, sorted bool, depth int) ([]byte, error) {
	if depth > MaxDepth+1 {
		return nil, errDepth
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("text %.40q is not UTF-8", v)
		}
		return appendString(b, v), nil
	case *tree.Node:
		return appendValue(b, Value(v), sorted, depth)
	case Object:
		return appendObject(b, v, sorted, depth)
	case map[string]any:
		o := make(Object, 0, len(v))
		for k, e := range v {
			o = append(o, Field{k, e})
		}
		return appendObject(b, o, true, depth)
	case []any:
		return appendArray(b, v, sorted, depth)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return appendArray(b, list, sorted, depth)
	}
	return appendNumber(b, v)
}

func appendNumber(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case Number:
		if !isNumber(string(v)) {
			return nil, fmt.Errorf("%.40q is not a JSON number", string(v))
		}
		return append(b, v...), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("JSON has no number %v", v)
		}
		return strconv.AppendFloat(b, v, 'g', -1, 64), nil
	}
	return nil, fmt.Errorf("a %T cannot be written as JSON", v)
}

func appendArray(b []byte, list []any, sorted bool, depth int) ([]byte, error) {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, e, sorted, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, o Object, sorted bool, depth int) ([]byte, error) {
	byKey := slices.Clone(o)
	slices.SortStableFunc(byKey, func(x, y Field) int { return strings.Compare(x.Key, y.Key) })
	for i := 1; i < len(byKey); i++ {
		if byKey[i].Key == byKey[i-1].Key {
			return nil, fmt.Errorf("the key %.60q stands twice in one object", byKey[i].Key)
		}
	}
	if sorted {
		o = byKey
	}
	b = append(b, '{')
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, f.Key, sorted, depth+1); err != nil {
			return nil, err
		}
		if b, err = appendValue(append(b, ':'), f.Value, sorted, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c != '"' && c != '\\' {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return append(b, '"')
}

// appendEscape writes a character that JSON does not have as it is.
func appendEscape(b []byte, c byte) []byte {
	if c == '"' || c == '\\' {
		return append(b, '\\', c)
	}
	if j := bytes.IndexByte([]byte("\b\f\n\r\t"), c); j >= 0 {
		return append(b, '\\', "bfnrt"[j])
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

package pattern

import (
	"strings"
	"sync"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// JSON is equality of JSON values: the order of an object's members and the
// way a value is written do not count, numbers are equal by value (1, 1.0 and
// 10e-1), strings by their characters. A text that is not JSON, or names a
// member of an object twice, is equal to nothing.

// jsonValue is a pattern, read.
type jsonValue struct {
	kind    jsonx.Kind // of its first token
	text    string     // of a string
	num     jsonNumber
	items   []*jsonValue   // of an array; of an object, the members' values
	members map[string]int // of an object: where in items
}

var jsonOptions = jsonx.Options{NUL: true, NoMark: true}

var scanners = sync.Pool{New: func() any { return new(jsonx.Scanner) }}

func readJSONPattern(text string) (*reading, error) {
	var s jsonx.Scanner
	s.Reset(text, jsonOptions)
	v := readJSON(&s, s.Next())
	s.Next()
	if p := s.Err(); p != nil {
		return nil, &SyntaxError{p.Offset, p.Msg}
	}
	return &reading{m: v}, nil
}

// readJSON reads the value whose first token is k.
func readJSON(s *jsonx.Scanner, k jsonx.Kind) *jsonValue {
	v := &jsonValue{kind: k}
	switch k {
	case jsonx.Str:
		v.text = s.Text
	case jsonx.Num:
		v.num = newNumber(s.Text)
	case jsonx.ArrayStart:
		for k = s.Next(); k != jsonx.ArrayEnd && k != jsonx.Bad; k = s.Next() {
			v.items = append(v.items, readJSON(s, k))
		}
	case jsonx.ObjectStart:
		v.members = map[string]int{}
		for s.Next() == jsonx.Key {
			v.members[s.Text] = len(v.items)
			v.items = append(v.items, readJSON(s, s.Next()))
		}
	}
	return v
}

func (v *jsonValue) Match(text string) (bool, error) {
	s := scanners.Get().(*jsonx.Scanner)
	s.Reset(text, jsonOptions)
	ok := v.equal(s, s.Next()) && s.Next() == jsonx.End
	s.Reset("", jsonOptions)
	scanners.Put(s)
	return ok, nil
}

// equal compares v with the value whose first token is k; it stops where they
// differ.
func (v *jsonValue) equal(s *jsonx.Scanner, k jsonx.Kind) bool {
	if k != v.kind {
		return false
	}
	switch k {
	case jsonx.Str:
		return s.Text == v.text
	case jsonx.Num:
		return v.num.equal(newNumber(s.Text))
	case jsonx.ArrayStart:
		for _, item := range v.items {
			if !item.equal(s, s.Next()) {
				return false
			}
		}
		return s.Next() == jsonx.ArrayEnd
	case jsonx.ObjectStart:
		for range v.items {
			if s.Next() != jsonx.Key {
				return false
			}
			i, ok := v.members[s.Text] // the scanner refuses a second of that name
			if !ok || !v.items[i].equal(s, s.Next()) {
				return false
			}
		}
		return s.Next() == jsonx.ObjectEnd
	}
	return true
}

// A jsonNumber is 0.DIGITS times ten to the exp, where the digits are those of whole and
// then of fraction, from the first that is not 0 to the last.
type jsonNumber struct {
	negative        bool
	whole, fraction string // as they stand before and behind the point; both "" is 0
	exp             int64
	wild            bool // the exponent is beyond all reason: equal to nothing
}

// maxExponent is where an exponent is beyond all reason.
const maxExponent = 1 << 40

// newNumber returns the value of a number as JSON writes it.
func newNumber(text string) (n jsonNumber) {
	text, n.negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n.exp = exponent(text[i+1:])
		text = text[:i]
	}
	n.wild = n.exp >= maxExponent || n.exp <= -maxExponent
	whole, fraction, _ := strings.Cut(text, ".")
	n.whole, n.fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	n.exp += int64(len(n.whole))
	if n.whole == "" {
		n.exp -= int64(len(n.fraction))
		n.fraction = strings.TrimLeft(n.fraction, "0")
		n.exp += int64(len(n.fraction))
	}
	if n.fraction == "" {
		n.whole = strings.TrimRight(n.whole, "0")
	}
	if n.whole+n.fraction == "" {
		return jsonNumber{}
	}
	return n
}

// exponent reads the digits behind an e, up to maxExponent.
func exponent(s string) (exp int64) {
	digits := strings.TrimLeft(s, "+-")
	for _, c := range []byte(digits) {
		exp = min(exp*10+int64(c-'0'), maxExponent)
	}
	if s[0] == '-' {
		return -exp
	}
	return exp
}

// equal compares by value.
func (n jsonNumber) equal(o jsonNumber) bool {
	return !n.wild && !o.wild && n.negative == o.negative && n.exp == o.exp && n.whole+n.fraction == o.whole+o.fraction
}

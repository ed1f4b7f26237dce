package pattern

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// Order compares: `>=10`, `<2026-12-31`, `>=09:00<17:00`. Where both are numbers they are compared as numbers,
// and a text that is no number is neither more nor less than one; other texts are compared byte
// by byte, as dates and times of day can be.

// An order is one comparison of a pattern.
type order struct {
	less, equal, more bool // a smaller text matches, the same one, a larger one
	value             string
	number            bool
}

// orders are comparisons that all have to hold: `>=09:00<17:00`.
type orders []order

func readOrder(text string) (*reading, error) {
	var out orders
	for at := 0; at < len(text) || at == 0; {
		rest := text[at:]
		o := order{less: strings.HasPrefix(rest, "<"), more: strings.HasPrefix(rest, ">")}
		if !o.less && !o.more {
			return nil, &SyntaxError{at, "an order begins with <, <=, > or >="}
		}
		value, equal := strings.CutPrefix(rest[1:], "=")
		o.equal, o.value = equal, untilAny(value, "<>")
		if o.number = isNumber(o.value); o.value == "" {
			return nil, &SyntaxError{at, "there is nothing to compare with"}
		}
		out = append(out, o)
		at = len(text) - len(value) + len(o.value)
	}
	return &reading{m: out}, nil
}

func (os orders) Match(text string) (bool, error) {
	for i := range os {
		if !os[i].holds(text) {
			return false, nil
		}
	}
	return true, nil
}

func (o *order) holds(text string) bool {
	c := strings.Compare(text, o.value)
	if o.number {
		if !isNumber(text) {
			return false
		}
		x, err1 := strconv.ParseFloat(text, 64)
		y, err2 := strconv.ParseFloat(o.value, 64)
		if err1 != nil || err2 != nil {
			return false // larger than any number that a tool takes
		}
		c = cmp.Compare(x, y)
	}
	switch {
	case c < 0:
		return o.less
	case c > 0:
		return o.more
	}
	return o.equal
}

// isNumber tells whether a text is a number as JSON writes one.
func isNumber(text string) bool {
	var s jsonx.Scanner
	s.Reset(text, jsonOptions)
	return s.Next() == jsonx.Num && s.Next() == jsonx.End
}

// untilAny returns s up to the first of some bytes.
func untilAny(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

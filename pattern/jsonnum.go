package pattern

import "strings"

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

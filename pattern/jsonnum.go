package pattern

import "strings"

// A jsonNumber is 0.DIGITS times ten to the exp, where the digits are those of
// text, without the point, from the first that is not 0 to the last.
type jsonNumber struct {
	negative bool
	text     string // the digits, perhaps with a point among them; "" is 0
	exp      int64
	wild     bool // the exponent is beyond all reason: equal to nothing
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
	whole := strings.IndexByte(text, '.')
	if whole < 0 {
		whole = len(text)
	}
	n.normalize(text, whole)
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

// normalize takes the digits, of which whole stand before the point, in the
// form of the type's comment.
func (n *jsonNumber) normalize(text string, whole int) {
	n.wild = n.exp >= maxExponent || n.exp <= -maxExponent
	n.exp += int64(whole)
	for text != "" && (text[0] == '0' || text[0] == '.') {
		if text[0] == '0' {
			n.exp--
		}
		text = text[1:]
	}
	if strings.IndexByte(text, '.') >= 0 {
		text = strings.TrimRight(text, "0")
		text = strings.TrimSuffix(text, ".")
	}
	if strings.IndexByte(text, '.') < 0 {
		text = strings.TrimRight(text, "0")
	}
	n.text = text
	if text == "" {
		*n = jsonNumber{}
	}
}

// equal compares by value.
func (n jsonNumber) equal(o jsonNumber) bool {
	if n.wild || o.wild || n.negative != o.negative || n.exp != o.exp {
		return false
	}
	i, j := 0, 0
	for {
		if i < len(n.text) && n.text[i] == '.' {
			i++
		}
		if j < len(o.text) && o.text[j] == '.' {
			j++
		}
		if i == len(n.text) || j == len(o.text) {
			return i == len(n.text) && j == len(o.text)
		}
		if n.text[i] != o.text[j] {
			return false
		}
		i++
		j++
	}
}

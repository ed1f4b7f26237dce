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

// number reads a number as JSON writes them.
func (r *jsonReader) number() (jsonNumber, bool) {
	var n jsonNumber
	i := r.at
	if i < len(r.s) && r.s[i] == '-' {
		n.negative = true
		i++
	}
	start := i
	i = skipDigits(r.s, i)
	whole := i - start
	if whole == 0 || whole > 1 && r.s[start] == '0' {
		return n, r.fail("this is no JSON number")
	}
	if i < len(r.s) && r.s[i] == '.' {
		end := skipDigits(r.s, i+1)
		if end == i+1 {
			return n, r.fail("this is no JSON number")
		}
		i = end
	}
	digitsEnd := i
	if i < len(r.s) && r.s[i]|0x20 == 'e' {
		exp, end := exponent(r.s, i+1)
		if end == 0 {
			return n, r.fail("this is no JSON number")
		}
		n.exp, i = exp, end
	}
	n.normalize(r.s[start:digitsEnd], whole)
	r.at = i
	return n, true
}

func skipDigits(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// exponent reads what follows the e, saturated; its end is 0 if it is none.
func exponent(s string, i int) (exp int64, end int) {
	negative := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		negative = s[i] == '-'
		i++
	}
	end = skipDigits(s, i)
	if end == i {
		return 0, 0
	}
	for ; i < end; i++ {
		exp = min(exp*10+int64(s[i]-'0'), maxExponent)
	}
	if negative {
		exp = -exp
	}
	return exp, end
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

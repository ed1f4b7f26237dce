package ledger

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A walker copies a valid JSON text and masks on the way: everything that is no
// secret keeps its bytes, and of two equal keys neither escapes.
type walker struct {
	m        *Masker
	rules    *secretRules
	pointers [][]string
	ours     bool // the first level is named by us: a key is no secret there

	src   []byte
	at    int
	out   []byte
	path  []string
	found []Masked
}

// maxWalk bounds the depth; what is deeper is masked.
const maxWalk = 32

func (w *walker) space() {
	for w.at < len(w.src) && strings.IndexByte(" \t\r\n", w.src[w.at]) >= 0 {
		w.at++
	}
}

// copy takes n bytes over.
func (w *walker) copy(n int) {
	w.out = append(w.out, w.src[w.at:w.at+n]...)
	w.at += n
}

// value copies or masks the value that comes next; st is how secret its name
// makes it, and why says so.
func (w *walker) value(st strength, why string) {
	w.space()
	if w.pointed() {
		st, why = strong, "configured"
	}
	raw := w.src[w.at : w.at+w.skip()]
	switch {
	case string(raw) == `"`+Mask+`"`:
		w.copy(len(raw))
	case w.rules == nil || len(w.path) > maxWalk:
		w.mask(raw, raw, "too deep")
	case raw[0] == '"':
		w.at += len(raw)
		w.str(raw, st, why)
	case raw[0] == '{' && (st != strong || len(raw) == 2):
		w.object(st)
	case raw[0] == '[' && (st != strong || len(raw) == 2):
		w.array(st, why)
	case st == strong && raw[0] != 't' && raw[0] != 'f' && raw[0] != 'n':
		w.mask(raw, raw, why)
	default:
		w.copy(len(raw))
	}
}

// mask puts the mask in place of raw, which comes next, or was taken already.
func (w *walker) mask(raw, value []byte, why string) {
	w.at += len(raw)
	w.masked(value, why)
	w.out = append(w.out, `"`+Mask+`"`...)
}

func (w *walker) masked(value []byte, why string) {
	if len(w.found) > maxMasked {
		return
	}
	var p strings.Builder
	for _, s := range w.path {
		p.WriteByte('/')
		p.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	w.found = append(w.found, Masked{Pointer: p.String(), Why: why, Digest: w.m.digest(value)})
}

// pointed tells whether a configured pointer names this place.
func (w *walker) pointed() bool {
	for _, p := range w.pointers {
		if len(p) != len(w.path) {
			continue
		}
		same := true
		for i := range p {
			same = same && (p[i] == "*" || p[i] == w.path[i])
		}
		if same {
			return true
		}
	}
	return false
}

// str copies or masks a string, which was taken already.
func (w *walker) str(raw []byte, st strength, why string) {
	s := unquote(raw)
	if s == "" || s == Mask || st == strong && harmless(s) {
		w.out = append(w.out, raw...)
		return
	}
	if st == strong || st == weak && random(s) {
		w.mask(nil, []byte(s), why)
		return
	}
	if t := w.text(s); t != s {
		raw = quote(t)
	}
	w.out = append(w.out, raw...)
}

// text returns s without the secrets in it. Masking one can make another show,
// so it is done until nothing is left; what does not settle is masked whole.
func (w *walker) text(s string) string {
	orig, before := s, len(w.found)
	for range 4 {
		spans := []span{{0, len(s), "no rules"}}
		if w.rules != nil {
			spans = w.rules.scan(s)
		}
		if len(spans) == 0 {
			return s
		}
		if len(spans) > maxSpans {
			break
		}
		var b strings.Builder
		at := 0
		for _, p := range spans {
			w.masked([]byte(s[p.from:p.to]), p.why)
			b.WriteString(s[at:p.from] + Mask)
			at = p.to
		}
		b.WriteString(s[at:])
		if s = b.String(); s == Mask {
			return s
		}
	}
	w.found = w.found[:min(before, len(w.found))]
	w.masked([]byte(orig), "secrets")
	return Mask
}

func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw) // not reached with valid JSON
	}
	return s
}

// object walks the members of an object.
func (w *walker) object(st strength) {
	pair := w.pair()
	w.copy(1)
	for w.space(); w.src[w.at] != '}'; w.space() {
		if w.src[w.at] == ',' {
			w.copy(1)
			continue
		}
		raw := w.src[w.at : w.at+w.skip()]
		w.at += len(raw)
		key := unquote(raw)
		if t := w.text(key); t != key {
			key = t
			raw = quote(t)
		}
		w.out = append(append(w.out, raw...), ':')
		w.space()
		w.at++ // the colon
		inner, why := max(st, w.rules.name(key)), "value of "+key
		if k := strings.ToLower(key); pair != "" && (k == "value" || k == "values" || k == "val") {
			inner, why = strong, "value of "+pair
		}
		if inner == weak && w.ours && len(w.path) == 0 {
			inner = innocent
		}
		w.path = append(w.path, key)
		w.value(inner, why)
		w.path = w.path[:len(w.path)-1]
	}
	w.copy(1)
}

// pair returns the secret name in an object of the form {"name": ..., "value":
// ...} that comes next.
func (w *walker) pair() (name string) {
	c := *w
	c.at++
	for c.space(); c.src[c.at] != '}'; c.space() {
		if c.src[c.at] == ',' {
			c.at++
			continue
		}
		n := c.skip()
		key := strings.ToLower(string(c.src[c.at : c.at+n]))
		c.at += n
		c.space()
		c.at++
		c.space()
		raw := c.src[c.at : c.at+c.skip()]
		c.at += len(raw)
		if raw[0] != '"' || key != `"name"` && key != `"key"` && key != `"header"` && key != `"variable"` {
			continue
		}
		if s := unquote(raw); c.rules.name(s) == strong {
			name = s
		}
	}
	return name
}

// array walks the elements of an array. One that is a flag with a secret name
// makes the next one secret.
func (w *walker) array(st strength, why string) {
	w.copy(1)
	i, next, flag := 0, st, why
	for w.space(); w.src[w.at] != ']'; w.space() {
		if w.src[w.at] == ',' {
			w.copy(1)
			continue
		}
		raw := w.src[w.at : w.at+w.skip()]
		w.path = append(w.path, strconv.Itoa(i))
		w.value(next, flag)
		w.path = w.path[:len(w.path)-1]
		i++
		next, flag = st, why
		if raw[0] == '"' && len(raw) < maxName {
			if s := unquote(raw); strings.HasPrefix(s, "-") && !strings.ContainsAny(s, "= ") && w.rules.name(s) == strong {
				next, flag = strong, "value of "+s
			}
		}
	}
	w.copy(1)
}

// skip returns the length of the value that comes next.
func (w *walker) skip() int {
	depth := 0
	for i := w.at; i < len(w.src); i++ {
		switch w.src[i] {
		case '"':
			for i++; i < len(w.src) && w.src[i] != '"'; i++ {
				if w.src[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1 - w.at
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + max(depth+1, 0) - w.at
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return i - w.at
			}
		}
	}
	return len(w.src) - w.at
}

package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A walker copies a valid JSON text and masks on the way: a value that is no
// secret keeps its bytes, and where a key stands twice both values are masked.
type walker struct {
	m     *Masker
	rules *secretRules
	ours  bool // the first level is named by us: a key is no secret there

	src   string
	s     jsonx.Scanner
	pairs jsonx.Scanner // looks ahead
	log   tree.Log
	out   []byte
	path  []string
	found []Masked
}

// maxWalk bounds the depth; a value that is deeper is masked.
const maxWalk = 32

// walk copies src and tells whether all of it could be read.
func (w *walker) walk(src string) bool {
	w.src = src
	w.begin(&w.s, src)
	w.value(w.s.Next(), innocent, "")
	return w.s.Next() == jsonx.End
}

// begin starts reading; equal keys and broken characters do not end it.
func (w *walker) begin(s *jsonx.Scanner, src string) {
	s.Reset(src, jsonx.Options{NUL: true, NoMark: true})
	w.log = tree.Log{}
	s.Log = &w.log
}

func (w *walker) raw() string { return w.src[w.s.Start:w.s.End] }

// value copies or masks the value whose first token, k, was read; st is how
// secret its name makes it, and why says so.
func (w *walker) value(k jsonx.Kind, st strength, why string) {
	container := k == jsonx.ObjectStart || k == jsonx.ArrayStart
	switch deep := w.rules == nil || len(w.path) > maxWalk; {
	case w.raw() == `"`+Mask+`"`:
		w.copy()
	case deep || container && st == strong && !strings.HasPrefix(w.src[w.s.End:], "]") && !strings.HasPrefix(w.src[w.s.End:], "}"):
		if container {
			w.s.Rest(k)
		}
		if deep {
			why = "too deep"
		}
		w.mask(w.raw(), why)
	case k == jsonx.Str:
		w.str(st, why)
	case k == jsonx.ObjectStart:
		w.object(st)
	case k == jsonx.ArrayStart:
		w.array(st, why)
	case k == jsonx.Num && st == strong:
		w.mask(w.raw(), why)
	default:
		w.copy()
	}
}

// copy takes the last token over.
func (w *walker) copy() { w.out = append(w.out, w.raw()...) }

// mask puts the mask in place of a value.
func (w *walker) mask(value, why string) {
	w.masked([]byte(value), why)
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

// str copies or masks the string that was read.
func (w *walker) str(st strength, why string) {
	s := w.s.Text
	switch {
	case s == "" || s == Mask || st == strong && harmless(s):
		w.copy()
	case st == strong || st == weak && random(s):
		w.mask(s, why)
	default:
		w.spoken(s)
	}
}

// spoken copies the last token, a string or key, without the secrets in its text,
// which it returns.
func (w *walker) spoken(s string) string {
	t := w.text(s)
	if t == s {
		w.copy()
	} else {
		w.out = append(w.out, jsonx.Quote(t)...)
	}
	return t
}

// text returns s without the secrets in it. Masking one can make another show,
// so it is done until nothing is left; a text that does not settle is masked whole.
func (w *walker) text(s string) string {
	if w.m.known.clean(s) {
		return s
	}
	orig, before := s, len(w.found)
	for range 4 {
		spans := []span{{0, len(s), "no rules"}}
		if w.rules != nil {
			spans = w.rules.scan(s)
		}
		if len(spans) == 0 {
			w.m.known.note(orig, s)
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

// object walks the members of an object.
func (w *walker) object(st strength) {
	pair := w.pair(w.src[w.s.Start:])
	w.out = append(w.out, '{')
	for w.s.Next() == jsonx.Key {
		if w.out[len(w.out)-1] != '{' {
			w.out = append(w.out, ',')
		}
		key := w.spoken(w.s.Text)
		w.out = append(w.out, ':')
		inner, why := max(st, w.m.known.name(w.rules, key)), ""
		if inner != innocent {
			why = "value of " + key
		}
		if k := strings.ToLower(key); pair != "" && (k == "value" || k == "values" || k == "val") {
			inner, why = strong, "value of "+pair
		}
		if inner == weak && w.ours && len(w.path) == 0 {
			inner = innocent
		}
		w.path = append(w.path, key)
		w.value(w.s.Next(), inner, why)
		w.path = w.path[:len(w.path)-1]
	}
	w.out = append(w.out, '}')
}

// pair returns the secret name in an object of the form {"name": ..., "value":
// ...}, which src begins with.
func (w *walker) pair(src string) (name string) {
	s := &w.pairs
	w.begin(s, src)
	for s.Next(); s.Next() == jsonx.Key; {
		key := strings.ToLower(src[s.Start:s.End])
		names := slices.Contains([]string{`"name"`, `"key"`, `"header"`, `"variable"`}, key)
		if s.Value() == jsonx.Str && names && w.rules.name(s.Text) == strong {
			name = strings.Clone(s.Text) // objects within this one are read with the same scanner
		}
	}
	return name
}

// array walks the elements of an array. One that is a flag with a secret name
// makes the next one secret.
func (w *walker) array(st strength, why string) {
	w.out = append(w.out, '[')
	next, flag := st, why
	for i := 0; ; i++ {
		k := w.s.Next()
		if k == jsonx.ArrayEnd || k == jsonx.Bad {
			break
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		name := ""
		if k == jsonx.Str && len(w.s.Text) < maxName {
			name = w.s.Text
		}
		w.path = append(w.path, strconv.Itoa(i))
		w.value(k, next, flag)
		w.path = w.path[:len(w.path)-1]
		next, flag = st, why
		if strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "= ") && w.rules.name(name) == strong {
			next, flag = strong, "value of "+name
		}
	}
	w.out = append(w.out, ']')
}

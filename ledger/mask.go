package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// Mask stands where a secret was: `TOKEN=[masked] make`.
const Mask = "[masked]"

// MaskOptions name secrets beyond those that every ledger masks. The zero value
// adds none.
type MaskOptions struct {
	// Key makes the digests of masked values; see [LoadKey]. Without one there are
	// no digests.
	Key []byte
	// Names are more names of arguments, variables and flags whose values are
	// secret: "badge" is also in my_badge.
	Names []string
	// Pointers are JSON pointers into inputs; the segment * is any one.
	Pointers []string
	// MaxInput bounds an input; a longer one is masked whole. Zero is 1 MiB.
	MaxInput int
}

// A Masker takes secrets out of records. Its zero value masks the names and
// tokens of secrets.txt.
type Masker struct {
	key      []byte
	rules    *secretRules
	pointers [][]string
	max      int
	known    known
	walkers  sync.Pool // of *walker, with the buffers that they have used
}

// walker returns a walker to mask with; [Masker.done] takes it back.
func (m *Masker) walker() *walker {
	w, ok := m.walkers.Get().(*walker)
	if !ok {
		w = new(walker)
	}
	w.m, w.rules, w.pointers, w.ours, w.src, w.out, w.path, w.found = m, m.secrets(), nil, false, "", w.out[:0], w.path[:0], nil
	return w
}

func (m *Masker) done(w *walker) {
	if cap(w.out) <= maxKept {
		w.src = ""
		w.s.Reset("", jsonx.Options{})
		w.pairs.Reset("", jsonx.Options{})
		m.walkers.Put(w)
	}
}

// maxKept bounds the buffers that stay with a walker.
const maxKept = 64 << 10

// NewMasker returns a masker for o, which may be nil.
func NewMasker(o *MaskOptions) (*Masker, error) {
	if o == nil {
		o = new(MaskOptions)
	}
	m := &Masker{key: o.Key, max: o.MaxInput}
	if r := builtin(); r != nil {
		c := *r
		c.any = slices.Clip(c.any) // names that are appended go elsewhere
		for _, n := range o.Names {
			w := words(n)
			if len(w) == 0 {
				return nil, fmt.Errorf("%q is no name: it has no letters", n)
			}
			c.any = append(c.any, newPhrase(w))
		}
		m.rules = &c
	}
	for _, p := range o.Pointers {
		if p != "" && p[0] != '/' {
			return nil, fmt.Errorf("%q is no JSON pointer: it does not begin with /", p)
		}
		segs := strings.Split(p, "/")[1:]
		for i := range segs {
			segs[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segs[i])
		}
		m.pointers = append(m.pointers, segs)
	}
	return m, nil
}

// Mask takes the secrets out of everything in r that people and agents write:
// the input, the detail, the reason and the text of the rule. Doing it again
// changes nothing.
func (m *Masker) Mask(r *Record) {
	m.known.begin()
	add := func(field string, found []Masked) {
		for i := range found {
			found[i].Field = field
		}
		r.Masked = append(r.Masked, found...)
	}
	var found []Masked
	if len(r.Input) > 0 {
		r.Input, found = m.Input(r.Input)
		add("", found)
	}
	if len(r.Detail) > 0 {
		r.Detail, found = m.json(r.Detail, nil, true)
		add("detail", found)
	}
	for _, f := range [...]struct {
		name string
		text *string
	}{{"reason", &r.Reason}, {"rule", &r.Rule}} {
		if m.known.clean(*f.text) {
			continue
		}
		w := m.walker()
		*f.text = w.text(*f.text)
		add(f.name, w.found)
		m.done(w)
	}
}

// Input returns a tool's input without its secrets, and a list of them. An input
// that is no JSON is masked whole.
func (m *Masker) Input(raw json.RawMessage) (json.RawMessage, []Masked) {
	return m.json(raw, m.pointers, false)
}

// Text returns a text without its secrets.
func (m *Masker) Text(s string) string {
	w := m.walker()
	defer m.done(w)
	return w.text(s)
}

const (
	defaultMaxInput = 1 << 20
	maxMasked       = 256 // of one field; an input with more is masked whole
	maxSpans        = 64  // of one text
)

func (m *Masker) secrets() *secretRules {
	if m.rules != nil {
		return m.rules
	}
	return builtin()
}

func (m *Masker) json(raw json.RawMessage, pointers [][]string, ours bool) (json.RawMessage, []Masked) {
	limit := m.max
	if limit <= 0 {
		limit = defaultMaxInput
	}
	whole := func(why string) (json.RawMessage, []Masked) {
		return json.RawMessage(`"` + Mask + `"`), []Masked{{Why: why, Digest: m.digest(raw)}}
	}
	switch {
	case string(raw) == `"`+Mask+`"`, m.known.cleanJSON(ours, raw):
		return raw, nil
	case len(raw) > limit:
		return whole("too large to keep")
	case !json.Valid(raw):
		return whole("not JSON")
	}
	w := m.walker()
	defer m.done(w)
	w.pointers, w.ours = pointers, ours
	switch {
	case !w.walk(string(raw)):
		return whole("too deep")
	case len(w.found) > maxMasked:
		return whole("too many secrets")
	}
	if len(w.found) == 0 {
		m.known.noteJSON(ours, raw)
		return raw, nil
	}
	return slices.Clone(w.out), w.found
}

// digest tells equal values from others without giving them away.
func (m *Masker) digest(value []byte) string {
	if len(m.key) == 0 {
		return ""
	}
	h := hmac.New(sha256.New, m.key)
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// Mask stands where a secret was: `TOKEN=[masked] make`.
const Mask = "[masked]"

// A Masker takes the secrets of secrets.txt out of records.
type Masker struct {
	key     []byte
	known   known
	walkers sync.Pool // of *walker, with the buffers that they have used
}

// NewMasker returns a masker. The key makes the digests of masked values, see
// [LoadKey]; without one there are no digests.
func NewMasker(key []byte) *Masker { return &Masker{key: key} }

// walker returns a walker to mask with; [Masker.done] takes it back.
func (m *Masker) walker() *walker {
	w, ok := m.walkers.Get().(*walker)
	if !ok {
		w = new(walker)
	}
	w.m, w.rules, w.ours, w.src, w.out, w.path, w.found = m, builtin(), false, "", w.out[:0], w.path[:0], nil
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
		r.Detail, found = m.json(r.Detail, true)
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
	return m.json(raw, false)
}

// Text returns a text without its secrets.
func (m *Masker) Text(s string) string {
	w := m.walker()
	defer m.done(w)
	return w.text(s)
}

const (
	maxMasked = 256 // of one field; an input with more is masked whole
	maxSpans  = 64  // of one text
)

func (m *Masker) json(raw json.RawMessage, ours bool) (json.RawMessage, []Masked) {
	whole := func(why string) (json.RawMessage, []Masked) {
		return json.RawMessage(`"` + Mask + `"`), []Masked{{Why: why, Digest: m.digest(raw)}}
	}
	switch {
	case string(raw) == `"`+Mask+`"`, m.known.cleanJSON(ours, raw):
		return raw, nil
	case len(raw) > maxLegible:
		return whole("too large to keep")
	case !json.Valid(raw):
		return whole("not JSON")
	}
	w := m.walker()
	defer m.done(w)
	w.ours = ours
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

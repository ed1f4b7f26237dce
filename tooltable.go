package obstat

import (
	"math/bits"
)

// A toolTable finds the rules of a tool by its name. Tools are few and their
// names short, and every question looks one up: a table of our own takes a
// third of the time of a map. Names that crowd one place, which somebody may
// write on purpose, are left to a map.
type toolTable struct {
	slots []toolSlot // a power of two; nil: nothing is here
	shift uint8
	crowd map[string]*toolIndex
}

// A toolSlot is 64 bytes.
type toolSlot struct {
	key  nameKey
	name string // "": free
	toolIndex
}

// maxProbes is how many places a name may be at.
const maxProbes = 8

// newToolTable makes the table of names, none of which is empty or stands twice.
func newToolTable(names []string, indexes []*toolIndex) toolTable {
	if len(names) == 0 {
		return toolTable{}
	}
	log := bits.Len(uint(2*len(names) - 1))
	t := toolTable{slots: make([]toolSlot, 1<<log), shift: uint8(64 - log)}
	for i, name := range names {
		if !t.put(name, indexes[i]) {
			if t.crowd == nil {
				t.crowd = map[string]*toolIndex{}
			}
			t.crowd[name] = indexes[i]
		}
	}
	return t
}

func (t *toolTable) put(name string, idx *toolIndex) bool {
	key := keyOf(name)
	at := key.hash() >> t.shift
	for range maxProbes {
		if s := &t.slots[at]; s.name == "" {
			s.key, s.name, s.toolIndex = key, name, *idx
			return true
		}
		at = (at + 1) & uint64(len(t.slots)-1)
	}
	return false
}

// find returns the rules of the tool of that name, or nil.
func (t *toolTable) find(name string) *toolIndex {
	if t.slots == nil || name == "" {
		return nil
	}
	key := keyOf(name)
	at := key.hash() >> (t.shift & 63)
	for range maxProbes {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if s.key == key && len(s.name) == len(name) && (len(name) <= keyAll || s.name == name) {
			return &s.toolIndex
		}
		if s.name == "" {
			return nil
		}
		at++
	}
	return t.crowd[name]
}

// all yields the rules of every tool.
func (t *toolTable) all(yield func(*toolIndex) bool) {
	for i := range t.slots {
		if t.slots[i].name != "" && !yield(&t.slots[i].toolIndex) {
			return
		}
	}
	for _, idx := range t.crowd {
		if !yield(idx) {
			return
		}
	}
}

// A nameKey is the start and the end of a name. With the length it is all of a
// name of no more than keyAll bytes.
type nameKey struct{ start, end uint64 }

const keyAll = 16

func keyOf(s string) nameKey {
	switch n := len(s); {
	case n >= 8:
		return nameKey{wordAt(s, 0), wordAt(s, n-8)}
	case n >= 4:
		return nameKey{halfAt(s, 0), halfAt(s, n-4)}
	case n > 0:
		return nameKey{uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16, uint64(n)}
	}
	return nameKey{}
}

func (k nameKey) hash() uint64 {
	const odd = 0x9E3779B97F4A7C15
	h := k.start * odd
	return (h ^ h>>32 ^ k.end) * odd
}

func halfAt(s string, i int) uint64 {
	s = s[i : i+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func wordAt(s string, i int) uint64 { return halfAt(s, i) | halfAt(s, i+4)<<32 }

// sameField compares the names of fields, which mostly differ at their start.
func sameField(a, b string) bool {
	return len(a) == len(b) && (len(a) == 0 || a[0] == b[0] && a == b)
}

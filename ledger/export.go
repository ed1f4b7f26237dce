package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Anchors are the ends of the chains of other replicas, as a record of kind [Anchor] keeps them.
type Anchors struct {
	Chain string          `json:"chain"` // that the record is in
	Heads map[string]Head `json:"heads"` // of the others, by their names
}

// An Export reads the lines of a file that holds one chain, or those of several replicas, one
// beside the other as they were written.
type Export func() iter.Seq2[[]byte, error]

// Verify verifies the chains as [Verify] does: a record is of the chain whose end it follows. Each
// chain has to have the heads that the others know of it, and one that none of the others knows is
// no chain of theirs. The lines are read twice.
func (lines Export) Verify(head Hash) (Verified, error) {
	e := &export{ends: map[Hash]*chain{}, wanted: map[Hash]anchored{}}
	if e.anchors(lines()); len(e.wanted) == 0 { // of one chain
		return Verify(lines(), head)
	}
	found := head == Hash{}
	for line, err := range lines() {
		if err != nil {
			return e.total(), asBreak(err, 0)
		}
		s, err := Unseal(line)
		if err != nil {
			return Verified{}, &Break{What: Unreadable, Msg: err.Error()}
		}
		if err := e.next(&s, line); err != nil {
			return e.total(), err
		}
		found = found || s.Hash == head
	}
	if b := e.whole(); b != nil {
		return e.total(), b
	}
	if !found {
		return e.total(), &Break{What: Truncated, Msg: "the record with the expected head is not there"}
	}
	return e.total(), nil
}

// An export is the chains of a file under way.
type export struct {
	chains []*chain
	ends   map[Hash]*chain   // by the hash of the last record
	wanted map[Hash]anchored // heads that anchors name, and that were not found yet
}

// A chain is one of several.
type chain struct {
	Verified
	name    string // as its own anchors say, or those of others
	related bool   // another chain knows it, or it knows another
}

// An anchored is a head that a chain knows of another.
type anchored struct {
	Head
	name string
}

// anchors collects the heads that are known.
func (e *export) anchors(lines iter.Seq2[[]byte, error]) {
	for line, err := range lines {
		if err != nil {
			return
		}
		for name, h := range anchorsOf(line).Heads {
			e.wanted[h.Hash] = anchored{h, name}
		}
	}
}

func anchorsOf(line []byte) (out Anchors) {
	if !bytes.Contains(line, []byte(`"kind":"anchor"`)) {
		return out
	}
	if r, err := Decode(line); err == nil {
		out = r.Anchors()
	}
	return out
}

// Anchors returns the ends of other chains that a record of kind [Anchor] keeps; of another record, and where they
// cannot be read, there are none.
func (r *Record) Anchors() (out Anchors) {
	if r.Kind != Anchor || r.Elsewhere() || json.Unmarshal(r.Detail, &out) != nil {
		return Anchors{}
	}
	return out
}

// next adds a record to the chain that it follows, or begins one with it.
func (e *export) next(s *Sealed, line []byte) error {
	c := e.ends[s.Prev]
	if c == nil {
		c = new(chain)
		e.chains = append(e.chains, c)
	}
	if err := c.Verified.next(s, line); err != nil {
		return err
	}
	delete(e.ends, s.Prev)
	e.ends[s.Hash] = c
	if a := anchorsOf(line); len(a.Heads) > 0 {
		c.name, c.related = a.Chain, true
	}
	if k, ok := e.wanted[s.Hash]; ok && k.Seq == s.Seq {
		c.name, c.related = k.name, true
		delete(e.wanted, s.Hash)
	}
	return nil
}

// whole returns the first gap in the chains, nil if there is none.
func (e *export) whole() *Break {
	trimmed := map[string]uint64{} // the first record that is left of a chain, by its name
	for _, c := range e.chains {
		switch {
		case c.missing.Seq != 0:
			return &Break{Seq: c.First, What: Dropped, Msg: "the records before it are gone, and no retention took them"}
		case !c.related:
			return &Break{Seq: c.First, What: Reordered, Msg: "it begins a chain that the others know nothing of"}
		}
		trimmed[c.name] = max(trimmed[c.name], c.First)
	}
	for _, k := range e.wanted {
		if k.Seq >= trimmed[k.name] {
			return &Break{Seq: k.Seq, What: Truncated, Msg: fmt.Sprintf("the chain of %s was known to have it, and does not", k.name)}
		}
	}
	return nil
}

// total adds the chains up; the head is that of the first.
func (e *export) total() (out Verified) {
	for i, c := range e.chains {
		if i == 0 {
			out = c.Verified
			continue
		}
		out.Add(&c.Verified)
	}
	return out
}

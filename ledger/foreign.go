package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Foreign is the place that a record had in the ledger of the machine that has sent it, and the
// token that it came by: it is that machine's word, and was decided elsewhere.
type Foreign struct {
	Seq  uint64 `json:"seq"`
	Prev Hash   `json:"prev"`
	Hash Hash   `json:"hash"`
	From string `json:"from"`           // ID of the token
	Name string `json:"name,omitempty"` // of the token, as `laptop`
	// Taken is when the server took the record, by its own clock: it orders and charts the record, whose Time is
	// the sender's word.
	Taken time.Time `json:"taken,omitzero"`
}

// TakenAt returns when this ledger took the record: the time of a machine's record is that of the server, since
// the machine's clock may be wrong by years.
func (r *Record) TakenAt() time.Time {
	if f := r.Foreign(); f != nil && !f.Taken.IsZero() {
		return f.Taken
	}
	return r.Time
}

// String names the sender.
func (f *Foreign) String() string { return cmp.Or(f.Name, f.From) }

// Elsewhere tells whether a machine has sent the record to this ledger: it is that machine's
// word about itself, and says nothing about the requests and grants of this ledger's store.
func (r *Record) Elsewhere() bool { return bytes.Contains(r.Spool, []byte(`"from":"`)) }

// Foreign returns where a record comes from that a machine has sent; nil where this ledger's own
// process wrote it.
func (r *Record) Foreign() *Foreign {
	if !r.Elsewhere() {
		return nil
	}
	f := new(Foreign)
	if err := json.Unmarshal(r.Spool, f); err != nil {
		f.Name = "a sender that cannot be read"
	}
	return f
}

// countForeign counts the line of a record that a machine has sent, by its sender.
func (v *Verified) countForeign(line []byte) {
	if !bytes.Contains(line, []byte(`"spool":`)) {
		return
	}
	r, err := Decode(line)
	if err != nil {
		return
	}
	if f := r.Foreign(); f != nil {
		v.addForeign(f.String(), 1)
	}
}

func (v *Verified) addForeign(name string, n uint64) {
	if v.Foreign == nil {
		v.Foreign = map[string]uint64{}
	}
	v.Foreign[name] += n
}

// Add counts the records of another chain.
func (v *Verified) Add(o *Verified) {
	v.Records += o.Records
	for name, n := range o.Foreign {
		v.addForeign(name, n)
	}
}

// Senders says how many records are the word of others: `12 are the word of laptop, 1 of ci`; ""
// where there are none.
func (v *Verified) Senders() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v.Foreign)) {
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("%d are the word of %s", v.Foreign[name], name))
		} else {
			parts = append(parts, fmt.Sprintf("%d of %s", v.Foreign[name], name))
		}
	}
	return strings.Join(parts, ", ")
}

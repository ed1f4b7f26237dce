package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"
)

// A sealed record is one line:
//
//	{"seq":N, ...rest... ,"prev":"...","hash":"..."}
//
// Its beginning and its end have a form so fixed that a chain is verified on
// the bytes as they are kept, without reading the JSON in between.
const (
	linePrefix = `{"seq":`
	prevPrefix = `,"prev":"`
	hashPrefix = `","hash":"`
	hashEnd    = `"}`
	hexLen     = 2 * sha256.Size
	// linkLen is the length of prev and hash at the end of a line.
	linkLen = len(prevPrefix) + hexLen + len(hashPrefix) + hexLen + len(hashEnd)
)

// A Draft is a record that is encoded but for its place in a chain. Making
// drafts is the expensive part of writing and needs no order.
type Draft struct {
	r    *Record
	rest []byte
}

// Draft encodes r; one without a time is of now. The record must not change
// between this and Seal.
func (r *Record) Draft() (*Draft, error) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if y := r.Time.UTC().Year(); y < 1970 || y > 2261 {
		return nil, fmt.Errorf("no record can be of the year %d", y)
	}
	b, err := r.encodeMiddle()
	if err == nil && bytes.Contains(b, []byte(`\ufffd`)) {
		b, err = settled(b)
	}
	if err != nil {
		return nil, err
	}
	if len(linePrefix)+1+len(b)+linkLen > MaxRecord {
		return nil, ErrTooLarge
	}
	return &Draft{r, b}, nil
}

// Record returns the record that is being written.
func (d *Draft) Record() *Record { return d.r }

// Drafts encodes several records.
func Drafts(records []*Record) ([]*Draft, error) {
	out := make([]*Draft, len(records))
	for i, r := range records {
		var err error
		if out[i], err = r.Draft(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// settled returns the middle of a line as it will be written after it was read once: bytes
// that are no UTF-8 are written as an escape, and read as a character.
func settled(middle []byte) ([]byte, error) {
	r, err := Decode(slices.Concat([]byte(linePrefix+"0"), middle, []byte("}")))
	if err != nil {
		return nil, err
	}
	return r.encodeMiddle()
}

// Seal puts the record behind another one, and returns it as a line without the
// newline.
func (d *Draft) Seal(after Head) []byte { return d.AppendSeal(nil, after) }

// AppendSeal seals the record, and appends its line to b.
func (d *Draft) AppendSeal(b []byte, after Head) []byte {
	r, from := d.r, len(b)
	b = d.body(b, after)
	if r.V == 0 {
		r.V = Version
	}
	r.Time = r.Time.UTC().Round(0)
	r.Seq, r.Prev, r.Hash = after.Seq+1, after.Hash, sha256.Sum256(b[from:])
	return appendHash(b, r.Hash)
}

// body appends the bytes that the hash is made over.
func (d *Draft) body(b []byte, after Head) []byte {
	b = append(slices.Grow(b, len(d.rest)+linkLen+64), linePrefix...)
	b = strconv.AppendUint(b, after.Seq+1, 10)
	b = append(b, d.rest...)
	b = append(b, prevPrefix...)
	return append(hex.AppendEncode(b, after.Hash[:]), '"')
}

func appendHash(body []byte, h Hash) []byte {
	b := append(body, hashPrefix[1:]...)
	return append(hex.AppendEncode(b, h[:]), hashEnd...)
}

// A Sealed is a line taken apart: its place in the chain and the bytes that its hash
// is made over.
type Sealed struct {
	Head
	Prev Hash
	body []byte
}

// Check returns a [Break] where the content does not have its hash.
func (s *Sealed) Check() error {
	if sha256.Sum256(s.body) != s.Hash {
		return &Break{Seq: s.Seq, What: Edited, Msg: "its content does not have its hash"}
	}
	return nil
}

var errLine = errors.New("it is no record of a ledger")

// Unseal takes a line apart. It reads only its ends.
func Unseal(line []byte) (s Sealed, err error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	head, ok := bytes.CutPrefix(line, []byte(linePrefix))
	if !ok {
		return s, errLine
	}
	seq, rest, ok := cutUint(head)
	if !ok {
		return s, errLine
	}
	s.Seq = seq
	if _, s.Prev, s.Hash, ok = cutLink(rest); !ok {
		return s, errLine
	}
	s.body = line[:len(line)-len(hashPrefix)+1-hexLen-len(hashEnd)]
	return s, nil
}

// cutUint reads the number at the beginning of b.
func cutUint(b []byte) (uint64, []byte, bool) {
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	n, err := strconv.ParseUint(string(b[:i]), 10, 64)
	return n, b[i:], err == nil
}

// cutLink reads prev and hash at the end of b.
func cutLink(b []byte) (rest []byte, prev, hash Hash, ok bool) {
	if len(b) < linkLen {
		return nil, prev, hash, false
	}
	end := b[len(b)-linkLen:]
	hashAt := len(prevPrefix) + hexLen
	if string(end[:len(prevPrefix)]) != prevPrefix || string(end[hashAt:hashAt+len(hashPrefix)]) != hashPrefix || string(end[linkLen-len(hashEnd):]) != hashEnd {
		return nil, prev, hash, false
	}
	ok = unhex(&prev, end[len(prevPrefix):hashAt]) && unhex(&hash, end[hashAt+len(hashPrefix):linkLen-len(hashEnd)])
	return b[:len(b)-linkLen], prev, hash, ok
}

// unhex reads lower-case digits: a hash has one spelling.
func unhex(h *Hash, b []byte) bool {
	const lower = 0x2020202020202020 // set in 0-9 and a-f, not in A-F
	for i := 0; i < hexLen; i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&lower != lower {
			return false
		}
	}
	_, err := hex.Decode(h[:], b)
	return err == nil
}

// ReadHeader reads the beginning of a sealed line into r: the fields that stores
// have columns for, the version, and the place in the chain. It reads nothing of
// the rest, so an index is made without decoding the JSON. Texts that r has already, as of
// the record before, are not copied again.
func ReadHeader(r *Record, line []byte) error {
	s, err := Unseal(line)
	if err != nil {
		return err
	}
	before := *r
	*r = Record{Seq: s.Seq, Prev: s.Prev, Hash: s.Hash}
	_, rest, _ := cutUint(line[len(linePrefix):])
	h := headerReader{rest: rest}
	when := h.field(`,"time":`, "")
	r.Kind = Kind(h.field(`,"kind":`, string(before.Kind)))
	r.Agent, r.Session = h.field(`,"agent":`, before.Agent), h.field(`,"session":`, before.Session)
	r.Tool, r.Verdict = h.field(`,"tool":`, before.Tool), h.field(`,"verdict":`, before.Verdict)
	r.Rule = h.field(`,"rule":`, before.Rule)
	v, ok := bytes.CutPrefix(h.rest, []byte(`,"v":`))
	n, _, isNumber := cutUint(v)
	if h.bad || !ok || !isNumber || n > 1<<30 {
		return errLine
	}
	r.V = int(n)
	if r.Time, err = time.Parse(time.RFC3339Nano, when); err != nil {
		return errLine
	}
	if r.V > Version {
		return fmt.Errorf("%w (record format %d; this one knows %d)", ErrNewer, r.V, Version)
	}
	return nil
}

// Members yields the names and values of a sealed line's members as they are written, so that a store reads two of them
// without decoding all. It ends where the text is no JSON.
func Members(line []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := 1; i < len(line) && line[i] == '"'; i++ {
			end := valueEnd(line, i)
			if end+1 >= len(line) || line[end] != ':' {
				return
			}
			next := valueEnd(line, end+1)
			if next > len(line) || !yield(line[i+1:end-1], line[end+1:next]) {
				return
			}
			i = next // at a comma or the object's end
		}
	}
}

// valueEnd returns the place behind the value that begins at i, beyond the end of the line where it has none.
func valueEnd(line []byte, i int) int {
	for depth := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == '}' || c == ','): // behind a number
			return i
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(line) + 1
}

// A headerReader reads fields in their order.
type headerReader struct {
	rest []byte
	bad  bool
}

// field returns the text behind a key, "" unless the key comes next. before is a text that
// it may be.
func (h *headerReader) field(key, before string) string {
	text, ok := bytes.CutPrefix(h.rest, []byte(key))
	if !ok {
		return ""
	}
	if len(text) == 0 || text[0] != '"' {
		h.bad = true
		return ""
	}
	end, plain := 1, true
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			plain = false
			end++
		}
		end++
	}
	if end >= len(text) {
		h.bad = true
		return ""
	}
	h.rest = text[end+1:]
	switch {
	case plain && string(text[1:end]) == before:
		return before
	case plain:
		return string(text[1:end])
	}
	var decoded string
	h.bad = json.Unmarshal(text[:end+1], &decoded) != nil || h.bad
	return decoded
}

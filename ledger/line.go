package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A sealed record is one line:
//
//	{"seq":N, ...rest... [,"spool":{...}],"prev":"...","hash":"..."}
//
// Its beginning and its end have a form so fixed that a chain is verified on
// the bytes as they are kept, without reading the JSON in between.
const (
	linePrefix  = `{"seq":`
	prevPrefix  = `,"prev":"`
	hashPrefix  = `","hash":"`
	hashEnd     = `"}`
	spoolPrefix = `,"spool":{"seq":`
	hexLen      = 2 * sha256.Size
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
	c := *r
	c.Seq, c.Spool, c.Prev, c.Hash = 0, nil, Hash{}, Hash{}
	c.Time = c.Time.UTC().Round(0)
	if c.V == 0 {
		c.V = Version
	}
	b, err := c.encode()
	if err == nil && bytes.Contains(b, []byte(`\ufffd`)) {
		b, err = settled(b)
	}
	if err != nil {
		return nil, err
	}
	if len(b) > maxRecord {
		return nil, ErrTooLarge
	}
	return &Draft{r, b[len(linePrefix)+1 : len(b)-linkLen]}, nil
}

// Record returns the record that is being written.
func (d *Draft) Record() *Record { return d.r }

// encode returns v as JSON with its text as it is: no reader of ours is a web
// page.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// settled returns a line as it will be written after it was read once: bytes
// that are no UTF-8 are written as an escape, and read as a character.
func settled(b []byte) ([]byte, error) {
	r, err := Decode(b)
	if err != nil {
		return nil, err
	}
	return r.encode()
}

// Seal puts the record behind another one, and returns it as a line without the
// newline.
func (d *Draft) Seal(after Head) []byte {
	r := d.r
	b := d.body(after)
	if r.V == 0 {
		r.V = Version
	}
	r.Time = r.Time.UTC().Round(0)
	r.Seq, r.Prev, r.Hash = after.Seq+1, after.Hash, sha256.Sum256(b)
	return appendHash(b, r.Hash)
}

// body returns what the hash is made over.
func (d *Draft) body(after Head) []byte { return appendBody(nil, after, d.rest, d.r.Spool) }

func appendBody(b []byte, after Head, rest []byte, spool *Link) []byte {
	if b == nil {
		b = make([]byte, 0, len(rest)+2*linkLen+64)
	}
	b = append(b, linePrefix...)
	b = strconv.AppendUint(b, after.Seq+1, 10)
	b = append(b, rest...)
	if spool != nil {
		b = append(b, spoolPrefix...)
		b = strconv.AppendUint(b, spool.Seq, 10)
		b = append(b, prevPrefix...)
		b = hex.AppendEncode(b, spool.Prev[:])
		b = append(b, hashPrefix...)
		b = hex.AppendEncode(b, spool.Hash[:])
		b = append(b, hashEnd...)
	}
	b = append(b, prevPrefix...)
	return append(hex.AppendEncode(b, after.Hash[:]), '"')
}

func appendHash(body []byte, h Hash) []byte {
	b := append(body, hashPrefix[1:]...)
	return append(hex.AppendEncode(b, h[:]), hashEnd...)
}

// A sealed is a line taken apart.
type sealed struct {
	Link
	body  []byte // what the hash is made over
	rest  []byte // what is the same in every chain
	spool *Link
}

// holds tells whether the content has its hash.
func (s *sealed) holds() bool { return sha256.Sum256(s.body) == s.Hash }

var errLine = errors.New("it is no record of a ledger")

// unseal takes a line apart. It reads only its ends.
func unseal(line []byte) (s sealed, err error) {
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
	if rest, s.Prev, s.Hash, ok = cutLink(rest); !ok {
		return s, errLine
	}
	s.body = line[:len(line)-len(hashPrefix)+1-hexLen-len(hashEnd)]
	s.rest, s.spool = cutSpool(rest)
	return s, nil
}

// HeadOf returns what follows a sealed line.
func HeadOf(line []byte) (Head, error) {
	s, err := unseal(line)
	return Head{s.Seq, s.Hash}, err
}

// FromSpool tells of a sealed line whether it was taken in from the spool.
func FromSpool(line []byte) bool {
	if !bytes.Contains(line, []byte(spoolPrefix)) {
		return false
	}
	s, err := unseal(line)
	return err == nil && s.spool != nil
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

// cutSpool reads the field spool at the end of b, if it is there. Nothing else
// can look like it: an object inside of another field would be closed once
// more, and in a string the quotes would be escaped.
func cutSpool(b []byte) ([]byte, *Link) {
	head, prev, hash, ok := cutLink(b)
	if !ok {
		return b, nil
	}
	i := len(head)
	for i > 0 && '0' <= head[i-1] && head[i-1] <= '9' {
		i--
	}
	rest, found := bytes.CutSuffix(head[:i], []byte(spoolPrefix))
	seq, _, isNumber := cutUint(head[i:])
	if !found || !isNumber {
		return b, nil
	}
	return rest, &Link{seq, prev, hash}
}

// AppendHeader appends the beginning of r's line: the fields that stores have
// columns for. A store whose columns do not make the beginning of the line was
// edited.
func AppendHeader(b []byte, r *Record) []byte {
	b = append(b, linePrefix...)
	b = strconv.AppendUint(b, r.Seq, 10)
	b = append(b, `,"time":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","kind":`...)
	b = appendString(b, string(r.Kind))
	for _, f := range [...]struct{ key, value string }{
		{`,"agent":`, r.Agent}, {`,"session":`, r.Session}, {`,"tool":`, r.Tool}, {`,"verdict":`, r.Verdict}, {`,"rule":`, r.Rule},
	} {
		if f.value != "" {
			b = appendString(append(b, f.key...), f.value)
		}
	}
	return append(b, `,"v":`...)
}

// appendString appends s as encode writes it.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			text, err := encode(string([]rune(s))) // which settles what is no UTF-8
			if err != nil {
				return b // unreachable: a string encodes
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// ReadHeader reads the beginning of a sealed line into r: the fields that stores
// have columns for, the version, and the place in the chain. It is the way back
// from [AppendHeader], and reads nothing of the rest.
func ReadHeader(r *Record, line []byte) error {
	s, err := unseal(line)
	if err != nil {
		return err
	}
	*r = Record{Seq: s.Seq, Prev: s.Prev, Hash: s.Hash, Spool: s.spool}
	h := headerReader{rest: s.rest}
	var when, kind string
	for _, f := range [...]struct {
		key   string
		value *string
	}{
		{`,"time":`, &when}, {`,"kind":`, &kind},
		{`,"agent":`, &r.Agent}, {`,"session":`, &r.Session}, {`,"tool":`, &r.Tool}, {`,"verdict":`, &r.Verdict}, {`,"rule":`, &r.Rule},
	} {
		h.field(f.key, f.value)
	}
	v, ok := bytes.CutPrefix(h.rest, []byte(`,"v":`))
	n, _, isNumber := cutUint(v)
	if h.bad || !ok || !isNumber || n > 1<<30 {
		return errLine
	}
	r.Kind, r.V = Kind(kind), int(n)
	if r.Time, err = time.Parse(time.RFC3339Nano, when); err != nil {
		return errLine
	}
	if r.V > Version {
		return fmt.Errorf("%w (record format %d; this one knows %d)", ErrNewer, r.V, Version)
	}
	return nil
}

// A headerReader reads fields in their order.
type headerReader struct {
	rest []byte
	bad  bool
}

// field reads the text behind a key, if the key comes next.
func (h *headerReader) field(key string, to *string) {
	text, ok := bytes.CutPrefix(h.rest, []byte(key))
	if !ok {
		return
	}
	if len(text) == 0 || text[0] != '"' {
		h.bad = true
		return
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
		return
	}
	h.rest = text[end+1:]
	if plain {
		*to = string(text[1:end])
	} else if json.Unmarshal(text[:end+1], to) != nil {
		h.bad = true
	}
}

package effect

import (
	"bytes"
	"unsafe"
)

// keyScan goes through the fields of a JSON object without reading more of it than it has to. The reader that
// decides refuses an object that it is wrong about.
type keyScan struct {
	data    []byte
	at      int
	key     string // as it is written, good until the data changes
	value   string // the raw text of a string
	text    bool   // the value is a string
	nested  bool   // the value holds an object
	escaped bool   // the key is written with escapes
}

// next goes to the next field.
func (s *keyScan) next() bool {
	if s.at = s.skip(s.at); s.at >= len(s.data) || s.data[s.at] != '{' && s.data[s.at] != ',' {
		return false
	}
	s.at = s.skip(s.at + 1)
	key, ok := s.str()
	if !ok {
		return false
	}
	s.key, s.escaped = asString(key), bytes.IndexByte(key, '\\') >= 0
	if s.at = s.skip(s.at); s.at >= len(s.data) || s.data[s.at] != ':' {
		return false
	}
	s.at = s.skip(s.at + 1)
	s.value, s.text, s.nested = "", false, false
	if s.at >= len(s.data) {
		return false
	}
	switch s.data[s.at] {
	case '"':
		value, ok := s.str()
		s.value, s.text = asString(value), true
		return ok
	case '{', '[':
		s.nested = true // its content is looked at
		return true
	}
	for s.at < len(s.data) && s.data[s.at] != ',' && s.data[s.at] != '}' {
		s.at++
	}
	return true
}

// str takes a string at the current place.
func (s *keyScan) str() ([]byte, bool) {
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		return nil, false
	}
	for from, at := s.at+1, s.at+1; ; at++ {
		n := bytes.IndexByte(s.data[at:], '"')
		if n < 0 {
			return nil, false
		}
		at += n
		back := at
		for back > from && s.data[back-1] == '\\' {
			back--
		}
		if (at-back)%2 == 0 {
			s.at = at + 1
			return s.data[from:at], true
		}
	}
}

func (s *keyScan) skip(at int) int {
	for at < len(s.data) && (s.data[at] == ' ' || s.data[at] == '\n' || s.data[at] == '\t' || s.data[at] == '\r') {
		at++
	}
	return at
}

func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

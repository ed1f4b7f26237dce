package effect

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// plain reads what most inputs are: an object of texts in which nothing is
// escaped, and true or false. It reports false for any other, which the decoder
// then reads; a process that decides one call gets by without that one.
func (in *input) plain(s string) (ok bool, err error) {
	if !utf8.ValidString(s) {
		return false, nil
	}
	p := plainReader{s: s}
	if !p.take('{') {
		return false, nil
	}
	fields, keys := map[string]any{}, []string(nil)
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') {
			return false, nil
		}
		key, ok := p.text()
		if !ok || !p.take(':') {
			return false, nil
		}
		v, ok := p.value()
		if !ok {
			return false, nil
		}
		if _, twice := fields[key]; twice {
			err = errors.New("the input names " + key + " twice")
		}
		fields[key], keys = v, append(keys, key)
	}
	if p.space(); p.s != "" {
		return false, nil
	}
	if err == nil {
		in.fields, in.keys = fields, keys
	}
	return true, err
}

type plainReader struct{ s string }

func (p *plainReader) space() { p.s = strings.TrimLeft(p.s, " \t\r\n") }

func (p *plainReader) take(c byte) bool {
	p.space()
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

// text reads a text without escapes.
func (p *plainReader) text() (string, bool) {
	if !p.take('"') {
		return "", false
	}
	for i := range len(p.s) {
		switch c := p.s[i]; {
		case c == '"':
			t := p.s[:i]
			p.s = p.s[i+1:]
			return t, true
		case c == '\\', c < ' ':
			return "", false
		}
	}
	return "", false
}

func (p *plainReader) value() (any, bool) {
	p.space()
	if rest, ok := strings.CutPrefix(p.s, "true"); ok {
		p.s = rest
		return true, true
	}
	if rest, ok := strings.CutPrefix(p.s, "false"); ok {
		p.s = rest
		return false, true
	}
	return p.text()
}

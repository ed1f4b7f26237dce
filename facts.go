package obstat

import (
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/obstat/obstat/effect"
)

// A Subject is a string that a rule's pattern is matched against, and the field
// it stands for.
type Subject struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// A Question is what a call asks of the rules: may Tool (a tool, or whatever
// the dialect's rules are keyed by) do this to these subjects? A rule matches
// if it matches any of the subjects. A call may pose several questions; the
// strictest answer counts.
type Question struct {
	Tool     string    `json:"tool"`
	Subjects []Subject `json:"subjects,omitempty"`
}

// A View turns a call into the questions that its dialect's rules answer. It
// must return at least one, or say in a fault why it cannot; only a part of a
// call (see [Facts.Part]) may ask nothing that the whole has not asked.
type View interface {
	Questions(f *Facts) ([]Question, error)
}

// Facts is a call under decision and what has been found out about it; each
// thing is found out once, when first wanted.
type Facts struct {
	Call  *Call
	World World
	Mode  Mode
	// Settled is the decision so far; only amendments see it.
	Settled *Decision

	input    inputFields
	analysis *effect.Analysis
	// part is set when this is one part of a call, put to the rules by the floor.
	part *Part
}

// Part returns what part of a call is under decision, nil for the whole.
func (f *Facts) Part() *Part { return f.part }

// Analysis returns what the call would do.
func (f *Facts) Analysis() *effect.Analysis {
	if f.analysis == nil {
		f.analysis = effect.Analyze(&effect.Request{Tool: f.Call.Tool, Input: f.Call.Input, Options: effect.Options{Dir: f.Call.Dir, FS: f.World}})
	}
	return f.analysis
}

// Field returns the top-level input field of that name as text: a string's
// value, any other value as its JSON. ok is false where there is none, or where
// the input cannot be read (see Fault).
func (f *Facts) Field(name string) (text string, ok bool) {
	in := f.fields()
	for i := range in.fields {
		if in.fields[i].Field == name {
			return in.fields[i].Text, true
		}
	}
	return "", false
}

// fields returns the input's fields, which are read when first wanted.
func (f *Facts) fields() *inputFields {
	f.input.read(f.Call.Input)
	return &f.input
}

// String returns the top-level input field of that name if it is a string.
func (f *Facts) String(name string) (text string, ok bool) {
	in := f.fields()
	for i := range in.fields {
		if in.fields[i].Field == name {
			return in.fields[i].Text, in.isString(i)
		}
	}
	return "", false
}

// Fault returns why the input cannot be read, or nil.
func (f *Facts) Fault() error {
	if err := f.fields().err; err != nil {
		return err
	}
	return nil
}

// inputFields are the top-level fields of an input, as text.
type inputFields struct {
	done   bool
	fields []Subject
	buf    []byte              // values with escapes live here
	seen   map[string]struct{} // folded keys, once there are many
	raw    []uint64            // a bit a field: its value is not a string
	err    *scanError
}

func (in *inputFields) reset() {
	in.done, in.fields, in.buf, in.seen, in.raw, in.err = false, in.fields[:0], in.buf[:0], nil, in.raw[:0], nil
}

// read scans raw once. The fields' texts share its memory, and the buffer's:
// they hold until the decision is made.
func (in *inputFields) read(raw []byte) {
	if in.done {
		return
	}
	in.done = true
	src := bytesAsString(raw)
	i := skipSpace(src, 0)
	if i == len(src) || src[i] == 'n' && strings.TrimSpace(src) == "null" {
		return // no input is an empty one
	}
	if in.err = in.scan(src, i); in.err != nil {
		in.err.msg = "the input cannot be read: " + in.err.msg
	}
}

// scan reads the object that starts at i into fields.
func (in *inputFields) scan(s string, i int) (err *scanError) {
	if s[i] != '{' {
		return &scanError{i, CodeWrongType, "object expected"}
	}
	i = skipSpace(s, i+1)
	for first := true; ; first = false {
		if i < len(s) && s[i] == '}' {
			if i = skipSpace(s, i+1); i < len(s) {
				return &scanError{i, CodeSyntax, "text after the value"}
			}
			return nil
		}
		if !first {
			if i >= len(s) || s[i] != ',' {
				return &scanError{i, CodeSyntax, "comma or closing bracket expected"}
			}
			i = skipSpace(s, i+1)
		}
		if i, err = in.member(s, i); err != nil {
			return err
		}
		i = skipSpace(s, i)
	}
}

// member reads a key and its value and returns the offset after them.
func (in *inputFields) member(s string, i int) (int, *scanError) {
	if i >= len(s) || s[i] != '"' {
		return i, &scanError{i, CodeSyntax, "key expected"}
	}
	end, escaped, err := skipString(s, i)
	if err != nil {
		return i, err
	}
	key := s[i+1 : end-1]
	if escaped {
		var ok bool
		if key, ok = in.unquote(s[i:end]); !ok {
			return i, &scanError{i, CodeSyntax, "a key has an escape that cannot be read"}
		}
	}
	if in.duplicate(key) {
		return i, &scanError{i, CodeDuplicateKey, "the key " + strings.Clone(key) + " stands twice, or in two spellings"}
	}
	if end = skipSpace(s, end); end >= len(s) || s[end] != ':' {
		return i, &scanError{end, CodeSyntax, "colon expected"}
	}
	i = skipSpace(s, end+1)
	if i < len(s) && s[i] != '"' {
		in.markRaw(len(in.fields))
	}
	text, end, err := in.value(s, i)
	in.fields = append(in.fields, Subject{key, text})
	return end, err
}

func (in *inputFields) markRaw(i int) {
	for len(in.raw) <= i/64 {
		in.raw = append(in.raw, 0)
	}
	in.raw[i/64] |= 1 << (i % 64)
}

func (in *inputFields) isString(i int) bool {
	return i/64 >= len(in.raw) || in.raw[i/64]&(1<<(i%64)) == 0
}

// value reads a value as text: a string's value, any other as its JSON.
func (in *inputFields) value(s string, i int) (text string, end int, err *scanError) {
	if i >= len(s) || s[i] != '"' {
		if end, err = skipValue(s, i); err != nil {
			return "", i, err
		}
		return s[i:end], end, nil
	}
	end, escaped, err := skipString(s, i)
	if err != nil {
		return "", i, err
	}
	if !escaped {
		return s[i+1 : end-1], end, nil
	}
	text, ok := in.unquote(s[i:end])
	if !ok {
		return "", i, &scanError{i, CodeSyntax, "a string has an escape that cannot be read"}
	}
	return text, end, nil
}

// manyKeys is where comparing every key with every other stops being cheap.
const manyKeys = 64

// duplicate looks for key among the keys before it. Keys that differ only in
// case count: whoever reads the input later may not tell them apart.
func (in *inputFields) duplicate(key string) bool {
	if len(in.fields) < manyKeys {
		for i := range in.fields {
			if k := in.fields[i].Field; sameStart(k, key) && strings.EqualFold(k, key) {
				return true
			}
		}
		return false
	}
	if in.seen == nil {
		in.seen = make(map[string]struct{}, 2*manyKeys)
		for _, f := range in.fields {
			in.seen[fold(f.Field)] = struct{}{}
		}
	}
	_, dup := in.seen[fold(key)]
	in.seen[fold(key)] = struct{}{}
	return dup
}

// sameStart is a quick no for most pairs of keys: letters that differ in more
// than case cannot start equal keys, unless one of them is not ASCII.
func sameStart(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return a[0]|0x20 == b[0]|0x20 || a[0] >= 0x80 || b[0] >= 0x80
}

// fold maps keys that strings.EqualFold holds equal to one text.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

// unquote returns the value of a string with escapes, kept in the buffer.
func (in *inputFields) unquote(value string) (string, bool) {
	start := len(in.buf)
	if cap(in.buf)-start < len(value) {
		// A new buffer: texts already handed out keep the old one.
		in.buf, start = make([]byte, 0, max(1024, 2*len(value))), 0
	}
	var ok bool
	if in.buf, ok = unquote(in.buf, value); !ok {
		return "", false
	}
	return unsafe.String(unsafe.SliceData(in.buf[start:]), len(in.buf)-start), true
}

// bytesAsString shares b's memory; b must not change while the string is used.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Object returns the input as a JSON object; no input is an empty one.
func (f *Facts) Object() (map[string]any, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	if len(f.fields().fields) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(f.Call.Input, &out)
}

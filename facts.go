package obstat

import (
	"encoding/json"
	"errors"
	"slices"
	"unsafe"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A Subject is a string that a rule's pattern is matched against, and the field
// it stands for.
type Subject struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// A Question is put to the rules: may Tool (a tool, or the permission that the
// dialect's rules are keyed by) do this to these subjects? A rule matches
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

// Facts is a call under decision with its fields and its analysis, each of which
// is computed once, when first asked for.
type Facts struct {
	Call  *Call
	World World
	Mode  Mode
	// Settled is the decision so far; only amendments see it.
	Settled *Decision
	// Scratch is for the view: what it keeps of the call from question to question. One with
	// a method Reset is reset and there for a later call; anything else is dropped.
	Scratch any

	input    inputFields
	analysis *effect.Analysis
	tree     *tree.Node // the input, if a condition looks into it
	// part is set when this is one part of a call, put to the rules by the floor.
	part *Part
	pol  *Policy // nil outside of a decision
}

// Wants reports whether a rule of the policy looks at a field: a subject, or one of a
// condition ([Cond]).
func (pol *Policy) Wants(field string) bool { return pol.fields[field] }

// Circumstantial reports whether a rule of the policy looks at any circumstance of a call.
func (pol *Policy) Circumstantial() bool { return pol.circumstantial }

// Marks returns the marks that the policy gives; see [Mark].
func (pol *Policy) Marks() (out []string) {
	for _, pl := range pol.prog.Pipelines {
		for _, s := range pl.Stages {
			if m, ok := s.(Mark); ok {
				for i := range pol.prog.Rules[m.Rules] {
					if id := pol.prog.Rules[m.Rules][i].ID; !slices.Contains(out, id) {
						out = append(out, id)
					}
				}
			}
		}
	}
	return out
}

// Wants reports whether a rule of the policy looks at a field, so that a view need
// not work out subjects that no rule is about.
func (f *Facts) Wants(field string) bool { return f.pol == nil || f.pol.fields[field] }

// Part returns the part of a call that is under decision, such as `rm x` of
// `make && rm x`; nil for the whole call.
func (f *Facts) Part() *Part { return f.part }

// Analysis returns the commands that the call would run and the files and hosts
// it would touch.
func (f *Facts) Analysis() *effect.Analysis {
	if r, ok := f.World.(*Recorder); ok && f.analysis == nil {
		f.analysis = r.Analysis(f.Call)
	}
	if f.analysis == nil {
		f.analysis = f.Call.analyze(f.World)
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
			return in.fields[i].Text, in.isText[i]
		}
	}
	return "", false
}

// Fault returns why the input cannot be read, or nil.
func (f *Facts) Fault() error { return f.fields().err }

// inputFields are the top-level fields of an input, as text.
type inputFields struct {
	done   bool
	scan   jsonx.Scanner
	fields []Subject
	isText []bool // of each field: it is a JSON string
	err    error
}

func (in *inputFields) reset() {
	in.done, in.fields, in.isText, in.err = false, in.fields[:0], in.isText[:0], nil
}

// read scans raw once. The fields' texts share its memory, and the scanner's:
// they hold until the decision is made.
func (in *inputFields) read(raw []byte) {
	if in.done {
		return
	}
	in.done = true
	if blank(raw) {
		return // no input is an empty one
	}
	src := bytesAsString(raw)
	in.scan.Reset(src, jsonx.Options{NUL: true, NoMark: true, Fold: 1})
	switch in.scan.Next() {
	case jsonx.Null:
	case jsonx.ObjectStart:
		if !in.members(src) {
			return
		}
	case jsonx.Bad:
		in.fail()
		return
	default:
		in.err = errors.New("the input cannot be read: object expected")
		return
	}
	if in.scan.Next() != jsonx.End {
		in.fail()
	}
}

// blank reports whether there is nothing but white space.
func blank(raw []byte) bool {
	for _, c := range raw {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// members reads the fields of the object that has begun, up to its end.
func (in *inputFields) members(src string) bool {
	s := &in.scan
	for s.Next() == jsonx.Key {
		key := s.Text
		kind := s.Value()
		text := s.Text
		if kind == jsonx.Bad {
			break
		} else if kind != jsonx.Str {
			text = src[s.Start:s.End]
		}
		in.fields, in.isText = append(in.fields, Subject{key, text}), append(in.isText, kind == jsonx.Str)
	}
	if s.Err() != nil {
		in.fail()
	}
	return in.err == nil
}

func (in *inputFields) fail() {
	in.err = errors.New("the input cannot be read: " + in.scan.Err().Msg)
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

package obstat

import (
	"fmt"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// The JSON form of a Program: fields in the order in which they are written here,
// map keys sorted, so that equal Programs print equally. docs/program.md is the
// contract. It is written by hand since every hook wants a digest of it.

// textAny is the key under which the Text that matches everything is written.
const textAny = "any"

// MarshalJSON writes an exact text as a string and any other as an object of
// one member, its flavour.
func (t Text) MarshalJSON() ([]byte, error) {
	var w jsonx.Writer
	t.write(&w)
	return w.Buf, nil
}

func (t Text) write(w *jsonx.Writer) {
	if t.Flavour == pattern.Exact {
		w.String(t.Text)
		return
	}
	w.Begin('{')
	if t.Flavour == "" {
		w.TrueField(textAny, true)
	} else {
		w.Key(string(t.Flavour))
		w.String(t.Text)
	}
	w.End('}')
}

// MarshalJSON writes the Program in its stable form.
func (p *Program) MarshalJSON() ([]byte, error) { return p.marshal(true) }

// marshal leaves the positions out for the digest: moving a rule to another
// line does not change its meaning.
func (p *Program) marshal(positions bool) ([]byte, error) {
	w := new(jsonx.Writer)
	w.Begin('{')
	w.IntField("obstat", 1)
	w.TextField("dialect", p.Dialect)
	w.Key("mode")
	w.String(string(p.Mode))
	w.TextField("view", p.View)
	if p.NoFloor {
		w.TextField("floor", "off")
	}
	w.Key("pipelines")
	writeMap(w, p.Pipelines, func(pl Pipeline) { pl.write(w) })
	if len(p.Rules) > 0 {
		w.Key("rules")
		writeMap(w, p.Rules, func(rules []Rule) {
			w.Begin('[')
			for i := range rules {
				rules[i].write(w, positions)
			}
			w.End(']')
		})
	}
	if len(p.Faces) > 0 {
		w.Key("faces")
		writeMap(w, p.Faces, func(f Face) {
			w.Begin('{')
			w.Key("tool")
			w.String(f.Tool)
			w.Key("field")
			w.String(f.Field)
			w.End('}')
		})
	}
	w.RawField("params", p.Params)
	w.End('}')
	return w.Buf, w.Err
}

// writeMap writes an object of a map's values.
func writeMap[K ~string, V any](w *jsonx.Writer, m map[K]V, write func(V)) {
	w.Begin('{')
	for _, k := range sortedKeys(m) {
		w.Key(string(k))
		write(m[k])
	}
	w.End('}')
}

func (r *Rule) write(w *jsonx.Writer, positions bool) {
	w.Begin('{')
	w.TextField("id", r.ID)
	w.Key("tool")
	r.Tool.write(w)
	w.TextField("field", r.Field)
	if !r.Whole() {
		w.Key("match")
		r.Pattern.write(w)
	}
	w.Key("verdict")
	w.String(r.Verdict.String())
	writeConds(w, "if", r.If)
	writeConds(w, "except", r.Except)
	w.ListField("over", r.Over.Words())
	w.TextField("source", r.Source)
	w.TextField("layer", r.Layer)
	w.TextField("reason", r.Reason)
	if positions && r.Pos.IsValid() {
		w.Key("pos")
		w.Begin('{')
		w.TextField("file", r.Pos.File)
		w.IntField("line", int64(r.Pos.Line))
		w.IntField("col", int64(r.Pos.Col))
		w.End('}')
	}
	w.End('}')
}

func writeConds(w *jsonx.Writer, key string, conds []Cond) {
	if len(conds) == 0 {
		return
	}
	w.Key(key)
	w.Begin('[')
	for i := range conds {
		c := &conds[i]
		w.Begin('{')
		w.TextField("field", c.Field)
		w.TrueField("not", c.Not)
		w.Key("match")
		w.Begin('[')
		for _, t := range c.Any {
			t.write(w)
		}
		w.End(']')
		w.End('}')
	}
	w.End(']')
}

func (pl *Pipeline) write(w *jsonx.Writer) {
	w.Begin('{')
	w.Key("stages")
	writeStages(w, pl.Stages)
	w.Key("default")
	w.String(pl.Default.String())
	if len(pl.Amend) > 0 {
		w.Key("amend")
		writeStages(w, pl.Amend)
	}
	w.End('}')
}

func writeStages(w *jsonx.Writer, stages []Stage) {
	w.Begin('[')
	for _, s := range stages {
		w.Begin('{')
		writeStage(w, s)
		w.End('}')
	}
	w.End(']')
}

func writeStage(w *jsonx.Writer, s Stage) {
	name := func(key, name string) {
		w.Key(key)
		w.String(name)
	}
	switch s := s.(type) {
	case Match:
		name("match", s.Name)
		w.TextField("rules", s.Rules)
		if s.Pick != First {
			w.TextField("pick", s.Pick.String())
		}
		w.TextField("except", s.Except)
		if s.Settle != 0 {
			w.ListField("settle", s.Settle.names())
		}
		w.TrueField("ask_denies", s.AskDenies)
	case Check:
		name("check", s.Name)
		w.TextField("run", s.Check)
		w.ListField("pass", s.Pass.names())
		w.TrueField("ask_denies", s.AskDenies)
		w.ListField("unless", s.Unless)
	case When:
		name("when", s.Name)
		w.TextField("is", s.Is)
		w.ListField("tools", s.Tools)
		name("then", s.Then.String())
		if s.Else != nil {
			name("else", s.Else.String())
		}
	case Mark:
		name("mark", s.Name)
		w.TextField("rules", s.Rules)
	case Floor:
		name("floor", s.Name)
	}
}

func (vs Verdicts) names() (out []string) {
	for _, v := range vs.List() {
		out = append(out, v.String())
	}
	return out
}

var outcomeNames = [...]string{"plain_ask", "safety_ask", "deny", "allow"}

func (o Outcomes) names() []string {
	var out []string
	for i, n := range outcomeNames {
		if o&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// UnmarshalJSON reads a Program and refuses keys that it does not know. Use
// [ParseProgram] to get rules with their positions.
func (p *Program) UnmarshalJSON(b []byte) error {
	q, err := parseProgram("", b, false)
	if err != nil {
		return err
	}
	*p = *q
	return nil
}

// ParseProgram reads a hand-written Program from the text of a file. All
// problems are reported at once, each with its position; rules without one get
// the place they stand at.
func ParseProgram(file string, text []byte) (*Program, error) { return parseProgram(file, text, true) }

// maxProgram bounds the size of a Program's text.
const maxProgram = 256 << 20

func parseProgram(file string, text []byte, positions bool) (*Program, error) {
	if len(text) > maxProgram {
		return nil, Errors{{Code: CodeTooLarge, Pos: Pos{file, 1, 1},
			Msg: fmt.Sprintf("program of %d bytes; at most %d are read", len(text), maxProgram)}}
	}
	d := newDecoder(file, text)
	d.positions = positions
	p := &Program{Pipelines: map[Mode]Pipeline{}, Rules: map[string][]Rule{}}
	d.program(p, d.s.Next())
	if err := d.done(); err != nil {
		return nil, err
	}
	return p, nil
}

// MarshalJSON writes the rule as it stands in a Program's JSON.
func (r Rule) MarshalJSON() ([]byte, error) {
	var w jsonx.Writer
	r.write(&w, true)
	return w.Buf, nil
}

// UnmarshalJSON reads a rule as [ParseRule] does.
func (r *Rule) UnmarshalJSON(b []byte) error {
	got, err := ParseRule(b)
	if err == nil {
		*r = got
	}
	return err
}

// ParseRule reads a rule from its JSON.
func ParseRule(text []byte) (Rule, error) {
	d := newDecoder("", text)
	r := d.rule(d.s.Next())
	return r, d.done()
}

package cases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A document is a case as it is written; Config and Want of its Case are made of the
// other fields.
type document struct {
	Case
	Want    wanted                     `json:"want,omitzero"`
	Options map[string]json.RawMessage `json:"options,omitempty"`
	Policy  json.RawMessage            `json:"policy,omitempty"`
	Layers  []json.RawMessage          `json:"layers,omitempty"`
	Files   map[string]json.RawMessage `json:"files,omitempty"`
	Tools   map[string]tool            `json:"tools,omitempty"`
	Floor   *string                    `json:"floor,omitempty"`
}

// wanted is a Want as it is written: an offer may be a string, and null is matched where
// nothing is.
type wanted struct {
	Want
	Offers  []json.RawMessage `json:"offers,omitempty"`
	Matched json.RawMessage   `json:"matched,omitempty"`
}

type tool struct {
	Kind     string `json:"kind,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	Trusted  bool   `json:"trusted,omitempty"`
	Check    *struct {
		Answer answer `json:"verdict"`
		Safety bool   `json:"safety,omitempty"`
	} `json:"check,omitempty"`
}

// An answer is a verdict, or "pass".
type answer dialect.Answer

// UnmarshalText reads the answer.
func (a *answer) UnmarshalText(text []byte) error {
	if a.Pass = string(text) == "pass"; a.Pass {
		return nil
	}
	return a.Verdict.UnmarshalText(text)
}

// Parse reads one case from its line. The problems are obstat.Errors, all of
// them, with the column that each stands at.
func Parse(file string, line int, src []byte) (*Case, error) {
	p, n := read(file, line, src)
	if p.errs.Fatal() == nil {
		dropNulls(n.At("call", "subjects"), n.At("call", "roles"), n.At("call", "roots"), n.At("world", "dirs"))
		p.note(n.Decode(src, &p.doc))
	}
	if n.Is(tree.Object) {
		p.config(n)
		p.want(n)
	}
	if err := p.errs.Fatal(); err != nil {
		return nil, err
	}
	return &p.doc.Case, nil
}

// ParseCall reads a call from one line of JSON. Unknown keys, keys given twice and known
// keys in other capitals are refused: another reader of the same line has to see the same
// tool.
func ParseCall(file string, line int, src []byte) (*obstat.Call, error) {
	p, n := read(file, line, src)
	c := &obstat.Call{}
	if p.errs.Fatal() == nil {
		p.note(n.Decode(src, c))
	}
	if c.Tool == "" && p.errs.Fatal() == nil {
		p.fail(n.Get("tool"), "the call names no tool")
	}
	if err := p.errs.Fatal(); err != nil {
		return nil, err
	}
	return c, nil
}

// A parser turns the tree of a line into a case.
type parser struct {
	file dialect.File
	line int
	errs obstat.Errors
	doc  document
}

func read(file string, line int, src []byte) (*parser, *tree.Node) {
	p := &parser{file: dialect.File{Name: file, Data: src}, line: line}
	n, problems := jsonx.Parse(src, jsonx.Options{NUL: true})
	p.note(problems)
	return p, n
}

func (p *parser) note(problems []tree.Problem) {
	for _, e := range p.file.Problems(problems) {
		p.add(e)
	}
}

// add takes a problem of the line, which is line p.line of its file.
func (p *parser) add(e *obstat.Error) {
	e.Pos.Line = p.line
	for i := range e.Also {
		e.Also[i].Line = p.line
	}
	p.errs = append(p.errs, e)
}

func (p *parser) fail(n *tree.Node, format string, args ...any) {
	p.add(p.file.Problem(n.Start, obstat.CodeBadValue, format, args...))
}

// dropNulls takes the nulls out of lists: a root that is not known is no root.
func dropNulls(lists ...*tree.Node) {
	for _, l := range lists {
		if l != nil {
			l.Elems = slices.DeleteFunc(l.Elems, func(e *tree.Node) bool { return e.Is(tree.Null) })
		}
	}
}

func (p *parser) config(n *tree.Node) {
	c := &p.doc.Config
	given := 0
	add := func(name, layer string, v *tree.Node) {
		c.Files = append(c.Files, dialect.File{Name: name, Layer: layer, Data: p.fileText(v)})
	}
	if v := n.Get("policy"); v != nil {
		given, c.unnamed = given+1, true
		add("", "", v)
	}
	if v := n.Get("layers"); v.Is(tree.Array) {
		given, c.unnamed = given+1, true
		for i, e := range v.Elems {
			add(fmt.Sprintf("layer%d/", i), fmt.Sprint(i), e)
		}
	}
	if v := n.Get("files"); v != nil {
		given++
		for _, m := range v.Members {
			add(m.Key, "", m.Value)
		}
	}
	misspelt := slices.ContainsFunc(p.errs, func(e *obstat.Error) bool { return e.Code == obstat.CodeUnknownKey })
	if given > 1 || given == 0 && !misspelt {
		p.fail(n, "a case has one of policy, layers and files; this one has %d of them", given)
	}
	c.Options = p.options(n.Get("options"))
	if f := p.doc.Floor; f != nil {
		c.Options[dialect.FloorOption] = *f
	}
	if p.doc.Tools != nil {
		c.Tools = map[string]dialect.Tool{}
	}
	for name, t := range p.doc.Tools {
		out := dialect.Tool{Kind: t.Kind, ReadOnly: t.ReadOnly, Trusted: t.Trusted}
		if t.Check != nil {
			out.Check = (*dialect.Answer)(&t.Check.Answer)
			out.Check.Safety = t.Check.Safety
		}
		c.Tools[name] = out
	}
}

// fileText returns the text of a file: a string itself, any other value as it is written,
// its keys in order.
func (p *parser) fileText(v *tree.Node) []byte {
	if v.Is(tree.String) {
		return []byte(v.Str)
	}
	return slices.Clone(v.Source(p.file.Data))
}

func (p *parser) options(n *tree.Node) map[string]string {
	out := map[string]string{}
	if n == nil {
		return out
	}
	for _, m := range n.Members {
		out[m.Key] = string(p.fileText(m.Value))
		if m.Value.Is(tree.Array) {
			var words []string
			p.note(m.Value.Decode(p.file.Data, &words))
			out[m.Key] = strings.Join(words, ",")
		}
	}
	return out
}

func (p *parser) want(n *tree.Node) {
	w, c := n.Get("want"), &p.doc.Case
	c.Want = p.doc.Want.Want
	if (w == nil) == (n.Get("never") == nil) {
		p.fail(n, "a case has either want or never")
		return
	}
	if m := w.Get("matched"); m != nil {
		if c.Want.Matched = &m.Str; !m.Is(tree.Null) && !m.Is(tree.String) {
			p.note([]tree.Problem{*m.Want("matched", tree.String)})
		}
	}
	if o := w.Get("offers"); o.Is(tree.Array) {
		offers := make([]Offer, len(o.Elems))
		for i, e := range o.Elems {
			if e.Is(tree.String) {
				offers[i].Text = e.Str
			} else {
				p.note(e.Decode(p.file.Data, &offers[i]))
			}
		}
		c.Want.Offers = &offers
	}
	if w != nil && !c.Want.Error && c.Want.Verdict == nil {
		p.fail(w, "want names neither a verdict nor an error")
	}
}

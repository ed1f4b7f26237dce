package policycache

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// errBytes is the error of bytes that no encoder wrote.
var errBytes = errors.New("the cached policy is damaged")

// An encoder writes what a decoder reads back, field by field: numbers as
// varints, lists behind their length, a text that came before as the place where
// it did. Most of a policy's texts come many times.
type encoder struct {
	b     []byte
	texts map[string]int // place of the text's length plus one
	items int            // of all lists of texts
	rules int
}

func (e *encoder) num(n int)    { e.b = binary.AppendUvarint(e.b, uint64(n)) }
func (e *encoder) byte(n uint8) { e.b = append(e.b, n) }
func (e *encoder) text(s string) {
	if at, ok := e.texts[s]; ok {
		e.num(at)
		return
	}
	if e.texts == nil {
		e.texts = map[string]int{}
	}
	e.num(0)
	e.texts[s] = len(e.b) + 1
	e.num(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) flag(yes bool) {
	if yes {
		e.byte(1)
		return
	}
	e.byte(0)
}

func (e *encoder) list(list []string) {
	e.num(len(list))
	e.items += len(list)
	for _, s := range list {
		e.text(s)
	}
}

// A decoder reads what an encoder wrote. Its texts are parts of src: nothing is
// copied. What lists hold is made in one piece each.
type decoder struct {
	src   string
	at    int
	items []string      // room for lists
	rules []obstat.Rule // room for rules
	bad   bool
}

// room makes room for as much as there is.
func (d *decoder) room() {
	items, rules := d.count(), d.count()
	d.items, d.rules = make([]string, items), make([]obstat.Rule, rules)
	d.src, d.at = d.src[d.at:], 0
}

// take returns a list of n that lies in the room for all lists.
func take[T any](d *decoder, room *[]T, n int) []T {
	if n > len(*room) {
		d.fail()
		return nil
	}
	out := (*room)[:n:n]
	*room = (*room)[n:]
	return out
}

func (d *decoder) fail() {
	d.bad = true
	d.at = len(d.src)
}

func (d *decoder) byte() uint8 {
	if d.at >= len(d.src) {
		d.fail()
		return 0
	}
	d.at++
	return d.src[d.at-1]
}

func (d *decoder) num() int {
	if d.at < len(d.src) && d.src[d.at] < 0x80 { // most are small
		d.at++
		return int(d.src[d.at-1])
	}
	var n uint64
	for shift := 0; shift < 63; shift += 7 {
		b := d.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int(n)
		}
	}
	d.fail()
	return 0
}

func (d *decoder) text() string {
	at, next := d.num(), 0
	switch {
	case at > d.at || at < 0:
		d.fail()
		return ""
	case at > 0:
		next, d.at = d.at, at-1
	}
	n := d.count()
	d.at += n
	out := d.src[d.at-n : d.at]
	if at > 0 && !d.bad {
		d.at = next
	}
	return out
}

func (d *decoder) flag() bool { return d.byte() != 0 }

// count reads the length of a text or list; each item has at least one byte.
func (d *decoder) count() int {
	n := d.num()
	if n < 0 || n > len(d.src)-d.at {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) list() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	out := take(d, &d.items, n)
	for i := range out {
		out[i] = d.text()
	}
	return out
}

// The kinds of stages, as they are written.
const (
	kindMatch = iota + 1
	kindCheck
	kindWhen
	kindFloor
)

func (e *encoder) program(p *obstat.Program) {
	e.text(p.Dialect)
	e.text(string(p.Mode))
	e.text(p.View)
	e.flag(p.NoFloor)
	e.flag(p.Params != nil)
	e.text(string(p.Params))
	e.num(len(p.Faces))
	for _, name := range slices.Sorted(maps.Keys(p.Faces)) {
		e.text(name)
		e.text(p.Faces[name].Tool)
		e.text(p.Faces[name].Field)
	}
	e.num(len(p.Rules))
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		e.text(name)
		e.num(len(p.Rules[name]))
		e.rules += len(p.Rules[name])
		for i := range p.Rules[name] {
			e.rule(&p.Rules[name][i])
		}
	}
	e.num(len(p.Pipelines))
	for _, mode := range slices.Sorted(maps.Keys(p.Pipelines)) {
		e.text(string(mode))
		pl := p.Pipelines[mode]
		e.byte(uint8(pl.Default))
		e.stages(pl.Stages)
		e.stages(pl.Amend)
	}
}

func (d *decoder) program() *obstat.Program {
	p := &obstat.Program{Dialect: d.text(), Mode: obstat.Mode(d.text()), View: d.text(), NoFloor: d.flag()}
	has := d.flag()
	if params := d.text(); has {
		p.Params = []byte(params)
	}
	if n := d.count(); n > 0 {
		p.Faces = make(map[string]obstat.Face, n)
		for range n {
			p.Faces[d.text()] = obstat.Face{Tool: d.text(), Field: d.text()}
		}
	}
	if n := d.count(); n > 0 {
		p.Rules = make(map[string][]obstat.Rule, n)
		for range n {
			name := d.text()
			rules := take(d, &d.rules, d.count())
			for i := range rules {
				d.rule(&rules[i])
			}
			p.Rules[name] = rules
		}
	}
	n := d.count()
	p.Pipelines = make(map[obstat.Mode]obstat.Pipeline, n)
	for range n {
		mode := obstat.Mode(d.text())
		p.Pipelines[mode] = obstat.Pipeline{Default: obstat.Verdict(d.byte()), Stages: d.stages(), Amend: d.stages()}
	}
	return p
}

func (e *encoder) rule(r *obstat.Rule) {
	e.text(r.ID)
	e.text(string(r.Tool.Flavour))
	e.text(r.Tool.Text)
	e.text(r.Field)
	e.text(string(r.Pattern.Flavour))
	e.text(r.Pattern.Text)
	e.byte(uint8(r.Verdict))
	e.text(r.Source)
	e.text(r.Layer)
	e.text(r.Reason)
	e.text(r.Pos.File)
	e.num(r.Pos.Line)
	e.num(r.Pos.Col)
}

func (d *decoder) rule(r *obstat.Rule) {
	r.ID = d.text()
	r.Tool.Flavour, r.Tool.Text = pattern.Flavour(d.text()), d.text()
	r.Field = d.text()
	r.Pattern.Flavour, r.Pattern.Text = pattern.Flavour(d.text()), d.text()
	r.Verdict = obstat.Verdict(d.byte())
	r.Source, r.Layer, r.Reason = d.text(), d.text(), d.text()
	r.Pos = obstat.Pos{File: d.text(), Line: d.num(), Col: d.num()}
}

func (e *encoder) stages(list []obstat.Stage) {
	e.num(len(list))
	for _, s := range list {
		e.stage(s)
	}
}

func (e *encoder) stage(s obstat.Stage) {
	switch s := s.(type) {
	case obstat.Match:
		e.byte(kindMatch)
		e.text(s.Name)
		e.text(s.Rules)
		e.byte(uint8(s.Pick))
		e.byte(uint8(s.Settle))
		e.flag(s.AskDenies)
	case obstat.Check:
		e.byte(kindCheck)
		e.text(s.Name)
		e.text(s.Check)
		e.byte(uint8(s.Pass))
		e.flag(s.AskDenies)
		e.list(s.Unless)
	case obstat.When:
		e.byte(kindWhen)
		e.text(s.Name)
		e.text(s.Is)
		e.list(s.Tools)
		e.byte(uint8(s.Then))
		e.flag(s.Else != nil)
		if s.Else != nil {
			e.byte(uint8(*s.Else))
		}
	case obstat.Floor:
		e.byte(kindFloor)
		e.text(s.Name)
	default:
		e.byte(0) // cannot be read back
	}
}

func (d *decoder) stages() []obstat.Stage {
	n := d.count()
	if n == 0 {
		return nil
	}
	out := make([]obstat.Stage, n)
	for i := range out {
		out[i] = d.stage()
	}
	return out
}

func (d *decoder) stage() obstat.Stage {
	switch d.byte() {
	case kindMatch:
		return obstat.Match{Name: d.text(), Rules: d.text(), Pick: obstat.Pick(d.byte()), Settle: obstat.Verdicts(d.byte()), AskDenies: d.flag()}
	case kindCheck:
		return obstat.Check{Name: d.text(), Check: d.text(), Pass: obstat.Outcomes(d.byte()), AskDenies: d.flag(), Unless: d.list()}
	case kindWhen:
		s := obstat.When{Name: d.text(), Is: d.text(), Tools: d.list(), Then: obstat.Verdict(d.byte())}
		if d.flag() {
			v := obstat.Verdict(d.byte())
			s.Else = &v
		}
		return s
	case kindFloor:
		return obstat.Floor{Name: d.text()}
	}
	d.fail()
	return nil
}

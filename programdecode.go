package obstat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A decoder turns JSON text into a Program in one pass and collects every
// problem. Its methods take k, the first token of the value that they read.
//
// It reads no tree, as dialects do: of a Program, the stages are a sum, a pattern is a text or an
// object, and every rule has its place. Reading the preset balanced takes it 0.36 ms and 80 KB,
// which a hook pays where files wait for acceptance; making the tree alone takes 0.54 and 290.
type decoder struct {
	s         jsonx.Scanner
	log       tree.Log // problems of the JSON itself
	errs      Errors   // problems of its meaning
	src, file string
	positions bool // rules without a position get the place they stand at
	// last is the place that pos was asked for last. Most places lie behind it,
	// and a million rules may stand on one line.
	last struct{ off, line, col int }
}

func newDecoder(file string, text []byte) *decoder {
	d := &decoder{src: string(text), file: file}
	d.s.Reset(d.src, jsonx.Options{NUL: true, Fold: jsonx.FoldAll})
	d.s.Log = &d.log
	return d
}

// done reads the end of the text and returns all problems.
func (d *decoder) done() error {
	if d.s.Err() == nil {
		d.s.Next()
	}
	for _, p := range d.log.Problems() {
		e := &Error{Code: codeOf(p.Code), Pos: d.pos(p.Offset), Msg: p.Msg, Hint: p.Hint}
		for _, off := range p.Also {
			e.Also = append(e.Also, d.pos(off))
		}
		d.errs = append(d.errs, e)
	}
	return d.errs.Fatal()
}

// codeOf returns the Code of a problem with JSON text.
func codeOf(code string) Code {
	switch code {
	case tree.CodeDuplicate:
		return CodeDuplicateKey
	case tree.CodeDepth, tree.CodeSize, tree.CodeMore:
		return CodeTooLarge
	}
	return CodeSyntax
}

func (d *decoder) pos(off int) Pos {
	off = min(off, len(d.src))
	if off < d.last.off || d.last.line == 0 {
		d.last = struct{ off, line, col int }{0, 1, 1}
	}
	text := d.src[d.last.off:off]
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		d.last.line += strings.Count(text, "\n")
		d.last.col = 1
		text = text[i+1:]
	}
	d.last.col += utf8.RuneCountInString(text)
	d.last.off = off
	return Pos{d.file, d.last.line, d.last.col}
}

// maxProblems is how many problems of one Program are reported.
const maxProblems = 100

// fail reports a problem, unless the JSON itself has ended too early: then that
// is the problem.
func (d *decoder) fail(off int, code Code, msg, hint string) {
	switch {
	case d.s.Err() != nil:
	case len(d.errs) < maxProblems:
		d.errs = append(d.errs, &Error{Code: code, Pos: d.pos(off), Msg: msg, Hint: hint})
	case len(d.errs) == maxProblems:
		d.errs = append(d.errs, &Error{Code: CodeTooLarge, Pos: d.pos(off),
			Msg: fmt.Sprintf("there are more problems than the first %d", maxProblems)})
	}
}

// wrong reports a value of another type than its key takes, and passes it.
func (d *decoder) wrong(k jsonx.Kind, msg string) {
	d.fail(d.s.Start, CodeWrongType, msg, "")
	d.skip(k)
}

func (d *decoder) skip(k jsonx.Kind) {
	if k == jsonx.ObjectStart || k == jsonx.ArrayStart {
		d.s.Rest(k)
	}
}

// object calls field for each member of an object and returns the keys it has.
// Keys that known does not list are problems; nil knows all.
func (d *decoder) object(
	k jsonx.Kind, what string, known []string, field func(key string, k jsonx.Kind),
) (keys []string) {
	if k != jsonx.ObjectStart {
		d.wrong(k, what+": object expected")
		return nil
	}
	for d.s.Next() == jsonx.Key {
		key := d.s.Text
		if known != nil && !slices.Contains(known, key) {
			d.fail(d.s.Start, CodeUnknownKey, fmt.Sprintf("%s has no key %q", what, key), "it takes "+strings.Join(known, ", "))
			d.s.Value()
			continue
		}
		keys = append(keys, key)
		field(key, d.s.Next())
	}
	return keys
}

// array calls elem for each element of an array.
func (d *decoder) array(k jsonx.Kind, what string, elem func(k jsonx.Kind)) {
	if k != jsonx.ArrayStart {
		d.wrong(k, what+" takes an array")
		return
	}
	for k = d.s.Next(); k != jsonx.ArrayEnd && k != jsonx.Bad; k = d.s.Next() {
		elem(k)
	}
}

func (d *decoder) str(k jsonx.Kind, what string) string {
	if k != jsonx.Str {
		d.wrong(k, what+" takes a string")
		return ""
	}
	return d.s.Text
}

func (d *decoder) strs(k jsonx.Kind, what string) (out []string) {
	d.array(k, what, func(k jsonx.Kind) { out = append(out, d.str(k, what)) })
	return out
}

func (d *decoder) boolean(k jsonx.Kind, what string) bool {
	if k != jsonx.True && k != jsonx.False {
		d.wrong(k, what+" takes true or false")
	}
	return k == jsonx.True
}

func (d *decoder) number(k jsonx.Kind, what string) int {
	n, err := strconv.Atoi(d.s.Text)
	if k != jsonx.Num || err != nil {
		d.wrong(k, what+" takes a whole number")
	}
	return n
}

// oneOf returns the index of a string among the names that its key takes.
func (d *decoder) oneOf(k jsonx.Kind, what string, names []string) int {
	name := d.str(k, what)
	i := slices.Index(names, name)
	if i < 0 {
		d.fail(d.s.Start, CodeBadValue, fmt.Sprintf("%s takes %s, not %q", what, strings.Join(names, ", "), name), "")
	}
	return max(i, 0)
}

func (d *decoder) verdict(k jsonx.Kind, what string) Verdict {
	v, err := ParseVerdict(d.str(k, what))
	if err != nil {
		d.fail(d.s.Start, CodeBadValue, what+": "+err.Error(), "")
	}
	return v
}

func (d *decoder) verdicts(k jsonx.Kind, what string) (vs Verdicts) {
	off := d.s.Start
	d.array(k, what, func(k jsonx.Kind) { vs |= SetOf(d.verdict(k, what)) })
	if vs == 0 {
		d.fail(off, CodeBadValue, what+" is empty", "leave it out to mean all")
	}
	return vs
}

func (d *decoder) need(keys []string, off int, what string, wanted ...string) {
	for _, k := range wanted {
		if !slices.Contains(keys, k) {
			d.fail(off, CodeMissing, fmt.Sprintf("%s needs a key %q", what, k), "")
		}
	}
}

var programKeys = []string{"obstat", "dialect", "mode", "view", "floor", "pipelines", "rules", "faces", "params"}

func (d *decoder) program(p *Program, k jsonx.Kind) {
	off := d.s.Start
	keys := d.object(k, "program", programKeys, func(key string, k jsonx.Kind) {
		switch key {
		case "obstat":
			if n := d.number(k, key); n != 1 {
				d.fail(d.s.Start, CodeBadValue, fmt.Sprintf("program version %d; this obstat reads 1", n), "")
			}
		case "dialect":
			p.Dialect = d.str(k, key)
		case "mode":
			p.Mode = Mode(d.str(k, key))
		case "view":
			p.View = d.str(k, key)
		case "floor":
			p.NoFloor = d.oneOf(k, key, []string{"on", "off"}) == 1
		case "pipelines":
			d.object(k, key, nil, func(mode string, k jsonx.Kind) { p.Pipelines[Mode(mode)] = d.pipeline(k) })
		case "rules":
			d.object(k, key, nil, func(name string, k jsonx.Kind) {
				list := []Rule{}
				d.array(k, key, func(k jsonx.Kind) { list = append(list, d.rule(k)) })
				p.Rules[name] = list
			})
		case "faces":
			p.Faces = map[string]Face{}
			names := []string{FaceRead, FaceWrite, FaceDelete, FaceConnect}
			d.object(k, key, names, func(name string, k jsonx.Kind) { p.Faces[name] = d.face(k) })
		case "params":
			if d.skip(k); d.s.Err() == nil {
				p.Params = json.RawMessage(d.src[d.s.Start:d.s.End])
			}
		}
	})
	d.need(keys, off, "program", "obstat", "mode", "pipelines")
}

func (d *decoder) face(k jsonx.Kind) (f Face) {
	off := d.s.Start
	keys := d.object(k, "face", []string{"tool", "field"}, func(key string, k jsonx.Kind) {
		if key == "tool" {
			f.Tool = d.str(k, key)
		} else {
			f.Field = d.str(k, key)
		}
	})
	d.need(keys, off, "face", "tool", "field")
	return f
}

func (d *decoder) pipeline(k jsonx.Kind) (pl Pipeline) {
	off := d.s.Start
	keys := d.object(k, "pipeline", []string{"stages", "default", "amend"}, func(key string, k jsonx.Kind) {
		switch key {
		case "stages":
			d.array(k, key, func(k jsonx.Kind) { pl.Stages = append(pl.Stages, d.stage(k)) })
		case "amend":
			d.array(k, key, func(k jsonx.Kind) { pl.Amend = append(pl.Amend, d.stage(k)) })
		case "default":
			pl.Default = d.verdict(k, key)
		}
	})
	d.need(keys, off, "pipeline", "stages", "default")
	return pl
}

// stageKeys returns the keys of a kind of stage, nil if there is no such kind.
func stageKeys(kind string) []string {
	switch kind {
	case "match":
		return []string{"match", "rules", "pick", "except", "settle", "ask_denies"}
	case "check":
		return []string{"check", "run", "pass", "ask_denies", "unless"}
	case "when":
		return []string{"when", "is", "tools", "then", "else"}
	case "mark":
		return []string{"mark", "rules"}
	case "floor":
		return []string{"floor"}
	}
	return nil
}

// A stageReader holds the fields that stages of any kind may have: which kind it
// is may be said by the last key.
type stageReader struct {
	kind, name string
	match      Match
	check      Check
	when       When
	keys       []string
	offs       []int // of the keys
}

func (d *decoder) stage(k jsonx.Kind) Stage {
	var r stageReader
	off := d.s.Start
	d.object(k, "stage", nil, func(key string, k jsonx.Kind) {
		r.keys, r.offs = append(r.keys, key), append(r.offs, d.s.Start)
		d.stageField(&r, key, k)
	})
	for i, key := range r.keys {
		if known := stageKeys(r.kind); known != nil && !slices.Contains(known, key) {
			d.fail(r.offs[i], CodeUnknownKey, fmt.Sprintf("%s has no key %q", r.kind, key),
				"it takes "+strings.Join(known, ", "))
		}
	}
	switch r.kind {
	case "match":
		d.need(r.keys, off, "match", "rules")
		r.match.Name = r.name
		return r.match
	case "check":
		r.check.Name = r.name
		return r.check
	case "when":
		d.need(r.keys, off, "when", "then")
		r.when.Name = r.name
		return r.when
	case "mark":
		d.need(r.keys, off, "mark", "rules")
		return Mark{Name: r.name, Rules: r.match.Rules}
	case "":
		d.fail(off, CodeMissing, "a stage is one of match, check, when, mark and floor", "")
	}
	return Floor{Name: r.name}
}

func (d *decoder) stageField(r *stageReader, key string, k jsonx.Kind) {
	switch key {
	case "match", "check", "when", "mark", "floor":
		if name := d.str(k, key); r.kind == "" {
			r.kind, r.name = key, name
		}
	case "rules":
		r.match.Rules = d.str(k, key)
	case "except":
		r.match.Except = d.str(k, key)
	case "pick":
		r.match.Pick = Pick(d.oneOf(k, key, pickNames[:]))
	case "settle":
		r.match.Settle = d.verdicts(k, key)
	case "ask_denies":
		r.match.AskDenies = d.boolean(k, key)
		r.check.AskDenies = r.match.AskDenies
	case "run":
		r.check.Check = d.str(k, key)
	case "pass":
		d.array(k, key, func(k jsonx.Kind) { r.check.Pass |= 1 << d.oneOf(k, key, outcomeNames[:]) })
	case "unless":
		r.check.Unless = d.strs(k, key)
	case "is":
		r.when.Is = d.str(k, key)
	case "tools":
		r.when.Tools = d.strs(k, key)
	case "then":
		r.when.Then = d.verdict(k, key)
	case "else":
		v := d.verdict(k, key)
		r.when.Else = &v
	default:
		d.skip(k)
	}
}

var ruleKeys = []string{"id", "tool", "field", "match", "verdict", "if", "except", "over", "source", "layer",
	"reason", "pos"}

func (d *decoder) rule(k jsonx.Kind) (r Rule) {
	off, over := d.s.Start, 0
	if d.positions {
		r.Pos = d.pos(off)
	}
	keys := d.object(k, "rule", ruleKeys, func(key string, k jsonx.Kind) {
		switch key {
		case "id":
			r.ID = d.str(k, key)
		case "tool":
			r.Tool = d.text(k, key)
		case "field":
			r.Field = d.str(k, key)
		case "match":
			off := d.s.Start
			if r.Pattern = d.text(k, key); r.Pattern.IsZero() {
				d.fail(off, CodeBadValue, `match takes a pattern`, "leave it out for a rule about the whole tool")
			}
		case "verdict":
			r.Verdict = d.verdict(k, key)
		case "if":
			d.array(k, key, func(k jsonx.Kind) { r.If = append(r.If, d.cond(k)) })
		case "except":
			d.array(k, key, func(k jsonx.Kind) { r.Except = append(r.Except, d.cond(k)) })
		case "over":
			over = d.s.Start
			d.array(k, key, func(k jsonx.Kind) { r.Over |= d.over(k, key) })
		case "source":
			r.Source = d.str(k, key)
		case "layer":
			r.Layer = d.str(k, key)
		case "reason":
			r.Reason = d.str(k, key)
		case "pos":
			r.Pos = d.position(k)
		}
	})
	d.need(keys, off, "rule", "tool", "verdict")
	if r.Over != 0 && r.Verdict != Allow {
		d.fail(over, CodeBadValue, "only an allow rule outranks something", "take over out")
	}
	return r
}

// over reads the word of a judge that a rule outranks.
func (d *decoder) over(k jsonx.Kind, what string) Over {
	at := d.s.Start
	o, ok := ParseOver(d.str(k, what))
	if !ok {
		d.fail(at, CodeUnknownName, fmt.Sprintf("there is nothing called %q that a rule outranks", d.s.Text),
			fmt.Sprintf("the words are %q", (OverAutoMode|OverReviewer).Words()))
	}
	return o
}

func (d *decoder) cond(k jsonx.Kind) (c Cond) {
	off := d.s.Start
	keys := d.object(k, "condition", []string{"field", "not", "match"}, func(key string, k jsonx.Kind) {
		switch key {
		case "field":
			c.Field = d.str(k, key)
		case "not":
			c.Not = d.boolean(k, key)
		case "match":
			d.array(k, key, func(k jsonx.Kind) { c.Any = append(c.Any, d.text(k, key)) })
		}
	})
	d.need(keys, off, "condition", "field", "match")
	return c
}

func (d *decoder) position(k jsonx.Kind) (p Pos) {
	d.object(k, "pos", []string{"file", "line", "col"}, func(key string, k jsonx.Kind) {
		switch key {
		case "file":
			p.File = d.str(k, key)
		case "line":
			p.Line = d.number(k, key)
		case "col":
			p.Col = d.number(k, key)
		}
	})
	return p
}

var flavours = [...]pattern.Flavour{pattern.Exact, pattern.Fnmatch, pattern.Wildcard, pattern.Minimatch,
	pattern.Bash, pattern.Full, pattern.Search, pattern.JSON, pattern.Order}

func (d *decoder) text(k jsonx.Kind, what string) (t Text) {
	if k == jsonx.Str {
		return Is(d.s.Text)
	}
	off := d.s.Start
	keys := d.object(k, what, nil, func(key string, k jsonx.Kind) {
		switch {
		case key == textAny:
			if !d.boolean(k, key) {
				d.fail(d.s.Start, CodeBadValue, "any takes true", "")
			}
		case !slices.Contains(flavours[:], pattern.Flavour(key)):
			d.fail(d.s.Start, CodeUnknownName, fmt.Sprintf("no pattern flavour %q", key),
				fmt.Sprintf("the flavours are %q", flavours))
			d.skip(k)
		default:
			t = Text{pattern.Flavour(key), d.str(k, key)}
		}
	})
	if len(keys) != 1 {
		d.fail(off, CodeBadValue, what+" takes a string or an object of one pattern flavour", "")
	}
	return t
}

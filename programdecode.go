package obstat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern"
)

// A decoder turns JSON text into a Program and collects every problem.
type decoder struct {
	src, file string
	positions bool
	errs      Errors
	// last is where a place was last looked up, and at what line and column:
	// most places lie behind it, and a million rules may stand on one line.
	last struct{ off, line, col int }
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

func (d *decoder) fail(off int, code Code, msg, hint string) {
	switch {
	case len(d.errs) < maxProblems:
		d.errs = append(d.errs, &Error{Code: code, Pos: d.pos(off), Msg: msg, Hint: hint})
	case len(d.errs) == maxProblems:
		d.errs = append(d.errs, &Error{Code: CodeTooLarge, Pos: d.pos(off), Msg: fmt.Sprintf("there are more problems than the first %d", maxProblems)})
	}
}

// object calls field for each member of the object at off and returns the keys
// it has. Keys that known does not list, keys given twice and keys that differ
// only in case are problems.
func (d *decoder) object(off int, what string, known []string, field func(key string, off int)) []string {
	w := members{src: d.src, pos: off}
	var keys []string
	var seen map[string]struct{} // once there are many
	for w.next() {
		m := w.m
		switch {
		case hasFolded(keys, &seen, m.key):
			d.fail(m.keyOff, CodeDuplicateKey, fmt.Sprintf("%s names %q a second time", what, m.key), "keep one of them")
			continue
		case known != nil && !slices.Contains(known, m.key):
			d.fail(m.keyOff, CodeUnknownKey, fmt.Sprintf("%s has no key %q", what, m.key), "it takes "+strings.Join(known, ", "))
			continue
		}
		keys = append(keys, m.key)
		if seen != nil {
			seen[fold(m.key)] = struct{}{}
		}
		field(m.key, m.start)
	}
	if w.err != nil {
		d.fail(w.err.off, w.err.code, what+": "+w.err.msg, "")
	}
	return keys
}

// hasFolded tells whether key is among keys, capitals not counting; seen takes
// over where there are many of them.
func hasFolded(keys []string, seen *map[string]struct{}, key string) bool {
	if len(keys) < manyKeys {
		return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
	}
	if *seen == nil {
		*seen = make(map[string]struct{}, 2*manyKeys)
		for _, k := range keys {
			(*seen)[fold(k)] = struct{}{}
		}
	}
	_, ok := (*seen)[fold(key)]
	return ok
}

// array calls elem for each element of the array at off.
func (d *decoder) array(off int, what string, elem func(off int)) {
	i := skipSpace(d.src, off)
	if d.src[i] != '[' {
		d.fail(i, CodeWrongType, what+" takes an array", "")
		return
	}
	for i = skipSpace(d.src, i+1); d.src[i] != ']'; {
		elem(i)
		i, _ = skipValue(d.src, i)
		if i = skipSpace(d.src, i); d.src[i] == ',' {
			i = skipSpace(d.src, i+1)
		}
	}
}

func (d *decoder) str(off int, what string) string {
	if d.src[off] != '"' {
		d.fail(off, CodeWrongType, what+" takes a string", "")
		return ""
	}
	end, escaped, _ := skipString(d.src, off)
	if !escaped {
		return d.src[off+1 : end-1]
	}
	b, ok := unquote(nil, d.src[off:end])
	if !ok {
		d.fail(off, CodeSyntax, what+": bad escape", "")
	}
	return string(b)
}

func (d *decoder) strs(off int, what string) (out []string) {
	d.array(off, what, func(off int) { out = append(out, d.str(off, what)) })
	return out
}

func (d *decoder) boolean(off int, what string) bool {
	if !strings.HasPrefix(d.src[off:], "true") && !strings.HasPrefix(d.src[off:], "false") {
		d.fail(off, CodeWrongType, what+" takes true or false", "")
	}
	return d.src[off] == 't'
}

func (d *decoder) number(off int, what string) int {
	end, _ := skipValue(d.src, off)
	n, err := strconv.Atoi(d.src[off:end])
	if err != nil {
		d.fail(off, CodeWrongType, what+" takes a whole number", "")
	}
	return n
}

func (d *decoder) verdict(off int, what string) Verdict {
	v, err := ParseVerdict(d.str(off, what))
	if err != nil {
		d.fail(off, CodeBadValue, what+": "+err.Error(), "")
	}
	return v
}

func (d *decoder) verdicts(off int, what string) (vs Verdicts) {
	d.array(off, what, func(off int) { vs |= SetOf(d.verdict(off, what)) })
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

func (d *decoder) program(p *Program, off int) {
	keys := d.object(off, "program", programKeys, func(key string, off int) {
		switch key {
		case "obstat":
			if n := d.number(off, key); n != 1 {
				d.fail(off, CodeBadValue, fmt.Sprintf("program version %d; this obstat reads 1", n), "")
			}
		case "dialect":
			p.Dialect = d.str(off, key)
		case "mode":
			p.Mode = Mode(d.str(off, key))
		case "view":
			p.View = d.str(off, key)
		case "floor":
			switch s := d.str(off, key); s {
			case "on", "off":
				p.NoFloor = s == "off"
			default:
				d.fail(off, CodeBadValue, "floor takes on or off", "")
			}
		case "pipelines":
			d.object(off, key, nil, func(mode string, off int) { p.Pipelines[Mode(mode)] = d.pipeline(off) })
		case "rules":
			d.object(off, key, nil, func(name string, off int) {
				p.Rules[name] = []Rule{}
				d.array(off, key, func(off int) { p.Rules[name] = append(p.Rules[name], d.rule(off)) })
			})
		case "faces":
			p.Faces = map[string]Face{}
			d.object(off, key, []string{FaceRead, FaceWrite, FaceDelete, FaceConnect}, func(name string, off int) { p.Faces[name] = d.face(off) })
		case "params":
			end, _ := skipValue(d.src, off)
			p.Params = json.RawMessage(d.src[off:end])
		}
	})
	d.need(keys, off, "program", "obstat", "mode", "pipelines")
}

func (d *decoder) face(off int) (f Face) {
	keys := d.object(off, "face", []string{"tool", "field"}, func(key string, off int) {
		if key == "tool" {
			f.Tool = d.str(off, key)
		} else {
			f.Field = d.str(off, key)
		}
	})
	d.need(keys, off, "face", "tool", "field")
	return f
}

func (d *decoder) pipeline(off int) (pl Pipeline) {
	keys := d.object(off, "pipeline", []string{"stages", "default", "amend"}, func(key string, off int) {
		switch key {
		case "stages":
			d.array(off, key, func(off int) { pl.Stages = append(pl.Stages, d.stage(off)) })
		case "amend":
			d.array(off, key, func(off int) { pl.Amend = append(pl.Amend, d.stage(off)) })
		case "default":
			pl.Default = d.verdict(off, key)
		}
	})
	d.need(keys, off, "pipeline", "stages", "default")
	return pl
}

// stageKeys returns the keys of a kind of stage, nil if there is no such kind.
func stageKeys(kind string) []string {
	switch kind {
	case "match":
		return []string{"match", "rules", "pick", "settle", "ask_denies"}
	case "check":
		return []string{"check", "run", "pass", "ask_denies", "unless"}
	case "when":
		return []string{"when", "is", "tools", "then", "else"}
	case "floor":
		return []string{"floor"}
	}
	return nil
}

func (d *decoder) stage(off int) Stage {
	kind := ""
	w := members{src: d.src, pos: off}
	for w.next() {
		if kind == "" && stageKeys(w.m.key) != nil {
			kind = w.m.key
		}
	}
	switch kind {
	case "match":
		return d.match(off)
	case "check":
		return d.check(off)
	case "when":
		return d.when(off)
	case "floor":
		var f Floor
		d.object(off, "floor", stageKeys(kind), func(_ string, off int) { f.Name = d.str(off, "floor") })
		return f
	}
	d.fail(off, CodeMissing, "a stage is one of match, check, when and floor", "")
	return Floor{}
}

func (d *decoder) match(off int) (m Match) {
	keys := d.object(off, "match", stageKeys("match"), func(key string, off int) {
		switch key {
		case "match":
			m.Name = d.str(off, key)
		case "rules":
			m.Rules = d.str(off, key)
		case "pick":
			i := slices.Index(pickNames[:], d.str(off, key))
			if i < 0 {
				d.fail(off, CodeBadValue, "pick takes "+strings.Join(pickNames[:], ", "), "")
			}
			m.Pick = Pick(max(i, 0))
		case "settle":
			m.Settle = d.verdicts(off, key)
		case "ask_denies":
			m.AskDenies = d.boolean(off, key)
		}
	})
	d.need(keys, off, "match", "rules")
	return m
}

func (d *decoder) check(off int) (c Check) {
	d.object(off, "check", stageKeys("check"), func(key string, off int) {
		switch key {
		case "check":
			c.Name = d.str(off, key)
		case "run":
			c.Check = d.str(off, key)
		case "pass":
			for _, name := range d.strs(off, key) {
				i := slices.Index(outcomeNames[:], name)
				if i < 0 {
					d.fail(off, CodeBadValue, fmt.Sprintf("pass takes %s, not %q", strings.Join(outcomeNames[:], ", "), name), "")
					continue
				}
				c.Pass |= 1 << i
			}
		case "ask_denies":
			c.AskDenies = d.boolean(off, key)
		case "unless":
			c.Unless = d.strs(off, key)
		}
	})
	return c
}

func (d *decoder) when(off int) (w When) {
	keys := d.object(off, "when", stageKeys("when"), func(key string, off int) {
		switch key {
		case "when":
			w.Name = d.str(off, key)
		case "is":
			w.Is = d.str(off, key)
		case "tools":
			w.Tools = d.strs(off, key)
		case "then":
			w.Then = d.verdict(off, key)
		case "else":
			v := d.verdict(off, key)
			w.Else = &v
		}
	})
	d.need(keys, off, "when", "then")
	return w
}

var ruleKeys = []string{"id", "tool", "field", "match", "verdict", "source", "layer", "reason", "pos"}

func (d *decoder) rule(off int) (r Rule) {
	if d.positions {
		r.Pos = d.pos(off)
	}
	keys := d.object(off, "rule", ruleKeys, func(key string, off int) {
		switch key {
		case "id":
			r.ID = d.str(off, key)
		case "tool":
			r.Tool = d.text(off, key)
		case "field":
			r.Field = d.str(off, key)
		case "match":
			if r.Pattern = d.text(off, key); r.Pattern.IsZero() {
				d.fail(off, CodeBadValue, `match takes a pattern`, "leave it out for a rule about the whole tool")
			}
		case "verdict":
			r.Verdict = d.verdict(off, key)
		case "source":
			r.Source = d.str(off, key)
		case "layer":
			r.Layer = d.str(off, key)
		case "reason":
			r.Reason = d.str(off, key)
		case "pos":
			r.Pos = d.position(off)
		}
	})
	d.need(keys, off, "rule", "tool", "verdict")
	return r
}

func (d *decoder) position(off int) (p Pos) {
	d.object(off, "pos", []string{"file", "line", "col"}, func(key string, off int) {
		switch key {
		case "file":
			p.File = d.str(off, key)
		case "line":
			p.Line = d.number(off, key)
		case "col":
			p.Col = d.number(off, key)
		}
	})
	return p
}

var flavours = [...]pattern.Flavour{pattern.Exact, pattern.Fnmatch, pattern.Wildcard, pattern.Minimatch,
	pattern.Bash, pattern.Full, pattern.Search, pattern.JSON}

func (d *decoder) text(off int, what string) (t Text) {
	if d.src[off] == '"' {
		return Is(d.str(off, what))
	}
	keys := d.object(off, what, nil, func(key string, off int) {
		switch {
		case key == textAny:
			if !d.boolean(off, key) {
				d.fail(off, CodeBadValue, "any takes true", "")
			}
		case !slices.Contains(flavours[:], pattern.Flavour(key)):
			d.fail(off, CodeUnknownName, fmt.Sprintf("no pattern flavour %q", key), fmt.Sprintf("the flavours are %q", flavours))
		default:
			t = Text{pattern.Flavour(key), d.str(off, key)}
		}
	})
	if len(keys) != 1 {
		d.fail(off, CodeBadValue, what+" takes a string or an object of one pattern flavour", "")
	}
	return t
}

package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A value is one that conditions look at: a text, and the same as JSON for a field of the input.
type value struct{ text, json string }

// A setting is the values that a call is tried under, by the field of the condition. Time, hour and
// day of a call are one.
type setting map[string]value

const inputField = "input."

// fieldOf returns the field whose value a condition looks at: of the hour it is the time.
func fieldOf(c *obstat.Cond) string {
	if at, ok := obstat.CircumstanceOf(c.Field); ok && at.Of != "" {
		return "call." + at.Of
	}
	return c.Field
}

// maxUnder bounds the settings that each call is tried under.
const maxUnder = 64

// conditions makes settings of what rules that differ want of a call besides its effects: for each
// rule one that it applies under, and that one with each of its circumstances in turn changed or
// not known.
func (s *search) conditions() {
	conds := map[string][]obstat.Cond{} // of all rules that differ
	var guarded []*obstat.Rule
	for i := range s.rules {
		if r := &s.rules[i]; (r.changed || s.all) && len(r.If) > 0 {
			guarded = append(guarded, r.Rule)
			for _, c := range r.If {
				conds[fieldOf(&c)] = append(conds[fieldOf(&c)], c)
			}
		}
	}
	values := map[string][]value{}
	for field, of := range conds {
		values[field] = s.values(field, of)
	}
	add := func(under setting) {
		known := slices.ContainsFunc(s.under, func(o setting) bool { return maps.Equal(o, under) })
		if len(under) > 0 && len(s.under) < maxUnder && !known {
			s.under = append(s.under, under)
		}
	}
	for _, r := range guarded {
		base := setting{}
		for i := range r.If {
			field := fieldOf(&r.If[i])
			fits := func(v value) bool {
				return !slices.ContainsFunc(r.If, func(c obstat.Cond) bool { return fieldOf(&c) == field && !s.fits(&c, v) })
			}
			if at := slices.IndexFunc(values[field], fits); at >= 0 {
				base[field] = values[field][at]
			}
		}
		add(base)
		for _, field := range slices.Sorted(maps.Keys(base)) {
			other := maps.Clone(base)
			delete(other, field)
			add(other)
			for _, v := range values[field] {
				other := maps.Clone(base)
				other[field] = v
				add(other)
			}
		}
	}
}

// fits tells whether a condition is true of a value.
func (s *search) fits(c *obstat.Cond, v value) bool {
	return slices.ContainsFunc(c.Any, func(t obstat.Text) bool { return s.matches(c.Field, t, v) }) != c.Not
}

// matches tells whether a pattern of a condition matches a value.
func (s *search) matches(field string, t obstat.Text, v value) bool {
	text := v.text
	if at, ok := obstat.CircumstanceOf(field); ok {
		var c obstat.Call
		at.Set(&c, v.text)
		if compared, _ := at.Compared(&c); len(compared) == 1 {
			text = compared[0]
		}
	}
	if t.Flavour == pattern.JSON {
		text = v.json
	}
	p := s.compiled(t)
	if p == nil {
		return false
	}
	ok, _ := p.Match(text)
	return ok
}

// values returns values of a field, one for each combination of the patterns that look at it.
func (s *search) values(field string, conds []obstat.Cond) (out []value) {
	all := s.textsFor(conds)
	if at, _ := obstat.CircumstanceOf(field); at.Compare == obstat.CompareTime {
		all = times(conds)
	}
	known := map[string]bool{}
	for _, v := range all {
		var sign strings.Builder
		for i := range conds {
			for _, t := range conds[i].Any {
				sign.WriteString(strconv.FormatBool(s.matches(conds[i].Field, t, v)))
			}
		}
		if !known[sign.String()] {
			known[sign.String()] = true
			out = append(out, v)
		}
	}
	return out
}

// textsFor returns texts around all that conditions compare a field with.
func (s *search) textsFor(conds []obstat.Cond) (out []value) {
	text := func(x string) { out = append(out, value{text: x, json: jsonx.Quote(x)}) }
	sampling := &pattern.Sampling{}
	for _, c := range conds {
		for _, t := range c.Any {
			switch t.Flavour {
			case pattern.JSON:
				v := value{text: t.Text, json: t.Text}
				if n, _ := jsonx.Parse([]byte(t.Text), jsonx.Options{}); n != nil && n.Str != "" {
					v.text = n.Str
				}
				out = append(out, v)
			case pattern.Order:
				for _, bound := range bounds(t) {
					x, err := strconv.ParseFloat(bound, 64)
					if err != nil {
						text(bound)
						text(bound + "0")
						continue
					}
					for _, step := range []float64{0, -0.5, 0.5, -1, 1} {
						num := strconv.FormatFloat(x+step, 'f', -1, 64)
						out = append(out, value{text: num, json: num})
					}
				}
			case pattern.Exact:
				text(t.Text)
			}
			if p := s.compiled(t); p != nil && t.Flavour != pattern.JSON && t.Flavour != pattern.Order {
				sampling.Patterns = append(sampling.Patterns, p)
			}
		}
	}
	if len(sampling.Patterns) > 0 {
		samples, _ := sampling.Samples()
		for _, x := range samples {
			text(x.Text)
		}
	}
	text("other")
	return out
}

// bounds returns what an order compares with: 09:00 and 17:00 of `>=09:00<17:00`.
func bounds(t obstat.Text) []string {
	return strings.FieldsFunc(t.Text, func(r rune) bool { return strings.ContainsRune("<>=", r) })
}

// times returns times around all that conditions compare with: at each hour of the day that they name
// and a minute before, on each day of a week and of the weeks around an end.
func times(conds []obstat.Cond) (out []value) {
	add := func(t time.Time) { out = append(out, value{text: t.Format(time.RFC3339Nano)}) }
	const week = 7
	hours, ends := []time.Duration{12 * time.Hour}, []time.Time{time.Date(2000, 1, 3+week, 0, 0, 0, 0,
		time.UTC)} // a Monday
	for _, c := range conds {
		for _, t := range c.Any {
			for _, bound := range bounds(t) {
				if at, err := time.Parse("15:04", bound); err == nil {
					since := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
					hours = append(hours, since, since-time.Minute)
				} else if end, err := time.Parse(time.RFC3339, bound); err == nil {
					ends = append(ends, end)
					add(end)
					add(end.Add(-time.Second))
				}
			}
		}
	}
	for _, end := range ends {
		for day := -week; day < week; day++ {
			for _, since := range hours {
				add(end.AddDate(0, 0, day).Truncate(24 * time.Hour).Add(since))
			}
		}
	}
	return out
}

// apply returns the call under a setting; ok is false where its input has no room for a field.
func (s setting) apply(call *obstat.Call) (*obstat.Call, bool) {
	c := *call
	for _, field := range slices.Sorted(maps.Keys(s)) {
		v := s[field]
		if at, ok := obstat.CircumstanceOf(field); ok {
			at.Set(&c, v.text)
		} else if path, ok := strings.CutPrefix(field, inputField); ok {
			var err error
			if c.Input, err = withInput(c.Input, path, v.json); err != nil {
				return nil, false
			}
		}
	}
	return &c, true
}

// withInput sets the value at a path of an input: `a.b`, or `list[].name` of a list with one element.
func withInput(input []byte, path, value string) ([]byte, error) {
	v, problems := jsonx.Parse([]byte(value), jsonx.Options{})
	if len(problems) > 0 {
		return nil, problems[0]
	}
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i >= 0; i-- {
		if key, each := strings.CutSuffix(keys[i], "[]"); each {
			for j := len(keys) - 1; j > i; j-- {
				v = &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: keys[j], Value: v}}}
			}
			keys, v = append(keys[:i], key), &tree.Node{Kind: tree.Array, Elems: []*tree.Node{v}}
		}
	}
	steps := make([]any, len(keys))
	for i, key := range keys {
		steps[i] = key
	}
	out, err := textedit.JSON.Set(input, v, steps...)
	if err != nil {
		return nil, err
	}
	whole, _ := jsonx.Parse(out, jsonx.Options{})
	return jsonx.Marshal(whole)
}

package native

import (
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// possible tells whether a value can fit all conditions on a field, as far as a few values show
// that: those that a condition lists, or, where all compare with numbers, the numbers around these.
// In doubt they are possible.
func possible(conds []obstat.Cond) bool {
	var values []string
	numbers, listed := true, false
	for i := range conds {
		c := &conds[i]
		var exact []string
		for _, t := range c.Any {
			switch t.Flavour {
			case pattern.Exact, pattern.JSON:
				exact = append(exact, t.Text)
			case pattern.Order:
				x, err := strconv.ParseFloat(strings.TrimLeft(t.Text, "<>="), 64)
				if numbers = numbers && err == nil && !c.Not; numbers && !listed {
					for _, near := range []float64{x - 1, x, x + 1} {
						values = append(values, strconv.FormatFloat(near, 'f', -1, 64))
					}
				}
				continue
			}
			numbers = false
		}
		if len(exact) > 0 && len(exact) == len(c.Any) && !c.Not && !listed {
			listed, values = true, exact
		}
	}
	if !listed && numbers { // and the numbers between two neighbours
		for _, a := range slices.Clone(values) {
			for _, b := range slices.Clone(values) {
				x, _ := strconv.ParseFloat(a, 64)
				y, _ := strconv.ParseFloat(b, 64)
				values = append(values, strconv.FormatFloat((x+y)/2, 'f', -1, 64))
			}
		}
	}
	return !listed && !numbers || slices.ContainsFunc(values, func(v string) bool {
		return !slices.ContainsFunc(conds, func(c obstat.Cond) bool { return len(c.Any) > 0 && fits(&c, v) == c.Not })
	})
}

// fits tells whether one of a condition's patterns matches a value, which is JSON in conditions on an
// input.
func fits(c *obstat.Cond, value string) bool {
	return slices.ContainsFunc(c.Any, func(t obstat.Text) bool {
		text := value
		if t.Flavour != pattern.JSON {
			if n, problems := jsonx.Parse([]byte(value), jsonx.Options{}); len(problems) == 0 && n.Str != "" {
				text = n.Str
			}
		}
		p, err := pattern.Compile(t.Flavour, t.Text)
		if err != nil {
			return true
		}
		ok, _ := p.Match(text)
		return ok
	})
}

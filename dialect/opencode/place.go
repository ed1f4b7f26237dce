package opencode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// place returns where an accepted rule joins a list: where it decides its calls, and
// lifts no rule that denies some of them. Where one order
// looks from the end, the other looks from the front.
//
// A deny that another rule has taken back for all that the new one is about is
// dead already and does not count.
func place(rules []obstat.Rule, r *obstat.Rule, o Order) int {
	known := patterns{}
	order := make([]int, len(rules)) // the rules, the one that decides first
	for i := range order {
		order[i] = i
		if o == Last {
			order[i] = len(rules) - 1 - i
		}
	}
	at := 0
	for i, k := range order {
		if rules[k].Verdict == obstat.Deny && known.overlaps(&rules[k], r) {
			at = i + 1 // stay behind it
		}
		if known.covers(&rules[k], r) {
			break
		}
	}
	if o == Last {
		return len(rules) - at
	}
	return at
}

// insert puts an accepted rule into a list.
func insert(rules []obstat.Rule, r *obstat.Rule, o Order) []obstat.Rule {
	return slices.Insert(slices.Clone(rules), place(rules, r, o), *r)
}

// fillers are texts that a wildcard may take: a pattern that matches with all of them in
// place takes whatever stands there.
var fillers = []string{"\uFFFC", "a b/c\uFFFC", ""}

// covers tells whether a is about everything that b is about.
func (ps patterns) covers(a, b *obstat.Rule) bool {
	return ps.textCovers(a.Tool, b.Tool) && ps.textCovers(a.Pattern, b.Pattern)
}

func (ps patterns) textCovers(a, b obstat.Text) bool {
	if a.IsZero() || a == b {
		return true
	}
	if b.IsZero() {
		return false
	}
	for _, s := range samples(b) {
		if ok, err := ps.match(a, s); !ok || err != nil {
			return false
		}
	}
	return true
}

// overlaps tells whether both rules may be about some call. In doubt they are.
func (ps patterns) overlaps(a, b *obstat.Rule) bool {
	return ps.textOverlaps(a.Tool, b.Tool) && ps.textOverlaps(a.Pattern, b.Pattern)
}

func (ps patterns) textOverlaps(a, b obstat.Text) bool {
	if a.IsZero() || b.IsZero() {
		return true
	}
	x, exactA := literal(a)
	y, exactB := literal(b)
	switch {
	case exactB:
		ok, err := ps.match(a, y)
		return ok || err != nil
	case exactA:
		ok, err := ps.match(b, x)
		return ok || err != nil
	}
	x, y = slashes(x), slashes(y)
	return strings.HasPrefix(x, y) || strings.HasPrefix(y, x)
}

func slashes(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// literal returns the text that a pattern starts with, and whether that is all.
func literal(t obstat.Text) (text string, exact bool) {
	switch t.Flavour {
	case pattern.Exact:
		return t.Text, true
	case pattern.Wildcard:
		i := strings.IndexAny(t.Text, "*?")
		if i < 0 {
			return t.Text, true
		}
		// The blank before a last star need not be there.
		return strings.TrimSuffix(t.Text[:i], " "), false
	}
	var b strings.Builder
	for i := 0; i < len(t.Text); i++ {
		switch c := t.Text[i]; {
		case c == '\\' && i+1 < len(t.Text):
			i++
			b.WriteByte(t.Text[i])
		case strings.IndexByte(globSigns, c) >= 0:
			return b.String(), false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// globSigns are the characters that mean more than themselves in minimatch.
const globSigns = `\*?[]{}()!+@|#`

// quoteGlob writes a text as a pattern of minimatch that matches it alone.
func quoteGlob(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(globSigns, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// samples returns texts that a pattern matches, or would if its wildcards were
// plain stars.
func samples(t obstat.Text) []string {
	if t.IsZero() {
		return fillers
	}
	if text, exact := literal(t); exact {
		return []string{text}
	}
	out := make([]string, 0, len(fillers))
	for _, f := range fillers {
		s := strings.NewReplacer("**", f, "*", f, "?", "x").Replace(t.Text)
		out = append(out, s)
	}
	if base, ok := strings.CutSuffix(t.Text, " *"); ok && t.Flavour == pattern.Wildcard && !strings.ContainsAny(base, "*?") {
		out = append(out, base)
	}
	return out
}

package native

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
)

// The units of limits.
const (
	Calls       = "calls"
	Writes      = "writes"
	Connections = "connections"
	Asks        = "asks"
	Minutes     = "minutes"
	Equal       = "equal calls"
)

// The spans of limits. Equal calls have none: they are counted in a row.
const (
	PerSession = "session"
	PerDay     = "day"
)

// Limit is one line of `limit:`, such as `200 calls per session` or `5 equal calls in a row, deny`.
type Limit struct {
	Most int
	Unit string
	Per  string
	Rule *obstat.Rule // with the line's text, verdict and place
}

// LimitsOf returns the lines of `limit:` of a Program of this dialect.
func LimitsOf(p *obstat.Program) (out []Limit) {
	if p.View != viewName {
		return nil
	}
	rules := p.Rules[obstat.ListLimit]
	for i := range rules {
		limit, _ := parseLimit(rules[i].Source) // it was checked when the file was loaded
		limit.Rule = &rules[i]
		out = append(out, limit)
	}
	return out
}

const (
	limitHint = "write `- 200 calls per session`, `- 30 writes per day, deny` or `- 5 equal calls in a row`"
	maxLimit  = 1_000_000
)

var limitUnits = []string{Calls, Writes, Connections, Asks, Minutes, Equal}

// readLimit reads `limit:` of one file. The limits of all files hold.
func (l *loader) readLimit(n *tree.Node, layer string) {
	if !n.Is(tree.Array) {
		return
	}
	for _, e := range n.Elems {
		if !e.Is(tree.String) {
			l.r.Fail(e, obstat.CodeWrongType, limitHint, "a limit is a text, not %s", e.Kind)
			continue
		}
		limit, bad := parseLimit(e.Str)
		for _, why := range bad {
			l.r.Fail(e, obstat.CodeBadValue, limitHint, "%s", why)
		}
		if len(l.limits) == maxRules {
			l.r.Fail(e, obstat.CodeTooLarge, limitHint, "more than %d limits", maxRules)
			return
		}
		l.limits = append(l.limits, obstat.Rule{Tool: obstat.Is(obstat.ListLimit), Verdict: limit.verdict(), Source: e.Str,
			Layer: layer, Pos: l.r.Pos(e)})
	}
}

// parseLimit reads a line; bad are all its mistakes.
func parseLimit(text string) (out Limit, bad []string) {
	body, verdict, said := strings.Cut(text, ",")
	words := strings.Fields(body)
	if len(words) < 2 {
		return out, []string{fmt.Sprintf("%q is no limit: it needs a number and a unit", text)}
	}
	most, err := strconv.Atoi(words[0])
	switch {
	case err != nil:
		bad = append(bad, fmt.Sprintf("%q is no whole number", words[0]))
	case most < 1 || most > maxLimit:
		bad = append(bad, fmt.Sprintf("a limit is a number from 1 to %d, not %d", maxLimit, most))
	}
	out.Most = most
	rest := words[1:]
	unit := plural(rest[0])
	if unit == "equal" && len(rest) > 1 {
		unit, rest = "equal "+plural(rest[1]), rest[1:]
	}
	if out.Unit = unit; !slices.Contains(limitUnits, unit) {
		bad = append(bad, fmt.Sprintf("%q cannot be counted: the units are %s", unit, strings.Join(limitUnits, ", ")))
	}
	bad = append(bad, out.span(rest[1:])...)
	out.Rule = &obstat.Rule{Verdict: obstat.Ask}
	if unit == Asks {
		out.Rule.Verdict = obstat.Deny
	}
	switch word := strings.TrimSpace(verdict); {
	case !said || word == "ask" && unit != Asks:
	case word == "ask":
		bad = append(bad, "past a number of asks nobody is asked: the limit denies")
	case word == "deny":
		out.Rule.Verdict = obstat.Deny
	default:
		bad = append(bad, fmt.Sprintf("past a limit a call asks or is denied, not %q", word))
	}
	return out, bad
}

// span reads `per day` or `in a row` behind a unit.
func (l *Limit) span(words []string) (bad []string) {
	text := strings.Join(words, " ")
	switch {
	case l.Unit == Equal && text != "in a row":
		return []string{fmt.Sprintf("equal calls are counted in a row, not %q", text)}
	case l.Unit == Equal:
	case text == "per "+PerSession, text == "per "+PerDay:
		l.Per = words[1]
	default:
		return []string{fmt.Sprintf("a limit holds per session or per day, not %q", text)}
	}
	return nil
}

func (l *Limit) verdict() obstat.Verdict {
	if l.Rule == nil {
		return obstat.Deny
	}
	return l.Rule.Verdict
}

// plural takes `1 call per day` for `1 calls per day`.
func plural(word string) string {
	if slices.Contains(limitUnits, word+"s") || word == "call" {
		return word + "s"
	}
	return word
}

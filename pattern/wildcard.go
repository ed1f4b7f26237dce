package pattern

import (
	"strings"

	"github.com/obstat/obstat/pattern/internal/re"
)

// Wildcard is opencode's matcher: * is anything, newlines and slashes too, ?
// one UTF-16 unit, \ means / in pattern and subject, and a final " *" may be
// missing together with its space: "ls *" matches "ls" and "ls -la".

func readWildcard(text string) *reading {
	text = strings.ReplaceAll(text, `\`, "/")
	head, optional := strings.CutSuffix(text, " *")
	nodes := wildcardNodes(head)
	if optional {
		return &reading{tree: re.WordOrMore(nodes)}
	}
	return &reading{tree: re.Cat(nodes...)}
}

// eitherSlash holds the characters that a / of a pattern matches.
var eitherSlash = re.NewSet([]re.Span{re.Range('/', '/'), re.Range('\\', '\\')})

func wildcardNodes(text string) []*re.Node {
	var out []*re.Node
	for len(text) > 0 {
		if run := len(text) - len(strings.TrimLeft(text, "*?")); run > 0 {
			out = append(out, wildcardGap(strings.Count(text[:run], "?"), strings.Contains(text[:run], "*"))...)
			text = text[run:]
			continue
		}
		lit := untilAny(text, "*?")
		for _, n := range re.Text(lit) {
			if n.Set.Has('/') {
				n.Set = eitherSlash
			}
			out = append(out, n)
		}
		text = text[len(lit):]
	}
	return out
}

// wildcardGap is n units, or n and more: in a run of ? and * only their number
// counts, since a * may end between the two units of a character.
func wildcardGap(n int, more bool) []*re.Node {
	var out []*re.Node
	units := &re.Node{Op: re.OpUnits, Min: n, Max: n}
	if n > 0 {
		out = append(out, units)
	}
	if more {
		units.Max = re.Unlimited
		out = append(out, re.Anything())
	}
	return out
}

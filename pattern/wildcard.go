package pattern

import "strings"

// Wildcard is opencode's matcher: * is anything, newlines and slashes too, ?
// one UTF-16 unit, \ means / in pattern and subject, and a final " *" may be
// missing together with its space: "ls *" matches "ls" and "ls -la".

func readWildcard(text string) *reading {
	text = strings.ReplaceAll(text, `\`, "/")
	head, optional := strings.CutSuffix(text, " *")
	nodes := wildcardNodes(head)
	if optional {
		return &reading{tree: wordOrMore(nodes)}
	}
	return &reading{tree: cat(nodes...)}
}

// eitherSlash is what a / of a pattern matches.
var eitherSlash = newSet([]span{{'/', '/'}, {'\\', '\\'}})

func wildcardNodes(text string) []*node {
	var out []*node
	for len(text) > 0 {
		if run := len(text) - len(strings.TrimLeft(text, "*?")); run > 0 {
			out = append(out, wildcardGap(strings.Count(text[:run], "?"), strings.Contains(text[:run], "*"))...)
			text = text[run:]
			continue
		}
		lit := untilAny(text, "*?")
		for _, n := range textNodes(lit) {
			if n.set.has('/') {
				n.set = eitherSlash
			}
			out = append(out, n)
		}
		text = text[len(lit):]
	}
	return out
}

// wildcardGap is n units, or n and more: in a run of ? and * only their number
// counts, since a * may end between the two units of a character.
func wildcardGap(n int, more bool) []*node {
	var out []*node
	units := &node{op: nUnits, min: n, max: n}
	if n > 0 {
		out = append(out, units)
	}
	if more {
		units.max = unlimited
		out = append(out, anything())
	}
	return out
}

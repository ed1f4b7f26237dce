package pattern

import (
	"strings"
	"unicode/utf16"
)

// Slow and simple versions of the matchers, to hold the real ones against.

// naiveItem is one step of a glob over []T: a star, anything, or a test.
type naiveItem[T any] struct {
	star bool
	ok   func(T) bool
}

func naiveGlob[T any](items []naiveItem[T], s []T) bool {
	switch {
	case len(items) == 0:
		return len(s) == 0
	case items[0].star:
		return naiveGlob(items[1:], s) || len(s) > 0 && naiveGlob(items, s[1:])
	}
	return len(s) > 0 && items[0].ok(s[0]) && naiveGlob(items[1:], s[1:])
}

// naiveChars reads bytes that are no UTF-8 as Fnmatch does.
func naiveChars(s string) []rune {
	var out []rune
	for i := 0; i < len(s); {
		r, w := decode(s, i)
		out = append(out, r)
		i += w
	}
	return out
}

func naiveFnmatch(pat, s string) bool {
	var items []naiveItem[rune]
	p := []rune(pat)
	for i := 0; i < len(p); i++ {
		set := newSet([]span{{p[i], p[i]}})
		switch {
		case p[i] == '*':
			items = append(items, naiveItem[rune]{star: true})
			continue
		case p[i] == '?':
			set = everySet
		case p[i] == '[' && fnmatchClose(p, i+1) >= 0:
			end := fnmatchClose(p, i+1)
			set = fnmatchSet(p[i+1 : end])
			i = end
		}
		items = append(items, naiveItem[rune]{ok: set.has})
	}
	return naiveGlob(items, naiveChars(s))
}

func naiveWildcard(pat, s string) bool {
	pat = strings.ReplaceAll(pat, `\`, "/")
	if head, ok := strings.CutSuffix(pat, " *"); ok && naiveUnits(head, s) {
		return true
	}
	return naiveUnits(pat, s)
}

func naiveUnits(pat, s string) bool {
	var items []naiveItem[uint16]
	for _, u := range utf16.Encode([]rune(pat)) {
		switch u {
		case '*':
			items = append(items, naiveItem[uint16]{star: true})
		case '?':
			items = append(items, naiveItem[uint16]{ok: func(uint16) bool { return true }})
		default:
			items = append(items, naiveItem[uint16]{ok: func(v uint16) bool { return u == v }})
		}
	}
	var units []uint16
	for _, r := range naiveChars(strings.ReplaceAll(s, `\`, "/")) {
		units = utf16.AppendRune(units, r)
		if r >= badByte && r <= badByte+0xFF {
			units[len(units)-1] = uint16(r)
		}
	}
	return naiveGlob(items, units)
}

// naiveEnds returns the places where n can end when it starts at i: every way
// is tried, none is preferred. There are no groups, and no atomic ones.
func naiveEnds(n *node, s []rune, i int) map[int]bool {
	out := map[int]bool{}
	switch n.op {
	case nSet:
		if i < len(s) && n.set.has(s[i]) {
			out[i+1] = true
		}
	case nCat:
		out[i] = true
		for _, sub := range n.subs {
			next := map[int]bool{}
			for j := range out {
				for k := range naiveEnds(sub, s, j) {
					next[k] = true
				}
			}
			out = next
		}
	case nAlt:
		for _, sub := range n.subs {
			for k := range naiveEnds(sub, s, i) {
				out[k] = true
			}
		}
	case nRepeat:
		return naiveRepeat(n, s, i)
	case nLook:
		at := i
		if n.back {
			at = i - n.min
		}
		if (at >= 0 && len(naiveEnds(n.subs[0], s, at)) > 0) != n.not {
			out[i] = true
		}
	case nNot:
		not := naiveEnds(n.subs[0], s, i)
		for j := i; j <= len(s); j++ {
			if !not[j] && (j == i || !n.not || !naiveLeadingDot(s, i)) {
				out[j] = true
			}
		}
	case nAt:
		if naiveAt(n.at, s, i) {
			out[i] = true
		}
	}
	return out
}

func naiveRepeat(n *node, s []rune, i int) map[int]bool {
	out := map[int]bool{}
	here := map[int]bool{i: true}
	limit := n.max
	if limit == unlimited {
		limit = n.min + len(s) + 1
	}
	for count := 0; ; count++ {
		if count >= n.min {
			for j := range here {
				out[j] = true
			}
		}
		if count >= limit || len(here) == 0 {
			return out
		}
		next := map[int]bool{}
		for j := range here {
			for k := range naiveEnds(n.subs[0], s, j) {
				next[k] = true
			}
		}
		here = next
	}
}

func naiveLeadingDot(s []rune, i int) bool {
	return string(s) == "." || string(s) == ".." || i == 0 && len(s) > 0 && s[0] == '.'
}

func naiveAt(kind atKind, s []rune, i int) bool {
	word := func(i int, ascii bool) bool {
		return i >= 0 && i < len(s) && inSpans(pyWord(), s[i]) && (!ascii || s[i] < 128)
	}
	switch kind {
	case atStart:
		return i == 0
	case atLineStart:
		return i == 0 || s[i-1] == '\n'
	case atEnd:
		return i == len(s)
	case atEndNL:
		return i == len(s) || i == len(s)-1 && s[i] == '\n'
	case atLineEnd:
		return i == len(s) || s[i] == '\n'
	case atNoDot:
		return !naiveLeadingDot(s, i)
	}
	ascii := kind == atWordASCII || kind == atNotWordASCII
	edge := word(i-1, ascii) != word(i, ascii)
	return len(s) > 0 && edge == (kind == atWord || kind == atWordASCII)
}

// naiveTree: the tree matches all of s, or for a search somewhere in it.
func naiveTree(n *node, s []rune, full bool) bool {
	if full {
		return naiveEnds(n, s, 0)[len(s)]
	}
	for i := 0; i <= len(s); i++ {
		if len(naiveEnds(n, s, i)) > 0 {
			return true
		}
	}
	return false
}

// naiveMinimatch matches segments by trying every way for **.
func naiveMinimatch(pat, path string) bool {
	rest := strings.TrimLeft(pat, "!")
	negate := (len(pat)-len(rest))%2 == 1
	if pat == "" || pat[0] == '#' {
		return pat == "" && path == ""
	}
	alts, _ := expandBraces(rest)
	parts := splitSlashes(path)
	for _, alt := range alts {
		segs := newRow(alt)
		if naiveRow(segs, parts) || len(parts) > 1 && parts[len(parts)-1] == "" && naiveRow(segs, parts[:len(parts)-1]) {
			return !negate
		}
	}
	return negate
}

func naiveRow(segs []segment, parts []string) bool {
	if len(segs) == 0 {
		return len(parts) == 0
	}
	if segs[0].kind == segStarStar {
		if len(segs) > 1 && naiveRow(segs[1:], parts) {
			return true
		}
		if len(parts) == 0 || strings.HasPrefix(parts[0], ".") {
			return false
		}
		return naiveRow(segs, parts[1:]) || len(segs) == 1 && len(parts) == 1
	}
	return len(parts) > 0 && naiveSegment(&segs[0], parts[0]) && naiveRow(segs[1:], parts[1:])
}

func naiveSegment(g *segment, s string) bool {
	if g.kind == segLiteral {
		return s == g.lit
	}
	return s != "" && naiveTree(mmTree(g.in, true), naiveChars(s), true)
}

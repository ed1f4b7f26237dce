package pattern

import (
	"strings"
	"unicode/utf16"

	"github.com/obstat/obstat/pattern/internal/re"
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
		r, w := re.Decode(s, i)
		out = append(out, r)
		i += w
	}
	return out
}

func naiveFnmatch(pat, s string) bool {
	var items []naiveItem[rune]
	p := []rune(pat)
	for i := 0; i < len(p); i++ {
		set := re.NewSet([]re.Span{re.Range(p[i], p[i])})
		switch {
		case p[i] == '*':
			items = append(items, naiveItem[rune]{star: true})
			continue
		case p[i] == '?':
			set = re.Every
		case p[i] == '[' && fnmatchClose(p, i+1) >= 0:
			end := fnmatchClose(p, i+1)
			set = fnmatchSet(p[i+1 : end])
			i = end
		}
		items = append(items, naiveItem[rune]{ok: set.Has})
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
		if r >= 0xDC00 && r <= 0xDCFF {
			units[len(units)-1] = uint16(r)
		}
	}
	return naiveGlob(items, units)
}

// naiveEnds returns the places where n can end when it starts at i: every way
// is tried, none is preferred. There are no groups, and no atomic ones.
func naiveEnds(n *re.Node, s []rune, i int) map[int]bool {
	out := map[int]bool{}
	switch n.Op {
	case re.OpSet:
		if i < len(s) && n.Set.Has(s[i]) {
			out[i+1] = true
		}
	case re.OpCat:
		out[i] = true
		for _, sub := range n.Subs {
			next := map[int]bool{}
			for j := range out {
				for k := range naiveEnds(sub, s, j) {
					next[k] = true
				}
			}
			out = next
		}
	case re.OpAlt:
		for _, sub := range n.Subs {
			for k := range naiveEnds(sub, s, i) {
				out[k] = true
			}
		}
	case re.OpRepeat:
		return naiveRepeat(n, s, i)
	case re.OpLook:
		at := i
		if n.Back {
			at = i - n.Min
		}
		if (at >= 0 && len(naiveEnds(n.Subs[0], s, at)) > 0) != n.Not {
			out[i] = true
		}
	case re.OpNot:
		not := naiveEnds(n.Subs[0], s, i)
		for j := i; j <= len(s); j++ {
			if !not[j] && (j == i || !n.Not || !naiveLeadingDot(s, i)) {
				out[j] = true
			}
		}
	case re.OpAt:
		if naiveAt(n.At, s, i) {
			out[i] = true
		}
	}
	return out
}

func naiveRepeat(n *re.Node, s []rune, i int) map[int]bool {
	out := map[int]bool{}
	here := map[int]bool{i: true}
	limit := n.Max
	if limit == re.Unlimited {
		limit = n.Min + len(s) + 1
	}
	for count := 0; ; count++ {
		if count >= n.Min {
			for j := range here {
				out[j] = true
			}
		}
		if count >= limit || len(here) == 0 {
			return out
		}
		next := map[int]bool{}
		for j := range here {
			for k := range naiveEnds(n.Subs[0], s, j) {
				next[k] = true
			}
		}
		here = next
	}
}

func naiveLeadingDot(s []rune, i int) bool {
	return string(s) == "." || string(s) == ".." || i == 0 && len(s) > 0 && s[0] == '.'
}

// naiveWord is \w.
var naiveWord = func() *re.Set {
	tree, _, _ := re.Parse(`\w`)
	return tree.Subs[0].Set
}()

func naiveAt(kind re.Place, s []rune, i int) bool {
	word := func(i int, ascii bool) bool {
		return i >= 0 && i < len(s) && naiveWord.Has(s[i]) && (!ascii || s[i] < 128)
	}
	switch kind {
	case re.AtStart:
		return i == 0
	case re.AtLineStart:
		return i == 0 || s[i-1] == '\n'
	case re.AtEnd:
		return i == len(s)
	case re.AtEndNL:
		return i == len(s) || i == len(s)-1 && s[i] == '\n'
	case re.AtLineEnd:
		return i == len(s) || s[i] == '\n'
	case re.AtNoDot:
		return !naiveLeadingDot(s, i)
	}
	ascii := kind == re.AtWordASCII || kind == re.AtNotWordASCII
	edge := word(i-1, ascii) != word(i, ascii)
	return len(s) > 0 && edge == (kind == re.AtWord || kind == re.AtWordASCII)
}

// naiveTree: the tree matches all of s, or for a search somewhere in it.
func naiveTree(n *re.Node, s []rune, full bool) bool {
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

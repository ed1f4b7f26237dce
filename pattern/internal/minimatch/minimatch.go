// Package minimatch is npm's minimatch with its defaults on Linux, as version 11 does it.
//
// Braces are expanded first; then a path matches segment by segment, where * and ? do not match a
// leading dot and ** alone in a segment is any number of segments without leading dots. Slashes in a
// row count as one, a slash at the path's end may go unmatched. A leading # makes a comment, which
// matches nothing, leading !s negate.
//
// The package turns a pattern into a tree of package re, which matches it.
package minimatch

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/pattern/internal/re"
)

const (
	maxBytes    = 8 << 10 // bytes; the expansion of braces is quadratic
	maxSegments = 63      // in an alternative with **
)

// IsPattern tells by a look that most texts are patterns; false says nothing.
func IsPattern(text string) bool {
	return len(text) <= maxBytes && !strings.ContainsAny(text, "{(") && strings.Count(text, "/") < maxSegments
}

// Read returns the tree of the paths that a pattern matches or, where it begins with an
// odd number of !s, does not match. plain is a simpler tree that says the same of tidy paths, nil
// if there is none; see [Tidy]. The error is an *re.Error.
func Read(text string) (tree, plain *re.Node, not bool, err error) {
	if strings.HasPrefix(text, "#") {
		return re.OneOf(&re.Set{}), nil, false, nil
	}
	if text == "" {
		return re.Cat(), nil, false, nil
	}
	if len(text) > maxBytes {
		return nil, nil, false, &re.Error{Offset: maxBytes, Msg: "the pattern is too long"}
	}
	rest := strings.TrimLeft(text, "!")
	alts, ok := expandBraces(rest)
	if !ok {
		at := strings.IndexByte(text, '{')
		return nil, nil, false, &re.Error{Offset: at, Msg: "the braces stand for too many alternatives"}
	}
	var rows []*re.Node
	for _, alt := range alts {
		segs := newRow(alt)
		if len(segs) > maxSegments && slices.ContainsFunc(segs, func(g segment) bool { return g.kind == segStarStar }) {
			return nil, nil, false, &re.Error{Offset: len(text) - len(rest), Msg: "there are too many segments beside **"}
		}
		rows = append(rows, rowTree(segs))
		plain = plainTree(segs)
	}
	if len(rows) > 1 {
		plain = nil
	}
	return re.Simplify(&re.Node{Op: re.OpAlt, Subs: rows}), plain, (len(text)-len(rest))%2 == 1, nil
}

// newRow reads an alternative: slashes in a row are one, ** after ** is one,
// and .. takes back the segment before it.
func newRow(text string) []segment {
	var parts []string
	for i, part := range splitSlashes(text) {
		prev := ""
		if len(parts) > 0 {
			prev = parts[len(parts)-1]
		}
		switch {
		case i > 0 && part == "**" && prev == "**":
		case part == ".." && prev != "" && prev != ".." && prev != "." && prev != "**":
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{""}
	}
	segs := make([]segment, len(parts))
	for i, part := range parts {
		segs[i] = newSegment(part)
	}
	return segs
}

// splitSlashes cuts s at its slashes; those in a row are one.
func splitSlashes(s string) []string {
	var out []string
	for {
		part, rest, more := strings.Cut(s, "/")
		out = append(out, part)
		if !more {
			return out
		}
		s = strings.TrimLeft(rest, "/")
	}
}

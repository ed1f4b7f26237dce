package pattern

import (
	"math/bits"
	"strings"
)

// Minimatch is npm's minimatch with its defaults on Linux, as version 11 does
// it: braces are expanded first; then a path matches segment by segment, where
// * and ? do not match a leading dot and ** alone in a segment is any number
// of segments without leading dots. Slashes in a row count as one, a slash at
// the path's end may go unmatched. A leading # makes a comment, which matches
// nothing, leading !s negate.

const (
	maxMinimatch = 8 << 10 // bytes; the expansion of braces is quadratic
	maxSegments  = 63      // in an alternative with **
)

func compileMinimatch(text string) (matcher, trees, error) {
	if strings.HasPrefix(text, "#") {
		return nothing{}, trees{tree: setNode(&set{}), may: setNode(&set{})}, nil
	}
	if text == "" {
		return compileExact("")
	}
	if len(text) > maxMinimatch {
		return nil, trees{}, &SyntaxError{maxMinimatch, "the pattern is too long"}
	}
	rest := strings.TrimLeft(text, "!")
	m := &minimatch{negate: (len(text)-len(rest))%2 == 1}
	alts, ok := expandBraces(rest)
	if !ok {
		return nil, trees{}, &SyntaxError{strings.IndexByte(text, '{'), "the braces stand for too many alternatives"}
	}
	for _, alt := range alts {
		row, msg := newRow(alt)
		if msg != "" {
			return nil, trees{}, &SyntaxError{len(text) - len(rest), msg}
		}
		m.rows = append(m.rows, row)
	}
	if m.negate {
		return m, trees{}, nil
	}
	return m, trees{grow: m.trees}, nil
}

// nothing matches nothing.
type nothing struct{}

func (nothing) match(string) (bool, error) { return false, nil }

// minimatch matches if one of its rows does.
type minimatch struct {
	rows   []row
	negate bool
}

func (m *minimatch) match(s string) (bool, error) {
	for i := range m.rows {
		ok, err := m.rows[i].match(s)
		if err != nil {
			return false, err
		}
		if ok {
			return !m.negate, nil
		}
	}
	return m.negate, nil
}

// A row is an alternative as segments.
type row struct {
	segs  []segment
	deep  bool   // it has **
	stars uint64 // which segments are **, but for the last segment
}

// newRow reads an alternative: slashes in a row are one, ** after ** is one,
// and .. takes back the segment before it.
func newRow(text string) (row, string) {
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
	var r row
	for _, part := range parts {
		seg := newSegment(part)
		if seg == nil {
			return r, "the extended globs make the pattern too large"
		}
		r.deep = r.deep || seg.kind == segStarStar
		r.segs = append(r.segs, *seg)
	}
	if !r.deep {
		return r, ""
	}
	if len(r.segs) > maxSegments {
		return r, "there are too many segments beside **"
	}
	for i := range r.segs[:len(r.segs)-1] {
		if r.segs[i].kind == segStarStar {
			r.stars |= 1 << i
		}
	}
	return r, ""
}

func splitSlashes(s string) []string {
	var out []string
	for at := 0; at >= 0; {
		var seg string
		seg, at = nextSegment(s, at)
		out = append(out, seg)
	}
	return out
}

// nextSegment returns the segment of s at at, and where the next one starts,
// -1 if there is none.
func nextSegment(s string, at int) (string, int) {
	i := strings.IndexByte(s[at:], '/')
	if i < 0 {
		return s[at:], -1
	}
	end := at + i
	next := end + 1
	for next < len(s) && s[next] == '/' {
		next++
	}
	return s[at:end], next
}

func (r *row) match(s string) (bool, error) {
	if r.deep {
		return r.matchDeep(s)
	}
	at := 0
	for i := range r.segs {
		if at < 0 {
			return false, nil
		}
		var part string
		part, at = nextSegment(s, at)
		if ok, err := r.segs[i].match(part); !ok {
			return false, err
		}
	}
	// Only the empty segment behind a last slash may be left.
	return at < 0 || at == len(s), nil
}

// matchDeep goes through the path once, with all the places in the row that
// can have been reached. A place is a bit; the one behind the last segment
// says that the row is done.
func (r *row) matchDeep(s string) (bool, error) {
	done := uint64(1) << len(r.segs)
	places := r.skipStars(1)
	for at := 0; at >= 0; {
		if at == len(s) && at > 0 && places&done != 0 {
			return true, nil // the empty segment behind a last slash
		}
		var part string
		part, at = nextSegment(s, at)
		next, err := r.step(places, part)
		if next == 0 || err != nil {
			return false, err
		}
		places = r.skipStars(next)
	}
	return places&done != 0, nil
}

// skipStars adds the places behind each **, which may take nothing unless it
// is the last segment.
func (r *row) skipStars(places uint64) uint64 {
	return places | places&r.stars<<1
}

// step returns the places after one segment of the path.
func (r *row) step(places uint64, part string) (uint64, error) {
	dot := part != "" && part[0] == '.'
	var next uint64
	for places &^= 1 << len(r.segs); places != 0; places &= places - 1 {
		i := bits.TrailingZeros64(places)
		seg := &r.segs[i]
		if seg.kind == segStarStar {
			if !dot {
				next |= 1 << i
				if i == len(r.segs)-1 {
					next |= 2 << i
				}
			}
			continue
		}
		ok, err := seg.match(part)
		if err != nil {
			return 0, err
		}
		if ok {
			next |= 2 << i
		}
	}
	return next, nil
}

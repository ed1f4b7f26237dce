package pattern

import "strings"

// A row with one ** is decided from both ends: what stands before it must
// match the path's first segments, what stands after it the last, and no
// segment between may start with a dot.

// newEnds notes where the only ** of a row is; -1 if there are more.
func (r *row) newEnds() {
	r.only = -1
	for i := range r.segs {
		if r.segs[i].kind != segStarStar {
			continue
		}
		if r.only >= 0 {
			r.only = -1
			return
		}
		r.only = i
	}
}

// matchEnds decides a row with one **.
func (r *row) matchEnds(s string) (bool, error) {
	tail := r.segs[r.only+1:]
	if k := len(tail) - 1; k >= 0 && strings.HasSuffix(s, "/") && !(tail[k].kind == segLiteral && tail[k].lit == "") {
		s = strings.TrimRight(s, "/") // the empty segment behind a last slash
	}
	at := 0
	for i := range r.segs[:r.only] {
		var part string
		part, at = nextSegment(s, at)
		if ok, err := r.segs[i].match(part); !ok {
			return false, err
		}
		if at < 0 {
			return false, nil // neither ** nor what follows it can do without a segment
		}
	}
	rest := s[at:]
	for i := len(tail) - 1; i >= 0; i-- {
		j := strings.LastIndexByte(rest, '/')
		if ok, err := tail[i].match(rest[j+1:]); !ok {
			return false, err
		}
		if j < 0 {
			return i == 0, nil
		}
		rest = strings.TrimRight(rest[:j], "/")
	}
	return !hasDotSegment(rest), nil
}

// hasDotSegment: a segment of s starts with a dot.
func hasDotSegment(s string) bool {
	return s != "" && s[0] == '.' || strings.Contains(s, "/.")
}

package re

import "strings"

// A !(...) of minimatch takes any text that none of its alternatives matches
// as a whole. The runner finds all places where an alternative ends, and goes
// on at every other.

// leadingDot: no wildcard may match here, since . and .. are matched by dots
// alone, and a leading dot only by a dot.
func leadingDot(s string, at int) bool {
	return (at == 0 || s[at-1] == '/') && at < len(s) && s[at] == '.' || inDots(s, at)
}

// inDots reports whether the segment at a place is . or ..
func inDots(s string, at int) bool {
	from, to := at, at
	for from > 0 && at-from < 3 && s[from-1] != '/' {
		from--
	}
	for to < len(s) && to-at < 3 && s[to] != '/' {
		to++
	}
	return s[from:to] == "." || s[from:to] == ".."
}

// except opens a way for each end that the inside of the doNot at pc does not
// have, and takes one.
func (m *runner) except(in *inst, pc, at int) (int, bool) {
	if m.seen(in, at) {
		return 0, false
	}
	outer, room, log := m.ends, len(m.room), len(m.log)
	for i := 0; i <= len(m.s)/64; i++ {
		m.room = append(m.room, 0)
	}
	ends := m.room[room:]
	m.ends = ends
	m.depth++
	m.run(pc+1, at) // every end is noted and none accepted, so all ways are tried
	m.depth--
	if m.keep {
		m.forget(log)
	}
	m.ends, m.room = outer, m.room[:room]
	if m.left < 0 {
		return 0, false
	}
	last := len(m.s)
	if i := strings.IndexByte(m.s[at:], '/'); i >= 0 {
		last = at + i
	}
	if in.not && leadingDot(m.s, at) {
		last = at
	}
	found := -1
	for q := at; q <= last; {
		if ends[q>>6]&(1<<(q&63)) == 0 {
			if found >= 0 {
				m.push(frame{kind: frameWay, pc: in.x, pos: int32(found)})
			}
			found = q
		}
		m.left--
		if q == last {
			break
		}
		_, w := Decode(m.s, q)
		q += w
	}
	return found, found >= 0
}

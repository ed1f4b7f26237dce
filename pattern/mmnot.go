package pattern

// A !(...) of minimatch takes any text that none of its alternatives matches
// as a whole. The runner finds all places where an alternative ends, and goes
// on at every other.

// leadingDot: no wildcard may match here, since . and .. are matched by dots
// alone, and a leading dot only by a dot.
func (p *prog) leadingDot(s string, at int) bool {
	return s == "." || s == ".." || at == 0 && s != "" && s[0] == '.'
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
	if in.not && m.p.leadingDot(m.s, at) {
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
		if q == len(m.s) {
			break
		}
		_, w := decode(m.s, q)
		q += w
	}
	return found, found >= 0
}

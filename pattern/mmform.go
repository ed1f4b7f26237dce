package pattern

// A tidy path has no empty segment but before a leading slash, and none that
// starts with a dot. So ** takes any stretch of one, and * any stretch
// without a slash.

// plain writes the rows as forms of tidy paths, if they can be.
func (m *minimatch) plain() (plain, bool) {
	if m.negate {
		return plain{}, false
	}
	all := newFormWriter()
	all.drafts = nil
	for i := range m.rows {
		w := newFormWriter()
		m.rows[i].forms(w)
		all.failed = all.failed || w.failed
		all.drafts = append(all.drafts, w.drafts...)
	}
	all.unless, all.failed = untidy, all.failed || len(all.drafts) > maxForms
	return all.plain()
}

func (r *row) forms(w *formWriter) {
	deep := false // behind a **, which has seen to the slash
	for i := range r.segs {
		seg := &r.segs[i]
		if i > 0 && !deep {
			w.lit("/")
		}
		switch {
		case seg.kind == segTree:
			w.failed = true
		case seg.kind == segStarStar && i == len(r.segs)-1:
			w.gap(gap{})
		case seg.kind == segGlob && seg.in[0].star:
			seg.forms(w, deep)
		case seg.kind != segStarStar && deep:
			w.either(func() { seg.forms(w, false) }, func() { w.gap(gap{}); w.lit("/"); seg.forms(w, false) })
		case seg.kind != segStarStar:
			seg.forms(w, false)
		}
		deep = seg.kind == segStarStar
	}
}

// forms writes a segment; deep: the * it starts with may take slashes.
func (g *segment) forms(w *formWriter, deep bool) {
	if g.kind == segLiteral {
		w.lit(g.lit)
		return
	}
	least := 1 // a segment that is not empty
	for i := range g.in {
		if !g.in[i].star {
			least = 0
		}
	}
	for i := range g.in {
		switch it := &g.in[i]; {
		case it.star:
			w.gap(gap{inside: !deep || i > 0, least: least})
			least = 0
		case it.lit != 0:
			w.lit(string(it.lit))
		default:
			w.failed = true
		}
	}
}

package obstat

import "slices"

// mark notes the rules of a [Mark] that match. Most often none does.
func (w *walk) mark(st *step, f *Facts, q *Question, about *toolRules) {
	rank, err := about.best(f, q)
	if rank == none && err == nil {
		return
	}
	hits := about.hits(f, q, w.pol.compiled)
	for _, r := range hits {
		w.noteMark(r.ID)
	}
	if err != nil { // in doubt, it was done
		w.noteMark(st.list.ranked[rank].ID)
	}
	w.trace.step(st, StepTrace{Hits: hits, Silent: true})
}

func (w *walk) noteMark(id string) {
	if !slices.Contains(w.marks, id) {
		w.marks = append(w.marks, id)
	}
}

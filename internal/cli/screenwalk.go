package cli

import (
	"strconv"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/explain"
)

// A row is one line of the walk.
type row struct {
	stage, looked, found, outcome string
	look                          ink // of the outcome
	faint                         bool
}

// maxParts bounds how many parts of a call are shown beside the deciding one.
const maxParts = 6

// walk writes the way through the stages: the call as a whole, then the parts
// that the floor looked at, the deciding one in full.
func (s *screen) walk(v *explain.View) {
	var rows []row
	var silent []*explain.Walk // parts that no rule speaks of
	parts := 0
	for i := range v.Walk {
		w := &v.Walk[i]
		switch {
		case w.Part == "" || w.Decides:
			rows = append(rows, wholeRows(w)...)
		case !settles(w):
			silent = append(silent, w)
		case parts < maxParts:
			rows = append(rows, partRow(w))
			parts++
		default:
			parts++
		}
	}
	if parts > maxParts {
		rows = append(rows, row{stage: "…", found: strconv.Itoa(parts-maxParts) + " parts more", faint: true})
	}
	if len(silent) > 0 {
		rows = append(rows, silentRow(silent))
	}
	for i := range v.Amend {
		if v.Amend[i].Kind != "floor" {
			rows = append(rows, stepRow(&v.Amend[i], "", v.Amend[i].As))
		}
	}
	if v.Floor != "" && len(v.Walk) > 0 {
		rows = append(rows, row{stage: "floor", found: v.Floor, faint: !strings.Contains(v.Floor, "tightened")})
	}
	s.table("walk", rows)
}

// wholeRows shows every step of one question. Steps that found nothing share a
// line, and so do those that were not reached.
func wholeRows(w *explain.Walk) []row {
	var rows []row
	settled := false
	for i := range w.Steps {
		st := &w.Steps[i]
		settled = settled || st.State == explain.Settled
		r := stepRow(st, visible(st.Looked), st.As)
		if st.State == explain.NotReached {
			r = row{stage: visible(st.Stage), outcome: st.State, faint: true}
		}
		if n := len(rows); n > 0 && r.faint && rows[n-1].faint && rows[n-1].outcome == r.outcome && rows[n-1].found == r.found {
			rows[n-1].stage += " · " + r.stage
			rows[n-1].looked = ""
			continue
		}
		rows = append(rows, r)
	}
	if !settled {
		rows = append(rows, defaultRow(w))
	}
	return rows
}

// defaultRow is the line of a question that no stage settled.
func defaultRow(w *explain.Walk) row {
	return row{stage: "default", looked: visible(first(w.Part, w.Text)), found: "nothing settled it", outcome: w.Verdict.String(), look: verdictInk(w.Verdict)}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// silentRow shows the parts that no rule speaks of in one line.
func silentRow(parts []*explain.Walk) row {
	r := row{stage: "default", looked: visible(parts[0].Part), found: "no rule matches", outcome: parts[0].Verdict.String(), faint: true}
	if len(parts) > 1 {
		r.looked = strconv.Itoa(len(parts)) + " parts more"
	}
	return r
}

func settles(w *explain.Walk) bool {
	for i := range w.Steps {
		if w.Steps[i].State == explain.Settled {
			return true
		}
	}
	return false
}

// partRow shows a part that did not decide in one line.
func partRow(w *explain.Walk) row {
	for i := range w.Steps {
		if w.Steps[i].State == explain.Settled {
			return stepRow(&w.Steps[i], visible(w.Part), w.Verdict)
		}
	}
	return defaultRow(w)
}

func stepRow(st *explain.Step, looked string, as obstat.Verdict) row {
	r := row{stage: visible(st.Stage), looked: looked, found: found(st), outcome: st.State, faint: st.State == explain.Passed}
	if st.State == explain.Settled {
		r.outcome, r.look = "settled: "+as.String(), verdictInk(as)
	}
	return r
}

// found puts the outcome of a step into words.
func found(st *explain.Step) string {
	switch {
	case st.Kind == "when" && st.State == explain.Passed:
		return "no"
	case st.Rule != nil && len(st.Hits) > 1:
		return "hit " + visible(st.Rule.Text) + " (of " + strconv.Itoa(len(st.Hits)) + ")"
	case st.Rule != nil:
		return "hit " + visible(st.Rule.Text)
	case st.Note != "":
		return visible(st.Note)
	case st.Kind == "match":
		return "no rule matches"
	}
	return "nothing to say"
}

// table writes rows in columns that fit the screen. A row without a looked-at
// text gives its stages the room of both columns.
func (s *screen) table(label string, rows []row) {
	room := s.width - margin
	var stageW, lookedW, foundW, outW int
	for _, r := range rows {
		if r.looked != "" || r.outcome == "" {
			stageW = max(stageW, columns(r.stage))
		}
		lookedW, outW = max(lookedW, columns(r.looked)), max(outW, columns(r.outcome))
		if r.outcome != "" {
			foundW = max(foundW, columns(r.found))
		}
	}
	for _, r := range rows {
		if r.looked == "" && r.outcome != "" { // make room for the other two columns
			lookedW = max(lookedW, columns(r.stage)-stageW-2)
		}
	}
	over := stageW + lookedW + foundW + outW + 6 - room
	shrink := func(w *int, least int) {
		n := max(0, min(over, *w-least))
		*w, over = *w-n, over-n
	}
	// The subject is known from the row above; drop it first.
	shrink(&lookedW, 22)
	shrink(&foundW, 18)
	shrink(&stageW, 12)
	shrink(&lookedW, 4)
	shrink(&foundW, 4)
	for _, r := range rows {
		for _, l := range s.tableLines(&r, room, stageW, lookedW, foundW) {
			s.line(label, l)
			label = ""
		}
	}
}

// tableLines is one line but for a row without an outcome, whose text is broken
// into as many as it needs.
func (s *screen) tableLines(r *row, room, stageW, lookedW, foundW int) []string {
	look, text := r.look, func(t string) string { return t }
	if r.faint {
		look, text = dim, func(t string) string { return s.io.paint(dim, t) }
	}
	cell := func(t string, w int) string { return pad(clip(t, w), w) + "  " }
	out := s.io.paint(look, r.outcome)
	switch {
	case r.outcome == "":
		lines := wrap(r.found, max(10, room-stageW-2))
		for i, l := range lines {
			lines[i] = text(cell([]string{r.stage, ""}[min(i, 1)], stageW) + l)
		}
		return lines
	case r.looked == "":
		return []string{text(cell(r.stage, stageW+2+lookedW)+cell(r.found, foundW)) + out}
	}
	return []string{text(cell(r.stage, stageW)+cell(r.looked, lookedW)+cell(r.found, foundW)) + out}
}

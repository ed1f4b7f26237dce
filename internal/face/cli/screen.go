package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/study/explain"
)

// A screen lays text out for people. Most of it is in rows: a label, then its text.
type screen struct {
	io     *IO
	width  int
	margin int  // width of the labels
	label  ink  // of the labels
	whole  bool // nothing is left out for its length
	full   bool // every question's walk is shown
	b      strings.Builder
}

func newScreen(s *IO) *screen { return &screen{io: s, width: s.width(), margin: 7, label: dim} }

// show prints v as JSON with --json, and otherwise the text that lay writes.
func (f *Factory) show(v any, lay func(*screen)) error {
	if f.jsonFlag {
		return writeJSON(f.IO.Out, v)
	}
	s := newScreen(f.IO)
	lay(s)
	return s.flush(f.IO.Out)
}

// flush writes the text to w.
func (s *screen) flush(w io.Writer) error {
	_, err := io.WriteString(w, s.b.String())
	s.b.Reset()
	return err
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

// room is the width beside the labels.
func (s *screen) room() int { return s.width - s.margin }

// line writes a label (or its blank) and a text.
func (s *screen) line(label, text string) {
	head := strings.Repeat(" ", s.margin)
	if label != "" {
		head = s.io.paint(s.label, pad(label, s.margin))
	}
	s.printf("%s\n", strings.TrimRight(head+text, " "))
}

// text writes a label and a text that is broken into lines.
func (s *screen) text(label, text string) { s.rows(label, [2]string{"", text}) }

// prose writes a text without a label, in lines for a terminal alone.
func (s *screen) prose(text string) { s.printf("%s\n", strings.Join(s.io.hung(text), "\n")) }

// said writes a label and a text, in lines for a terminal alone: a program reads one.
func (s *screen) said(label, text string) {
	if s.io.OutTTY {
		s.text(label, text)
		return
	}
	s.line(label, text)
}

// faint writes a note below a row.
func (s *screen) faint(note string) {
	for _, l := range wrap(visible(note), s.room()-3) {
		s.line("", s.io.paint(dim, "   "+l))
	}
}

// rows writes a label and rows of a name and a text each, the names in a column.
func (s *screen) rows(label string, rows ...[2]string) {
	column := 0
	for _, r := range rows {
		if r[0] != "" {
			column = max(column, columns(visible(r[0]))+2)
		}
	}
	most := s.room() * 2 / 3
	if column > most { // a name that leaves its text no room stands above it
		column = 2
		for _, r := range rows {
			if n := columns(visible(r[0])) + 2; n <= most {
				column = max(column, n)
			}
		}
	}
	for _, r := range rows {
		name := visible(r[0])
		if columns(name)+2 > max(column, 2) && name != "" {
			s.line(label, name)
			label, name = "", ""
		}
		for _, l := range wrap(visible(r[1]), s.room()-column) {
			s.line(label, pad(name, column)+l)
			label, name = "", ""
		}
	}
}

// explanation writes a decision with the way to it.
func (s *screen) explanation(v *explain.View) {
	s.head(v)
	s.by(v)
	if v.Matched != "" {
		s.text("rule", v.Matched)
	}
	s.text("why", v.Why)
	s.would(v)
	s.inside(v.Confined)
	s.hidden(v)
	if len(v.Limits) > 0 {
		s.joined("limit", v.Limits)
	}
	s.forever(v)
	s.walk(v)
	s.changes(v)
}

// head writes the verdict and the call, the deciding part underlined.
func (s *screen) head(v *explain.View) {
	label := pad(strings.ToUpper(v.Verdict.String()), s.margin)
	look := verdictInk(v.Verdict)
	call, mark := v.Text, v.Mark
	if t, _ := effect.Lookup(v.Tool); len(t.Command) == 0 && v.Tool != "" && v.Tool != call {
		call = v.Tool + " " + call // of a shell the command says enough
		if mark != (explain.Span{}) {
			mark.Start, mark.End = mark.Start+len(v.Tool)+1, mark.End+len(v.Tool)+1
		}
	}
	lines := strings.Split(call, "\n")
	at := 0
	const most = 12
	for i, l := range lines {
		if i == most && !s.whole {
			s.line("", fmt.Sprintf("… %d lines more", len(lines)-i))
			break
		}
		m := Range{max(mark.Start-at, 0), min(mark.End-at, len(l))}
		at += len(l) + 1
		parts := fold(l, m, s.room())
		if !s.whole {
			text, cols := window(l, m, s.room())
			if m.Start >= m.End {
				cols = Range{}
			}
			parts = []folded{{text, cols}}
		}
		for _, p := range parts {
			s.printf("%s\n", strings.TrimRight(s.io.paint(look+";1", label)+p.text, " "))
			label = strings.Repeat(" ", s.margin)
			if p.mark.End > p.mark.Start || m.Start < m.End && !s.whole {
				s.line("", strings.Repeat(" ", p.mark.Start)+s.io.paint(look, strings.Repeat("^", max(1, p.mark.End-p.mark.Start))))
			}
		}
	}
}

// by writes the deciding rule, and on the right its file and line.
func (s *screen) by(v *explain.View) {
	text, pos := visible(v.By.Text), ""
	if v.By.Pos.IsValid() {
		pos = visible(v.By.Pos.String())
	}
	room := s.room()
	if v.Safety {
		text += " (safety)"
	}
	if gap := room - columns(text) - columns(pos); pos != "" && gap >= 2 {
		s.line("by", s.io.paint(bold, text)+strings.Repeat(" ", min(gap, max(2, 40-columns(text))))+s.io.paint(cyan, pos))
		return
	}
	label := "by"
	for _, l := range wrap(text, room) {
		s.line(label, s.io.paint(bold, l))
		label = ""
	}
	if pos != "" {
		s.line("", s.io.paint(cyan, pos))
	}
}

// would writes the effects of the call, the most dangerous first, joined as long as they fit
// on a line.
func (s *screen) would(v *explain.View) {
	const most = 6
	var texts []string
	for i, e := range byDanger(v.Would) {
		if i == most && !s.full && len(v.Would) > most+1 {
			texts = append(texts, plural(len(v.Would)-i, "thing")+" more")
			break
		}
		texts = append(texts, clip(visible(e.Words), 2*(s.room())-4))
	}
	if len(texts) == 0 {
		if len(v.Hidden) > 0 {
			return
		}
		texts = []string{"do nothing that is known of"}
	}
	s.joined("would", texts)
}

// forever writes the effects that can never be taken back, and how to run a command to see what it changes.
func (s *screen) forever(v *explain.View) {
	if len(v.Forever) > 0 {
		s.joined("never", v.Forever)
	}
	if v.Try != "" {
		s.text("to see", v.Try)
	}
}

// inside writes the limits that the kernel holds a call to: "May write /p.", "Not enforced: ...". Long ones are
// cut; `obstat run --explain` has them whole.
func (s *screen) inside(c *obstat.Confined) {
	if c == nil {
		return
	}
	label := "inside"
	for _, text := range c.Says {
		text = visible(text)
		if !s.whole {
			text = clip(text, 2*s.room()-4)
		}
		s.text(label, text)
		label = ""
	}
}

// joined writes texts with a dot between them, breaking lines only there if
// that is possible.
func (s *screen) joined(label string, texts []string) {
	for _, line := range items(texts, s.room()) {
		s.text(label, line)
		label = ""
	}
}

func (s *screen) hidden(v *explain.View) {
	const most = 3
	label := "hidden"
	for i, h := range v.Hidden {
		if i == most && !s.whole && !s.full && len(v.Hidden) > most+1 {
			s.line(label, plural(len(v.Hidden)-i, "thing")+" more")
			break
		}
		text := h.Why
		if part := cut(v.Text, h.Span); part != "" && part != v.Text && !strings.Contains(text, part) {
			text = part + ": " + text
		}
		s.text(label, text)
		label = ""
	}
}

// cut returns a span of text, "" where it lies outside.
func cut(text string, s explain.Span) string {
	if s.Start < 0 || s.End > len(text) || s.Start >= s.End {
		return ""
	}
	return text[s.Start:s.End]
}

// changes writes the smallest changes that turn the verdict.
func (s *screen) changes(v *explain.View) {
	label := "to run it   "
	if v.Verdict == obstat.Allow {
		label = "to stop it  "
	}
	s.margin = len(label)
	if len(v.Changes) == 0 && v.Verdict != obstat.Allow {
		s.said(label, "no small change of the policy or the call turns this")
	}
	for i, c := range v.Changes {
		text := visible(c.Words)
		if i > 0 {
			text = "or " + text
		}
		after := c.Verdict.String()
		lines := wrap(text, s.room()-len(" > ")-len(after))
		lines[len(lines)-1] += " → " + s.io.paint(verdictInk(c.Verdict), after)
		for _, l := range lines {
			s.line(label, l)
			label = ""
		}
		if len(c.Also) > 0 {
			s.faint("would also allow: " + strings.Join(c.Also, " · "))
		}
		for _, add := range c.Add {
			// On a line of its own, however long, so that it can be copied.
			s.line("", visible(unescape(add)))
		}
	}
}

// unescape writes JSON without the escapes that only a web page needs.
func unescape(b []byte) string {
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

// A row is one line of the walk.
type row struct {
	stage, looked, found, outcome string
	look                          ink // of the outcome
	faint                         bool
	head                          bool // the name of a question, over the whole width
}

// maxParts bounds how many parts of a call are shown beside the deciding one.
const maxParts = 4

// walk writes the way through the stages: that of the deciding question in full, then a line for every other
// that is not simply allowed. With --walk each question is shown in full.
func (s *screen) walk(v *explain.View) {
	var rows []row
	if s.full {
		for i := range v.Walk {
			rows = append(rows, questionRows(&v.Walk[i], true)...)
		}
	} else {
		rows = decidingRows(v)
	}
	for i := range v.Amend {
		if v.Amend[i].Kind != "floor" {
			rows = append(rows, stepRow(&v.Amend[i], "", v.Amend[i].As))
		}
	}
	if v.Floor != "" && len(v.Walk) > 0 {
		tightened := slices.ContainsFunc(v.Amend, func(s explain.Step) bool {
			return s.Kind == "floor" && s.State == explain.Settled
		})
		rows = append(rows, row{stage: "floor", found: v.Floor, faint: !tightened})
	}
	s.table("walk", rows)
}

// decidingRows shows the question that decided, and the others that are not simply allowed in a line each. The same
// thing asked twice, as of `build` and all below it, is one line.
func decidingRows(v *explain.View) (rows []row) {
	var others []row
	seen, allowed := map[string]bool{}, 0
	decides := slices.IndexFunc(v.Walk, func(w explain.Walk) bool { return w.Decides })
	if decides < 0 && len(v.Walk) > 0 {
		decides = 0
	}
	if decides >= 0 {
		rows = questionRows(&v.Walk[decides], len(v.Walk) > 1)
		seen[questionKey(&v.Walk[decides])] = true
	}
	for i := range v.Walk {
		w := &v.Walk[i]
		key := questionKey(w)
		switch {
		case i == decides || seen[key]:
		case w.Verdict == obstat.Allow:
			allowed++
		default:
			others = append(others, lastRow(w))
		}
		seen[key] = true
	}
	var more []string
	if rest := len(others) - maxParts; rest > 0 {
		others, more = others[:maxParts], append(more, plural(rest, "part")+" more")
	}
	if allowed > 0 {
		more = append(more, plural(allowed, "part")+" allowed")
	}
	if len(more) > 0 {
		others = append(others, row{stage: "…", found: strings.Join(more, ", ") + "; --walk shows all", faint: true})
	}
	if last := len(v.Walk) - 1; v.Verdict == obstat.Deny && decides == last && len(v.Would) > len(v.Walk) {
		others = append(others, row{stage: "…", faint: true,
			found: "a denied part settles it: later parts are not looked at"})
	}
	return append(rows, others...)
}

// questionKey is the same for questions that a reader takes for one.
func questionKey(w *explain.Walk) string {
	return w.Tool + " " + strings.TrimSuffix(w.Text, "/...") + " " + w.Verdict.String()
}

// questionRows shows a question in full, below its name where there are several.
func questionRows(w *explain.Walk, named bool) (rows []row) {
	if named {
		rows = append(rows, row{stage: "▸ " + visible(w.Of), head: true})
	}
	rows = append(rows, wholeRows(w)...)
	if !slices.ContainsFunc(w.Steps, func(s explain.Step) bool { return s.State == explain.Settled }) {
		rows = append(rows, row{stage: "default", looked: visible(w.Of), found: "nothing settled it",
			outcome: w.Verdict.String(), look: verdictInk(w.Verdict)})
	}
	return rows
}

// lastRow shows a question by the stage that settled it.
func lastRow(w *explain.Walk) row {
	i := slices.IndexFunc(w.Steps, func(s explain.Step) bool { return s.State == explain.Settled })
	if i >= 0 {
		return stepRow(&w.Steps[i], visible(w.Of), w.Verdict)
	}
	return row{stage: "default", looked: visible(w.Of), found: "no rule matches", outcome: w.Verdict.String(), faint: true}
}

// wholeRows shows every step of one question. Steps that found nothing share a
// line, and so do those that were not reached.
func wholeRows(w *explain.Walk) []row {
	var rows []row
	for i := range w.Steps {
		st := &w.Steps[i]
		r := stepRow(st, visible(st.Looked), st.As)
		if st.State == explain.NotReached {
			r = row{stage: visible(st.Stage), outcome: st.State, faint: true}
		}
		if n := len(rows); n > 0 && r.faint && rows[n-1].faint && rows[n-1].outcome == r.outcome &&
			rows[n-1].found == r.found {
			rows[n-1].stage += " · " + r.stage
			rows[n-1].looked = ""
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

func stepRow(st *explain.Step, looked string, as obstat.Verdict) row {
	r := row{stage: visible(st.Stage), looked: looked, found: found(st), outcome: st.State,
		faint: st.State == explain.Passed}
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

// mostStages is how wide stages that share a line may be.
const mostStages = 50

// table writes rows in columns that fit the screen. Stages are names and stay whole; the
// subject, known from the row above, is cut first. A row without a subject gives its stages
// the room of both columns, and as many lines as they need.
func (s *screen) table(label string, rows []row) {
	room := s.room()
	var stageW, lookedW, foundW, outW int
	for _, r := range rows {
		if !r.head && (r.looked != "" || r.outcome == "") {
			stageW = max(stageW, columns(r.stage))
		}
		lookedW, outW = max(lookedW, columns(r.looked)), max(outW, columns(r.outcome))
		if r.outcome != "" {
			foundW = max(foundW, columns(r.found))
		}
	}
	for _, r := range rows {
		if r.looked == "" && r.outcome != "" { // make room for the other two columns
			lookedW = max(lookedW, min(columns(r.stage), mostStages)-stageW-2)
		}
	}
	over := stageW + lookedW + foundW + outW + 6 - room
	shrink := func(w *int, least int) {
		n := max(0, min(over, *w-least))
		*w, over = *w-n, over-n
	}
	shrink(&lookedW, 22)
	shrink(&foundW, 24)
	shrink(&lookedW, 10)
	shrink(&foundW, 12)
	shrink(&stageW, 20)
	shrink(&lookedW, 4)
	shrink(&foundW, 4)
	if over > 0 { // the part stands in the head, and at 40 columns has no room here
		lookedW, foundW = -2, max(0, foundW+lookedW+2-over)
	}
	for _, r := range rows {
		for _, l := range s.tableLines(&r, room, stageW, lookedW, foundW) {
			s.line(label, l)
			label = ""
		}
	}
}

// tableLines is one line, or, of a row without an outcome or of several stages, as many as
// its text needs.
func (s *screen) tableLines(r *row, room, stageW, lookedW, foundW int) []string {
	look, text := r.look, func(t string) string { return t }
	if r.faint {
		look, text = dim, func(t string) string { return s.io.paint(dim, t) }
	}
	cell := func(t string, w int) string {
		if w < 0 {
			return ""
		}
		return pad(clip(t, w), w) + "  "
	}
	if r.head {
		return []string{s.io.paint(bold, clip(r.stage, room))}
	}
	out := s.io.paint(look, r.outcome)
	if r.outcome == "" {
		lines := wrap(r.found, max(10, room-stageW-2))
		for i, l := range lines {
			lines[i] = text(cell([]string{r.stage, ""}[min(i, 1)], stageW) + l)
		}
		return lines
	}
	if r.looked != "" {
		return []string{text(cell(r.stage, stageW)+cell(r.looked, lookedW)+cell(r.found, foundW)) + out}
	}
	wide, rest := stageW+2+lookedW, cell(r.found, foundW)
	if r.found == "" {
		wide, rest = wide+2+foundW, ""
	}
	lines := items(strings.Split(r.stage, " · "), wide)
	for i, l := range lines[:len(lines)-1] {
		lines[i] = text(l)
	}
	lines[len(lines)-1] = text(cell(lines[len(lines)-1], wide)+rest) + out
	return lines
}

// items joins texts with a dot between them, breaking lines only there.
func items(texts []string, room int) (lines []string) {
	line := ""
	for _, it := range texts {
		switch {
		case line == "":
			line = it
		case columns(line)+3+columns(it) <= room:
			line += " · " + it
		default:
			if columns(line)+2 <= room {
				line += " ·"
			}
			lines, line = append(lines, line), it
		}
	}
	return append(lines, line)
}

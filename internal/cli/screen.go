package cli

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/explain"
)

// A screen lays out an explanation in rows: a label, then its text.
type screen struct {
	io    *IO
	width int
	b     strings.Builder
}

// margin is the width of the labels.
const margin = 7

func newScreen(s *IO) *screen { return &screen{io: s, width: s.width()} }

func (s *screen) render(v *explain.View) string {
	s.head(v)
	s.by(v)
	s.text("why", v.Why)
	s.would(v)
	s.hidden(v)
	s.walk(v)
	s.changes(v)
	return s.b.String()
}

// line writes a label (or its blank) and a text.
func (s *screen) line(label, text string) {
	head := strings.Repeat(" ", margin)
	if label != "" {
		head = s.io.paint(dim, pad(label, margin))
	}
	s.b.WriteString(strings.TrimRight(head+text, " ") + "\n")
}

// text writes a label and a text that is broken into lines.
func (s *screen) text(label, text string) {
	for _, l := range wrap(visible(text), s.width-margin) {
		s.line(label, l)
		label = ""
	}
}

// head writes the verdict and the call, the deciding part underlined.
func (s *screen) head(v *explain.View) {
	label := pad(strings.ToUpper(v.Verdict.String()), margin)
	look := verdictInk(v.Verdict)
	lines := strings.Split(v.Text, "\n")
	at := 0
	const most = 12
	for i, l := range lines {
		if i == most {
			s.line("", fmt.Sprintf("… %d lines more", len(lines)-i))
			break
		}
		m := Range{max(v.Mark.Start-at, 0), min(v.Mark.End-at, len(l))}
		at += len(l) + 1
		text, cols := window(l, m, s.width-margin)
		s.b.WriteString(strings.TrimRight(s.io.paint(look+";1", label)+text, " ") + "\n")
		label = strings.Repeat(" ", margin)
		if m.Start < m.End {
			s.line("", strings.Repeat(" ", cols.Start)+s.io.paint(look, strings.Repeat("^", max(1, cols.End-cols.Start))))
		}
	}
}

// by writes the deciding rule, and on the right its file and line.
func (s *screen) by(v *explain.View) {
	text, pos := visible(v.By.Text), ""
	if v.By.Pos.IsValid() {
		pos = visible(v.By.Pos.String())
	}
	room := s.width - margin
	if v.Safety {
		text += " (safety)"
	}
	if gap := room - columns(text) - columns(pos); pos != "" && gap >= 2 {
		s.line("by", s.io.paint(bold, text)+strings.Repeat(" ", min(gap, max(2, 40-columns(text))))+s.io.paint(cyan, pos))
		return
	}
	for i, l := range wrap(text, room) {
		s.line([]string{"by", ""}[min(i, 1)], s.io.paint(bold, l))
	}
	if pos != "" {
		s.line("", s.io.paint(cyan, pos))
	}
}

// would writes the effects of the call, joined as long as they fit on a line.
func (s *screen) would(v *explain.View) {
	const most = 12
	var items []string
	for i := range v.Would {
		if i == most {
			items = append(items, fmt.Sprintf("%d things more", len(v.Would)-i))
			break
		}
		items = append(items, clip(visible(v.Would[i].Words), 2*(s.width-margin)-4))
	}
	if len(items) == 0 {
		if len(v.Hidden) > 0 {
			return
		}
		items = []string{"do nothing that is known of"}
	}
	s.joined("would", items)
}

// joined writes items with a dot between them, breaking lines only there if
// that is possible.
func (s *screen) joined(label string, items []string) {
	room := s.width - margin
	line := ""
	for _, it := range items {
		switch {
		case line == "":
			line = it
		case columns(line)+3+columns(it) <= room:
			line += " · " + it
		default:
			s.text(label, line+" ·")
			label, line = "", it
		}
	}
	s.text(label, line)
}

func (s *screen) hidden(v *explain.View) {
	const most = 6
	label := "hidden"
	for i, h := range v.Hidden {
		if i == most {
			s.line(label, fmt.Sprintf("%d things more", len(v.Hidden)-i))
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
	if len(v.Changes) == 0 {
		if v.Verdict != obstat.Allow {
			s.b.WriteString(s.io.paint(dim, label) + "no small change of the policy or the call turns this\n")
		}
		return
	}
	indent := strings.Repeat(" ", len(label))
	for i, c := range v.Changes {
		text := visible(c.Words)
		if i > 0 {
			text = "or " + text
		}
		after := " → " + c.Verdict.String()
		lines := wrap(text, s.width-len(label)-columns(after))
		for j, l := range lines {
			s.b.WriteString(s.io.paint(dim, label) + l)
			if j == len(lines)-1 {
				s.b.WriteString(" → " + s.io.paint(verdictInk(c.Verdict), c.Verdict.String()))
			}
			s.b.WriteString("\n")
			label = indent
		}
		for _, add := range c.Add {
			// On a line of its own, however long, so that it can be copied.
			s.b.WriteString(indent + visible(unescape(add)) + "\n")
		}
	}
}

// unescape writes JSON without the escapes that only a web page needs.
func unescape(b []byte) string {
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/doctor"
)

// A doctorScreen shows a report: labels at the left, text at the right, and a column
// for names where one label has several rows.
type doctorScreen struct {
	io   *IO
	home string
	b    strings.Builder
}

// doctorMargin is the width of the labels.
const doctorMargin = 10

func (s *doctorScreen) print(r *doctor.Report) {
	if len(r.Agents) == 0 {
		s.b.WriteString("No agent that obstat knows is used here. See: obstat install --help\n")
	}
	for i, a := range r.Agents {
		if i > 0 && (a.State != doctor.Open || r.Agents[i-1].State != doctor.Open) {
			s.b.WriteByte('\n')
		}
		s.agent(a)
	}
	if len(r.Policy) > 0 {
		s.b.WriteString("\n" + s.io.paint(bold, "Policy") + "\n")
		s.findings(r.Policy)
	}
	fmt.Fprint(s.io.Out, s.b.String())
}

func (s *doctorScreen) agent(a *doctor.Agent) {
	k, word := red, "does not hold"
	switch a.State {
	case doctor.Holds:
		k, word = green, "holds"
	case doctor.Open:
		k, word = yellow, "does not ask obstat: obstat install "+a.Name
	}
	s.b.WriteString(s.io.paint(bold, a.Title) + " " + s.io.paint(k, word) + "\n")
	s.findings(a.Findings)
	s.entries(a)
	s.proofs(a)
	s.limits(a, "not held", agent.No)
	s.limits(a, "partly", agent.Partly)
}

// A doctorRow is a name and its text.
type doctorRow struct{ name, text string }

// rows writes rows behind a label, the names in a column.
func (s *doctorScreen) rows(label string, k ink, rows []doctorRow) {
	width := 0
	for _, r := range rows {
		width = max(width, columns(r.name))
	}
	if width > 0 {
		width += 2
	}
	for _, r := range rows {
		for i, text := range wrap(r.text, s.io.width()-doctorMargin-width) {
			name := ""
			if i == 0 {
				name = r.name
			}
			line := s.io.paint(k, pad(label, doctorMargin)) + pad(name, width) + text
			s.b.WriteString(strings.TrimRight(line, " ") + "\n")
			label = ""
		}
	}
}

// entries shows where the hook is, one row for a file.
func (s *doctorScreen) entries(a *doctor.Agent) {
	var rows []doctorRow
	var files []string
	for _, e := range a.Entries {
		if slices.Contains(files, e.File) {
			continue
		}
		files = append(files, e.File)
		var events []string
		for _, other := range a.Entries {
			if other.File == e.File && !slices.Contains(events, other.Event) {
				events = append(events, other.Event)
			}
		}
		rows = append(rows, doctorRow{"", visible(fmt.Sprintf("%s:%d (%s)", s.short(e.File), e.Line, e.Scope))}, doctorRow{"", visible(strings.Join(events, ", "))})
	}
	s.rows("hook", dim, rows)
}

// proofs shows the outcome of each canary; the events only where they differ.
func (s *doctorScreen) proofs(a *doctor.Agent) {
	var rows []doctorRow
	var names []string
	for _, p := range a.Proofs {
		if slices.Contains(names, p.Canary) {
			continue
		}
		names = append(names, p.Canary)
		var parts []string
		for _, outcome := range []string{"runs", "asks", "blocked"} {
			var events []string
			for _, other := range a.Proofs {
				if other.Canary == p.Canary && other.Outcome == outcome && !slices.Contains(events, other.Event) {
					events = append(events, other.Event)
				}
			}
			if events != nil {
				parts = append(parts, outcomeWord(outcome)+" at "+strings.Join(events, ", "))
			}
		}
		if len(parts) == 1 {
			parts[0], _, _ = strings.Cut(parts[0], " at ")
		}
		rows = append(rows, doctorRow{visible(p.Canary), visible(strings.Join(parts, "; "))})
	}
	s.rows("proof", dim, rows)
}

func outcomeWord(outcome string) string {
	switch outcome {
	case "runs":
		return "RUNS"
	case "asks":
		return "asked"
	}
	return outcome
}

// limits shows the limits of the agent's hooks.
func (s *doctorScreen) limits(a *doctor.Agent, label string, held agent.Held) {
	var rows []doctorRow
	for _, l := range a.Limits {
		if l.Held == held {
			rows = append(rows, doctorRow{l.About, l.Says})
		}
	}
	s.rows(label, dim, rows)
}

func (s *doctorScreen) findings(list []doctor.Finding) {
	for _, f := range list {
		label, k := "wrong", red
		if f.Level == doctor.Warning {
			label, k = "note", yellow
		}
		at := s.short(f.File)
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		text := f.Msg
		if at != "" {
			text = at + ": " + text
		}
		rows := []doctorRow{{"", visible(text)}}
		if f.Hint != "" {
			rows = append(rows, doctorRow{"", visible("to do: " + f.Hint)})
		}
		s.rows(label, k, rows)
	}
}

// short writes a path in the home directory with ~.
func (s *doctorScreen) short(name string) string {
	if rest, ok := strings.CutPrefix(name, s.home+"/"); ok && s.home != "" {
		return "~/" + rest
	}
	return name
}

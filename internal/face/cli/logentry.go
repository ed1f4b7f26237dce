package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
)

// kindsOfTools are the kinds that --tool takes beside names.
const kindsOfTools = " shell powershell read write edit notebook patch delete move mkdir list glob grep fetch websearch task skill code "

// byKind returns a query for the tools of a kind, if it names one, and for sessions by the beginning that a
// terminal shows, `a1b2c3d4…`, and which of its records are meant.
func byKind(q ledger.Query) (ledger.Query, func(*ledger.Record) bool) {
	kind := q.Tool
	if !strings.Contains(kindsOfTools, " "+kind+" ") {
		kind = ""
	}
	begins, short := strings.CutSuffix(q.Session, "…")
	if kind == "" && !short {
		return q, func(*ledger.Record) bool { return true }
	}
	if kind != "" {
		q.Tool = "" // a tool of that name is of that kind
	}
	if short {
		q.Session = ""
	}
	return q, func(r *ledger.Record) bool {
		return (kind == "" || effect.ToolKind(r.Tool) == kind) && (!short || strings.HasPrefix(r.Session, begins))
	}
}

// shortSession is how much of a long id a terminal shows.
const shortSession = 8

// sessionWords returns the id of a session, on a terminal the beginning of a long one: `a1b2c3d4…`.
func sessionWords(id string, io *IO) string {
	if len(id) <= 2*shortSession || !io.OutTTY {
		return id
	}
	return clip(id, shortSession+1)
}

// only leaves out records that are not wanted.
func only(records iter.Seq2[*ledger.Record, error], wanted func(*ledger.Record) bool) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		for r, err := range records {
			if (err != nil || wanted(r)) && !yield(r, err) {
				return
			}
		}
	}
}

// eachRecord hands out the records of a query that are wanted, the newest if there are more than its limit.
func eachRecord(ctx context.Context, s ledger.Reader, q ledger.Query, wanted func(*ledger.Record) bool,
	do func(*ledger.Record) error) error {
	limit := q.Limit
	if !wanted(&ledger.Record{}) {
		q.Limit = 0
	}
	var all []*ledger.Record
	for r, err := range s.Records(ctx, q) {
		switch {
		case err != nil:
			return err
		case !wanted(r):
		case q.Limit == limit:
			if err := do(r); err != nil {
				return err
			}
		default:
			all = append(all, r)
		}
	}
	for _, r := range all[max(len(all)-limit, 0):] {
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// printEntries prints the records of a query, those about one call on one line.
func printEntries(ctx context.Context, s ledger.Reader, q ledger.Query, wanted func(*ledger.Record) bool,
	last *uint64, print func(*ledger.Entry) error) error {
	limit := q.Limit
	q.Limit *= 2 // a call and its outcome
	var all []*ledger.Record
	err := eachRecord(ctx, s, q, wanted, func(r *ledger.Record) error {
		all, *last = append(all, r), max(*last, r.Seq)
		return nil
	})
	if err != nil {
		return err
	}
	entries := ledger.Join(all)
	if limit > 0 {
		entries = entries[max(len(entries)-limit, 0):]
	}
	for _, e := range entries {
		if err := print(e); err != nil {
			return err
		}
	}
	return nil
}

// sender names the machine that has sent a record to this ledger; "" where it was written here.
func sender(r *ledger.Record) string {
	if f := r.Foreign(); f != nil {
		return f.String()
	}
	return ""
}

// became describes the outcome of a call: `ran in 1.2s`, `failed: exit 1`.
func became(r *ledger.Record) string {
	s := r.Verdict
	if r.Nanos > 0 {
		s += " in " + time.Duration(r.Nanos).Round(time.Millisecond).String()
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

// entryPrinter returns a function that prints entries for people. On a terminal the day is a heading, so
// that more of the call has room.
func entryPrinter(io *IO, w io.Writer) func(*ledger.Entry) error {
	day := ""
	return func(e *ledger.Entry) error {
		at := e.Time.Local()
		stamp := at.Format(time.DateTime)
		if io.OutTTY {
			if today := at.Format("Monday, 2 January 2006"); today != day {
				fmt.Fprintf(w, "%s\n", io.paint(bold, today))
				day = today
			}
			if stamp = at.Format(time.TimeOnly); io.narrow() {
				stamp = at.Format("15:04")
			}
		}
		return printEntry(io, w, stamp, e)
	}
}

// narrow tells whether lines are for a terminal on which a call has no room beside a long time.
func (s *IO) narrow() bool { return s.OutTTY && s.width() < 60 }

// printEntry prints a record on a line, with the outcome of its call.
func printEntry(io *IO, w io.Writer, stamp string, e *ledger.Entry) error {
	r := e.Record
	word := cmp.Or(r.Verdict, string(r.Kind))
	parts := []string{r.Reason}
	switch {
	case r.Kind == ledger.Decision || r.Kind == ledger.Ask:
		parts[0] = strings.TrimSpace(r.Tool + " " + r.About())
	case r.Kind == ledger.Outcome:
		parts[0] = strings.TrimSpace(r.Tool + " " + r.Reason)
	}
	if e.Outcome != nil {
		parts = append(parts, became(e.Outcome))
	}
	if r.Kind == ledger.Decision && r.Rule == "" && r.Reason != "" &&
		(r.Verdict != obstat.Allow.String() || r.Stage == obstat.StageConfined) {
		parts = append(parts, r.Reason) // no rule says why, or inside which limits
	}
	if by := cmp.Or(r.Rule, r.Stage); by != "" {
		if r.Rule != "" && r.Pos.File != "" {
			pos := r.Pos
			pos.File = shortPath(pos.File, r.Dir)
			by += " " + pos.String()
		}
		parts = append(parts, "by "+by)
	}
	for _, who := range []string{r.Agent, sessionWords(r.Session, io)} {
		if who != "" {
			parts = append(parts, who)
		}
	}
	if from := sender(r); from != "" {
		parts = append([]string{"word of " + from}, parts...) // first, so that a narrow screen has it
	}
	head, wide := fmt.Sprintf("%5d  %s  ", r.Seq, stamp), 8
	if io.narrow() {
		head, wide = fmt.Sprintf("%d %s ", r.Seq, stamp), 5
	}
	rest := visible(strings.Join(parts, " · "))
	if io.OutTTY {
		rest = clip(rest, max(io.width()-columns(head)-max(wide, columns(visible(word)))-2, 10))
	}
	look := dim
	switch word {
	case "allow", "approved", "granted":
		look = green
	case "ask":
		look = yellow
	case "deny", "refused", "expired", "canceled", "revoked":
		look = red
	}
	_, err := fmt.Fprintf(w, "%s%s  %s\n", head, io.paint(look, pad(visible(word), wide)), rest)
	return err
}

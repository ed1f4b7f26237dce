package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/ledger"
)

// pageLength is how many records a page of the history has.
const pageLength = 100

// maxLooked bounds how many records are looked through for a text.
const maxLooked = 5000

// A row is a record in the list.
type row struct {
	Seq                                  uint64
	Time                                 time.Time
	Kind, Verdict, Tool, Text, By, Agent string
	Sender                               string // the machine whose word it is; "" where this server wrote it
}

// historyPage is the list of records.
type historyPage struct {
	frame
	Query    ledger.Query
	Kind     string
	Text     string
	Day      int
	Days     []int
	Verdicts []string
	Kinds    []string
	Rows     []row
	More     string // address of the older ones
}

func (c *console) history(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "history", "History")
	if err != nil {
		return err
	}
	v := r.URL.Query()
	p := &historyPage{frame: f, Kind: v.Get("kind"), Text: v.Get("text"), Days: []int{1, 7, 30, 0},
		Verdicts: []string{"allow", "ask", "deny", "approved", "refused", "expired"},
		Kinds: []string{string(ledger.Decision), string(ledger.Ask), string(ledger.Answer), string(ledger.Policy),
			string(ledger.Access)},
		Query: ledger.Query{Kind: ledger.Kind(v.Get("kind")), Agent: v.Get("agent"), Tool: v.Get("tool"),
			Verdict: v.Get("verdict"), Session: v.Get("session"), Rule: v.Get("rule"), Limit: pageLength + 1}}
	if p.Day, err = days(v, 7); err != nil {
		return err
	}
	if p.Day > 0 {
		p.Query.Since = time.Now().AddDate(0, 0, -p.Day)
	}
	if before := v.Get("before"); before != "" {
		if p.Query.Until, err = time.Parse(time.RFC3339Nano, before); err != nil {
			return wrong("before is a time, not %q", before)
		}
	}
	if p.Text != "" {
		p.Query.Limit = maxLooked
	}
	if err := c.rows(r, p); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "history", "frame", p)
}

// rows fills in the records, newest first.
func (c *console) rows(r *http.Request, p *historyPage) error {
	for rec, err := range c.v.Records(r.Context(), p.Query) {
		if err != nil {
			return err
		}
		one := rowOf(rec)
		if p.Text == "" || strings.Contains(strings.ToLower(one.Text+" "+one.By), strings.ToLower(p.Text)) {
			p.Rows = append(p.Rows, one)
		}
	}
	slices.Reverse(p.Rows)
	if len(p.Rows) > pageLength {
		p.Rows = p.Rows[:pageLength]
		v := url.Values{}
		for name, values := range r.URL.Query() {
			v[name] = values
		}
		v.Set("before", p.Rows[pageLength-1].Time.Format(time.RFC3339Nano))
		p.More = "/history?" + v.Encode()
	}
	return nil
}

// days reads for how many days back a page is wanted; zero is ever.
func days(v url.Values, usual int) (int, error) {
	text := v.Get("days")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 3650 {
		return 0, wrong("days is a number of days, not %q", text)
	}
	return n, nil
}

func rowOf(rec *ledger.Record) row {
	out := row{Seq: rec.Seq, Time: rec.Time, Kind: string(rec.Kind), Verdict: rec.Verdict, Tool: rec.Tool,
		Text: rec.Reason, By: rec.Rule, Agent: rec.Agent}
	if rec.Tool != "" && len(rec.Input) > 0 {
		out.Text = explain.TextOf(&obstat.Call{Tool: rec.Tool, Input: rec.Input})
	}
	if f := rec.Foreign(); f != nil {
		out.Sender = f.String()
	}
	if out.By == "" {
		out.By = rec.Stage
	}
	if rec.Kind == ledger.Answer || rec.Kind == ledger.Policy || rec.Kind == ledger.Access {
		out.By = rec.User
	}
	return out
}

// recordPage is one record, with its way through the policy.
type recordPage struct {
	frame
	Record  *ledger.Record
	Sender  *ledger.Foreign // the machine that has sent it; nil where this server wrote it
	Who     string
	Where   string
	Took    string
	Hash    string
	Call    []piece
	Diff    []diffLine
	Related []*ledger.Record
	View    *explain.View
	Same    bool // the policy of then is the one of now
	Effects []shownEffect
	Walks   []shownWalk
}

func (c *console) record(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "history", "Record "+r.PathValue("seq"))
	if err != nil {
		return err
	}
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 63)
	if err != nil || seq == 0 {
		return approval.ErrNotFound
	}
	rec, related, err := c.find(r, seq)
	if err != nil {
		return err
	}
	call := &obstat.Call{Tool: rec.Tool, Input: rec.Input, Agent: rec.Agent, Session: rec.Session, User: rec.User,
		Dir: rec.Dir}
	hash := rec.Hash.String()
	p := &recordPage{frame: f, Record: rec, Sender: rec.Foreign(), Who: whoOf(call), Where: whereOf(rec.Pos),
		Took: fmt.Sprint(time.Duration(rec.Nanos).Round(100 * time.Nanosecond)),
		Hash: hash[:min(16, len(hash))], Call: mark(explain.TextOf(call), ""), Diff: diffOf(call, unread), Related: related}
	if rec.Kind == ledger.Decision {
		if view, same, err := c.v.Explain(r.Context(), rec); err == nil {
			p.View, p.Same, p.Effects, p.Walks = view, same, effectsOf(view.Would), walksOf(view)
			if view.Mark.End > 0 && view.Mark.End <= len(view.Text) {
				p.Call = mark(view.Text, view.Text[view.Mark.Start:view.Mark.End], risky(view.Would)...)
			}
		}
	}
	return c.render(w, http.StatusOK, "record", "frame", p)
}

// find returns a record and those of the same request. Without a time it is the first of that
// number: there is one where one server writes.
func (c *console) find(r *http.Request, seq uint64) (rec *ledger.Record, related []*ledger.Record, err error) {
	q, nanos := ledger.Query{After: seq - 1}, int64(0)
	if text := r.URL.Query().Get("at"); text != "" {
		if nanos, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, nil, wrong("at is a time in nanoseconds, not %q", text)
		}
		q.Since, q.Until = time.Unix(0, nanos).Add(-time.Millisecond), time.Unix(0, nanos).Add(time.Millisecond)
	}
	for one, err := range c.v.Records(r.Context(), q) {
		if err != nil {
			return nil, nil, err
		}
		if one.Seq == seq && (nanos == 0 || one.Time.UnixNano() == nanos) {
			rec = one
			break
		}
		if nanos == 0 {
			break
		}
	}
	if rec == nil {
		return nil, nil, approval.ErrNotFound
	}
	if rec.Request == "" {
		return rec, nil, nil
	}
	// A request lives for minutes; an answer does not come much later.
	near := ledger.Query{Since: rec.Time.Add(-time.Hour), Until: rec.Time.Add(time.Hour)}
	for one, err := range c.v.Records(r.Context(), near) {
		if err != nil {
			return nil, nil, err
		}
		if one.Request == rec.Request && one.Hash != rec.Hash {
			related = append(related, one)
		}
	}
	return rec, related, nil
}

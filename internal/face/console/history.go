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
	Hash                                 ledger.Hash
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
		Kinds: []string{everything, string(ledger.Decision), string(ledger.Ask), string(ledger.Answer), string(ledger.Policy),
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
	if p.Query.Kind == everything {
		p.Query.Kind = ""
	}
	if p.Text != "" {
		p.Query.Limit = maxLooked
	}
	if err := c.rows(r, p); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "history", "frame", p)
}

// everything is the kind of all records; without it those that servers write about themselves are left out.
const everything = "everything"

// housekeeping are the kinds of records that servers write about themselves.
var housekeeping = []ledger.Kind{ledger.Start, ledger.Anchor, ledger.Cut, ledger.Pin, ledger.Access}

// maxLooks bounds how often older records are fetched to fill a page with others than housekeeping.
const maxLooks = 20

// rows fills in the records, newest first.
func (c *console) rows(r *http.Request, p *historyPage) error {
	q := p.Query
	for range maxLooks {
		n, oldest, err := c.fill(r, p, q)
		if err != nil {
			return err
		}
		if n < q.Limit || len(p.Rows) > pageLength || p.Text != "" {
			break
		}
		q.Until = oldest
	}
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

// fill adds the rows of one query, newest first, and returns how many records there were, and when the oldest was
// taken.
func (c *console) fill(r *http.Request, p *historyPage, q ledger.Query) (n int, oldest time.Time, err error) {
	var rows []row
	for rec, err := range c.v.Records(r.Context(), q) {
		if err != nil {
			return 0, oldest, err
		}
		if n++; n == 1 {
			oldest = rec.TakenAt()
		}
		if p.Kind == "" && slices.Contains(housekeeping, rec.Kind) {
			continue
		}
		one := rowOf(rec)
		if p.Text == "" || strings.Contains(strings.ToLower(one.Text+" "+one.By), strings.ToLower(p.Text)) {
			rows = append(rows, one)
		}
	}
	slices.Reverse(rows)
	p.Rows = append(p.Rows, rows...)
	return n, oldest, nil
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
	out := row{Seq: rec.Seq, Hash: rec.Hash, Time: rec.TakenAt(), Kind: string(rec.Kind), Verdict: rec.Verdict,
		Tool: rec.Tool,
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

// find returns a record and those of the same request. Without a hash it is the first of that
// number: there is one where one server writes.
func (c *console) find(r *http.Request, seq uint64) (rec *ledger.Record, related []*ledger.Record, err error) {
	is := r.URL.Query().Get("is")
	for one, err := range c.v.Records(r.Context(), ledger.Query{Seq: seq}) {
		if err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(one.Hash.String(), is) {
			rec = one
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
	near := ledger.Query{Session: rec.Session, Since: rec.TakenAt().Add(-time.Hour), Until: rec.TakenAt().Add(time.Hour)}
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

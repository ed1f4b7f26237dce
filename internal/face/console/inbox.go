package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/ledger"
)

// An inboxRow is a request that waits, as the list shows it: a line of text, the worst that it would do, and its times.
type inboxRow struct {
	ID      string `json:"id"`
	Version int    `json:"v"`
	Agent   string `json:"agent"`
	Session string `json:"session,omitempty"`
	Tool    string `json:"tool"`
	Text    string `json:"text"`
	Risk    string `json:"risk,omitempty"`  // high or mid
	Worst   string `json:"worst,omitempty"` // the worst effect
	Kind    string `json:"kind,omitempty"`  // of that
	Group   string `json:"group,omitempty"`
	Offer   string `json:"offer,omitempty"` // first rule that would settle the group
	Created int64  `json:"created"`         // milliseconds since 1970
	Expires int64  `json:"expires"`
	May     bool   `json:"may"` // the person may answer
	Needs   string `json:"needs,omitempty"`
}

// inboxRows is what the script asks for: all rows, or those with some IDs.
type inboxRows struct {
	Rows  []inboxRow             `json:"rows"`
	Notes map[string]server.Note `json:"notes"`
	Now   int64                  `json:"now"` // the server's clock, by which times are left
}

const (
	maxRowText = 200
	// maxPaneText is how much of a call the pane shows at first.
	maxPaneText = 6000
)

// rowOfRequest returns the row of a request. What does not depend on the person is worked out once.
func (c *console) rowOfRequest(r *approval.Request, p *server.Person) inboxRow {
	key := fmt.Sprintf("%s %d", r.ID, r.Version)
	c.mu.Lock()
	row, ok := c.made[key]
	c.mu.Unlock()
	if !ok {
		row = c.newRow(r)
		c.mu.Lock()
		if len(c.made) > 5000 {
			clear(c.made)
		}
		c.made[key] = row
		c.mu.Unlock()
	}
	row.May, row.Needs = c.v.May(r, p) == "", needs(r, p)
	return row
}

func (c *console) newRow(r *approval.Request) inboxRow {
	would := explain.Effects(explain.Analyze(&r.Call, c.world), &r.Call, c.world)
	row := inboxRow{ID: r.ID, Version: r.Version, Agent: short(r.Call.Agent), Session: short(r.Call.Session),
		Tool: short(r.Call.Tool), Text: shortTo(explain.TextOf(&r.Call), maxRowText), Group: r.Group,
		Created: r.Created.UnixMilli(), Expires: r.Expires.UnixMilli()}
	if len(r.Offers) > 0 {
		row.Offer = shortTo(r.Offers[0].Text, maxRowText)
	}
	if shown := effectsOf(would); len(shown) > 0 {
		row.Risk, row.Kind, row.Worst = shown[0].Level, shown[0].Kind, shortTo(shown[0].Words, 80)
	}
	if r.Safety || len(explain.HiddenOf(explain.Analyze(&r.Call, c.world))) > 0 {
		row.Risk = "high"
	}
	return row
}

// rowsFor returns the rows of requests that wait: all, or those with some IDs.
func (c *console) rowsFor(r *http.Request) (*inboxRows, error) {
	me := server.PersonOf(r.Context())
	out := &inboxRows{Rows: []inboxRow{}, Now: time.Now().UnixMilli()}
	var err error
	if out.Notes, err = c.v.Notes(r.Context()); err != nil {
		return nil, err
	}
	if ids := r.URL.Query()["id"]; len(ids) > 0 {
		for _, id := range ids[:min(len(ids), 100)] {
			one, err := c.v.Request(r.Context(), id)
			if err == nil && one.State == approval.Pending {
				out.Rows = append(out.Rows, c.rowOfRequest(one, me))
			} else if err != nil && !errors.Is(err, approval.ErrNotFound) {
				return nil, err
			}
		}
		return out, nil
	}
	pending, _, err := c.v.Requests(r.Context(), approval.Query{State: approval.Pending})
	for _, one := range pending {
		out.Rows = append(out.Rows, c.rowOfRequest(one, me))
	}
	return out, err
}

// inboxPage is the list of requests. Without the script it is a list of links.
type inboxPage struct {
	frame
	Rows []inboxRow
}

func (c *console) inbox(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "inbox", "Inbox")
	if err != nil {
		return err
	}
	list, err := c.rowsFor(r)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "inbox", "frame", &inboxPage{f, list.Rows[:min(len(list.Rows), 40)]})
}

// rowsJSON is the list for the script.
func (c *console) rowsJSON(w http.ResponseWriter, r *http.Request) error {
	list, err := c.rowsFor(r)
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may be gone
	return nil
}

// A pane shows one request whole.
type pane struct {
	Request         *approval.Request
	Row             inboxRow
	Who, Where, Why string
	Text            string
	Call, Rest      []piece // Rest is shown on demand
	Diff            []diffLine
	Effects         []shownEffect
	Hidden          []string
	Forever         []string
	Try             string
	MayTry          bool // here, by a button
	Wants           []wanted
	Offers          []shownOffer
	MayNot          string // why the person cannot answer
	Note            server.Note
	Editable        bool
	CSRF            string
}

// wanted is a sentence of the agent about why it makes the call.
type wanted struct{ What, Text string }

// A shownOffer is a rule that would settle calls like this one.
type shownOffer struct {
	N                                  int
	Text, Pattern, File, NoFile, Width string
	Also                               []string
}

// wantsOf returns what the agent says about a call: the description that Claude Code sends with a command, the
// justification of Codex, a plan.
func wantsOf(call *obstat.Call) (out []wanted) {
	var input map[string]json.RawMessage
	_ = json.Unmarshal(call.Input, &input) // without fields there is no word of the agent
	for _, field := range [][2]string{{"description", "says what it does"}, {"justification", "gives the reason"},
		{"explanation", "explains it"}, {"reason", "gives the reason"}, {"intent", "wants"}, {"thought", "thinks"},
		{"plan", "plans"}} {
		var text string
		if json.Unmarshal(input[field[0]], &text) == nil && strings.TrimSpace(text) != "" {
			out = append(out, wanted{field[1], clip(text, 1200)})
		}
	}
	for _, beside := range [][2]string{{"message", "said last"}, {"plan", "plans"}, {"goal", "is to reach"}} {
		if text := call.Circumstances[beside[0]]; strings.TrimSpace(text) != "" {
			out = append(out, wanted{beside[1], clip(text, 1200)})
		}
	}
	return out
}

// clip bounds a text of several lines.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + " …"
	}
	return text
}

// paneOf shows a request to a person.
func (c *console) paneOf(ctx context.Context, r *approval.Request, p *server.Person) (*pane, error) {
	// Where agents run elsewhere, a path of theirs is another file here, and a person who
	// answers a request to write /tls/tls.key must not read the server's.
	now := unread
	if c.v.Local() {
		now = display.FileNow
	}
	notes, err := c.v.Notes(ctx)
	if err != nil {
		return nil, err
	}
	text := explain.TextOf(&r.Call)
	a := explain.Analyze(&r.Call, c.world)
	would := explain.Effects(a, &r.Call, c.world)
	k := &pane{Request: r, Row: c.rowOfRequest(r, p), Who: whoOf(&r.Call), Where: whereOf(r.Pos),
		Why: display.Why(r.Reason, r.Rule, r.Pos), Text: text, Diff: diffOf(&r.Call, now), Effects: effectsOf(would),
		Wants: wantsOf(&r.Call), MayNot: c.v.May(r, p), Note: notes[r.ID], CSRF: p.CSRF}
	if k.Why == "on "+r.Part && strings.Contains(text, r.Part) {
		k.Why = "" // the call has it marked
	}
	k.Call, k.Rest = split(mark(text, r.Part, risky(would)...), maxPaneText)
	for _, h := range explain.HiddenOf(a) {
		k.Hidden = append(k.Hidden, h.Why)
	}
	if k.Forever = explain.Forever(a); c.unseen(r, a) != "" {
		k.Try, k.MayTry = explain.ToTry(&r.Call, a), c.v.MayTry(p)
	}
	_, err = explain.WithText(&r.Call, text)
	k.Editable = err == nil && lines(text) == text && len(text) < maxPaneText // a field would hide invisible characters
	for i := range r.Offers {
		k.Offers = append(k.Offers, offerOf(i+1, &r.Offers[i]))
	}
	return k, nil
}

// split cuts pieces of a text in two, the first with n bytes at most.
func split(all []piece, n int) (first, rest []piece) {
	for i, p := range all {
		if len(p.Text) > n {
			cut := ledger.ClipTo(p.Text, n)
			cut = strings.TrimSuffix(cut, "…")
			if !strings.HasPrefix(p.Text, cut) {
				cut = ""
			}
			first = append(first, piece{cut, p.Class})
			return first, append([]piece{{p.Text[len(cut):], p.Class}}, all[i+1:]...)
		}
		n -= len(p.Text)
		first = append(first, p)
	}
	return first, nil
}

func offerOf(n int, o *approval.Offer) shownOffer {
	out := shownOffer{N: n, Text: o.Text, File: o.File, NoFile: o.NoFile, Also: o.Also, Width: widthOf(o)}
	for _, and := range o.And {
		out.Text += " and " + and.Text
	}
	if rule, err := obstat.ParseRule(o.Rule); err == nil && !rule.Whole() && len(o.And) == 0 &&
		display.Visible(rule.Pattern.Text) == rule.Pattern.Text {
		out.Pattern = rule.Pattern.Text
	}
	return out
}

// widthOf says in words how much a rule lets through: exactly this, all that begins like it, or a whole tool.
func widthOf(o *approval.Offer) string {
	rule, err := obstat.ParseRule(o.Rule)
	if err != nil {
		return ""
	}
	text := rule.Pattern.Text
	fixed, _, open := strings.Cut(text, "*")
	fixed = strings.TrimRight(fixed, " :")
	words := ""
	switch {
	case rule.Whole():
		words = "everything that this tool can do"
	case !open:
		words = "exactly this, and nothing else"
	case fixed == "":
		words = "anything at all"
	case strings.HasSuffix(fixed, "/"):
		words = "every file below " + fixed
	default:
		words = "all that begins with “" + fixed + "”, whatever follows"
	}
	if len(o.And) > 0 {
		words += fmt.Sprintf(", and %d more rules", len(o.And))
	}
	return words + ", in every session, for every agent under this policy"
}

// needs says which other people have to agree.
func needs(r *approval.Request, p *server.Person) string {
	var parts []string
	if n := max(r.Who.Needed, len(r.Who.Each)); n > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d have approved", len(r.Answers), n))
	}
	for _, a := range r.Answers {
		parts = append(parts, "approved by "+a.By)
	}
	if len(r.Who.Roles) > 0 {
		parts = append(parts, "takes the role "+strings.Join(r.Who.Roles, " or "))
	}
	if len(r.Who.Each) > 0 {
		parts = append(parts, "takes one of each of "+strings.Join(r.Who.Each, ", "))
	}
	if r.Who.Logins() && p.Login == "" {
		parts = append(parts, "log in anew to approve it: it takes a person who is logged in")
	}
	if r.Who.NotCaller && r.Call.User == p.Name {
		parts = append(parts, "somebody other than you has to answer")
	}
	return strings.Join(parts, " · ")
}

// requestPage is one request, whatever became of it: a link from a chat or a mail leads here.
type requestPage struct {
	frame
	Pane    *pane
	Request *approval.Request
}

func (c *console) request(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "inbox", "Request")
	if err != nil {
		return err
	}
	one, err := c.v.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	p := &requestPage{frame: f, Request: one}
	if one.State == approval.Pending {
		if p.Pane, err = c.paneOf(r.Context(), one, f.Me); err != nil {
			return err
		}
	}
	return c.render(w, http.StatusOK, "request", "frame", p)
}

// pane is one request for the script, without the frame.
func (c *console) pane(w http.ResponseWriter, r *http.Request) error {
	one, err := c.v.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if one.State != approval.Pending {
		return c.render(w, http.StatusOK, "request", "ended", &requestPage{Request: one})
	}
	p, err := c.paneOf(r.Context(), one, server.PersonOf(r.Context()))
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "request", "pane", p)
}

// taken is what the script hears of an answer: when it is sent, or that it is.
type taken struct {
	Until  int64             `json:"until,omitempty"`  // milliseconds since 1970
	Failed map[string]string `json:"failed,omitempty"` // why, by request
}

// answer takes a person's answer to one request. The script's simple answers can be taken back for some seconds; one
// that changes the policy, or the call, is sent at once.
func (c *console) answer(w http.ResponseWriter, r *http.Request) error {
	one, err := c.v.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	a, err := answerOf(r, one)
	if err != nil {
		return err
	}
	me := server.PersonOf(r.Context())
	if do := r.PostFormValue("do"); scripted(r) && (do == "once" || do == "session" || do == "deny") {
		until, err := c.v.AnswerLater(r.Context(), me, one.ID, a)
		if err != nil {
			return err
		}
		out := taken{}
		if !until.IsZero() {
			out.Until = until.UnixMilli()
		}
		return writeJSON(w, out)
	}
	if _, err := c.v.Answer(r.Context(), me, one.ID, a); err != nil {
		return err
	}
	if scripted(r) {
		return writeJSON(w, taken{})
	}
	return done(w, r, "/?said=answered")
}

// change does something with a person's answer or look that is not an answer.
func (c *console) change(do func(*server.Person, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := do(server.PersonOf(r.Context()), r); err != nil {
			return err
		}
		return done(w, r, "/")
	}
}

func (c *console) takeBack(p *server.Person, r *http.Request) error {
	return each(r, func(id string) error { return c.v.TakeBack(r.Context(), p, id) })
}

func (c *console) sendNow(p *server.Person, r *http.Request) error {
	return each(r, func(id string) error { return c.v.SendNow(r.Context(), p, id) })
}

func (c *console) look(p *server.Person, r *http.Request) error {
	return c.v.Look(r.Context(), p, r.PathValue("id"), r.PostFormValue("off") == "")
}

// each does something with every ID of a form, and returns the first error.
func each(r *http.Request, do func(id string) error) (first error) {
	if err := r.ParseForm(); err != nil {
		return wrong("the form cannot be read: %v", err)
	}
	for _, id := range r.PostForm["id"] {
		if err := do(id); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// answerGroup takes a person's answer to several requests.
func (c *console) answerGroup(w http.ResponseWriter, r *http.Request) error {
	a, err := answerWith(r)
	if err != nil {
		return err
	}
	do := r.PostFormValue("do")
	switch do {
	case "once":
	case "session":
		a.Scope = approval.Session
	case "halfhour":
		a.Scope, a.Offer, a.For = approval.Session, 1, 1800
	case "deny":
		a.Allow, a.Scope = false, ""
	default:
		return wrong("say what the answer is: once, session, halfhour or deny")
	}
	if do != "halfhour" && scripted(r) {
		return c.answerSeveral(w, r, a)
	}
	results, err := c.v.AnswerGroup(r.Context(), server.PersonOf(r.Context()), r.PostForm["id"], a)
	if err != nil {
		return err
	}
	for _, one := range results {
		if one.Error != "" {
			return &client.Problem{Type: "partly", Title: "not all could be answered", Detail: one.Error,
				Status: http.StatusConflict}
		}
	}
	if scripted(r) {
		return writeJSON(w, taken{})
	}
	return done(w, r, "/?said=answered")
}

// answerSeveral takes one answer to several requests, which can be taken back together. Those that could not be
// answered are told apart.
func (c *console) answerSeveral(w http.ResponseWriter, r *http.Request, a client.Answer) error {
	ids := r.PostForm["id"]
	if len(ids) == 0 || len(ids) > 1000 {
		return wrong("between one and a thousand requests are answered at once")
	}
	out := taken{Failed: map[string]string{}}
	for _, id := range ids {
		until, err := c.v.AnswerLater(r.Context(), server.PersonOf(r.Context()), id, a)
		if err != nil {
			out.Failed[id] = sentence(server.ProblemOf(err))
		} else if !until.IsZero() {
			out.Until = max(out.Until, until.UnixMilli())
		}
	}
	return writeJSON(w, out)
}

// maxWords bounds a person's words, as the field does.
const maxWords = 2000

// answerWith returns an approval for once with a person's words, which answers begin as.
func answerWith(r *http.Request) (client.Answer, error) {
	a := client.Answer{Allow: true, Scope: approval.Once, Words: r.PostFormValue("words")}
	if len([]rune(a.Words)) > maxWords {
		return a, wrong("the words have more than %d characters", maxWords)
	}
	return a, nil
}

// answerOf reads the form of a card.
func answerOf(r *http.Request, one *approval.Request) (a client.Answer, err error) {
	if a, err = answerWith(r); err != nil {
		return a, err
	}
	switch r.PostFormValue("do") {
	case "once":
	case "deny":
		a.Allow, a.Scope = false, ""
	case "session":
		a.Scope = approval.Session
	case "always":
		a.Scope = approval.Always
		err = ruleOf(r, one, &a)
	case "sessionrule":
		a.Scope = approval.Session
		err = ruleOf(r, one, &a)
	case "edit":
		if a.Input, err = explain.WithText(&one.Call, strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n")); err != nil {
			err = wrong("the call cannot be changed like that: %v", err)
		}
	default:
		err = wrong("say what the answer is: once, session, always, edit or deny, not %q", r.PostFormValue("do"))
	}
	return a, err
}

// ruleOf reads which offer was taken, and with which pattern.
func ruleOf(r *http.Request, one *approval.Request, a *client.Answer) error {
	i, err := strconv.Atoi(r.PostFormValue("offer"))
	if err != nil || i < 1 || i > len(one.Offers) {
		return wrong("say which of the %d offers is taken", len(one.Offers))
	}
	o := &one.Offers[i-1]
	a.Offer = i
	was := offerOf(i, o).Pattern
	if text := r.PostFormValue(fmt.Sprintf("pattern%d", i)); was != "" && text != was {
		rule, err := o.WithPattern(text)
		if err != nil {
			return wrong("the rule cannot be changed like that: %v", err)
		}
		a.Rule = rule
	}
	return nil
}

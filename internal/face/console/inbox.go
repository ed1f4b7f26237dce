package console

import (
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
)

// A card is a request that waits, as people see it.
type card struct {
	ID, Tool, Who, Why, Rule, Where, Needs, CSRF, Text, Label string
	Version                                                   int
	Expires                                                   time.Time
	Call                                                      []piece
	Diff                                                      []diffLine
	Effects                                                   []shownEffect
	Hidden                                                    []string
	Offers                                                    []shownOffer
	Risky, Editable                                           bool
	Group                                                     *group // above the first card of several
}

// A shownOffer is a rule that would settle calls like this one.
type shownOffer struct {
	N                           int
	Text, Pattern, File, NoFile string
	Also                        []string
}

// A group is requests that one answer would suit.
type group struct {
	ID, Offer, Version string
	IDs                []string
	N                  int
}

// inboxPage is the list of requests.
type inboxPage struct {
	frame
	Cards []card
}

func (c *console) list(r *http.Request) (*inboxPage, error) {
	f, err := c.frame(r, "inbox", "Inbox")
	if err != nil {
		return nil, err
	}
	pending, _, err := c.v.Requests(r.Context(), approval.Query{State: approval.Pending})
	p := &inboxPage{frame: f}
	for _, one := range grouped(pending) {
		for i, r := range one {
			k := c.card(r, f.Me)
			if i == 0 && len(one) > 1 {
				k.Group = groupOf(one)
			}
			p.Cards = append(p.Cards, k)
		}
	}
	return p, err
}

// grouped puts similar requests together, at the place of the oldest.
func grouped(pending []*approval.Request) (out [][]*approval.Request) {
	at := map[string]int{}
	for _, r := range pending {
		if i, ok := at[r.Group]; ok && r.Group != "" {
			out[i] = append(out[i], r)
			continue
		}
		at[r.Group] = len(out)
		out = append(out, []*approval.Request{r})
	}
	return out
}

func groupOf(rs []*approval.Request) *group {
	g := &group{ID: rs[0].Group, N: len(rs)}
	if len(rs[0].Offers) > 0 {
		g.Offer = rs[0].Offers[0].Text
	}
	for _, r := range rs {
		g.IDs = append(g.IDs, r.ID)
	}
	g.Version = strings.Join(g.IDs, " ")
	return g
}

// card shows a request to a person.
func (c *console) card(r *approval.Request, p *server.Person) card {
	// Where agents run elsewhere, a path of theirs is another file here, and a person who
	// answers a request to write /tls/tls.key must not read the server's.
	now := unread
	if c.v.Local() {
		now = display.FileNow
	}
	text := explain.TextOf(&r.Call)
	a := explain.Analyze(&r.Call, c.world)
	would := explain.Effects(a, &r.Call, c.world)
	k := card{ID: r.ID, Tool: r.Call.Tool, Who: whoOf(&r.Call), Why: display.Why(r.Reason, r.Rule, r.Pos), Rule: r.Rule, Where: whereOf(r.Pos),
		Needs: needs(r, p), CSRF: p.CSRF, Text: text,
		Label: r.Call.Tool + " waits for an answer: " +
			short(text), Version: r.Version, Expires: r.Expires, Call: mark(text, r.Part,
			risky(would)...), Diff: diffOf(&r.Call, now),
		Effects: effectsOf(would), Risky: r.Safety}
	for _, h := range explain.HiddenOf(a) {
		k.Hidden = append(k.Hidden, h.Why)
	}
	k.Risky = k.Risky || len(k.Hidden) > 0 || len(k.Effects) > 0 && k.Effects[0].Level == "high"
	_, err := explain.WithText(&r.Call, text)
	k.Editable = err == nil && lines(text) == text // a field would hide invisible characters
	for i := range r.Offers {
		k.Offers = append(k.Offers, offerOf(i+1, &r.Offers[i]))
	}
	return k
}

func offerOf(n int, o *approval.Offer) shownOffer {
	out := shownOffer{N: n, Text: o.Text, File: o.File, NoFile: o.NoFile, Also: o.Also}
	for _, and := range o.And {
		out.Text += " and " + and.Text
	}
	if rule, err := obstat.ParseRule(o.Rule); err == nil && !rule.Whole() && len(o.And) == 0 &&
		display.Visible(rule.Pattern.Text) == rule.Pattern.Text {
		out.Pattern = rule.Pattern.Text
	}
	return out
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

func (c *console) inbox(w http.ResponseWriter, r *http.Request) error {
	p, err := c.list(r)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "inbox", "frame", p)
}

// cards is the list alone, for the script.
func (c *console) cards(w http.ResponseWriter, r *http.Request) error {
	p, err := c.list(r)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "inbox", "cards", p)
}

// requestPage is one request, whatever became of it.
type requestPage struct {
	frame
	Card    *card
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
		k := c.card(one, f.Me)
		p.Card = &k
	}
	return c.render(w, http.StatusOK, "request", "frame", p)
}

// answer takes a person's answer to one request.
func (c *console) answer(w http.ResponseWriter, r *http.Request) error {
	one, err := c.v.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	a, err := answerOf(r, one)
	if err != nil {
		return err
	}
	if _, err := c.v.Answer(r.Context(), server.PersonOf(r.Context()), one.ID, a); err != nil {
		return err
	}
	return done(w, r, "/?said=answered")
}

// answerOf reads the form of a card.
func answerOf(r *http.Request, one *approval.Request) (a client.Answer, err error) {
	a = client.Answer{Allow: true, Scope: approval.Once, Words: r.PostFormValue("words")}
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

// answerGroup takes a person's answer to similar requests.
func (c *console) answerGroup(w http.ResponseWriter, r *http.Request) error {
	a := client.Answer{Allow: true, Scope: approval.Once}
	switch r.PostFormValue("do") {
	case "once":
	case "halfhour":
		a.Scope, a.Offer, a.For = approval.Session, 1, 1800
	case "deny":
		a.Allow, a.Scope = false, ""
	default:
		return wrong("say what the answer is: once, halfhour or deny")
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
	return done(w, r, "/?said=answered")
}

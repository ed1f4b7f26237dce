package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A question is a call that a person has to answer for.
type question struct {
	frame *frame
	asked *asked
	call  *obstat.Call
	gate  *gate.Gate
	id    string // of the request
	d     *obstat.Decision
	req   *approval.Request
	// closed: the client has closed its form without an answer, and no terminal or console is
	// attended; behind the session's lock.
	closed bool
	doubt  string // see [gate.Terms]
}

// askPerson has a person asked: through the client where that can show a form, and
// in any case by `obstat ask` or the console. The store is the authority: the first
// answer there counts, wherever it came from.
func (s *session) askPerson(ctx context.Context, q *question, forms bool) error {
	if forms && s.metaOf(q.frame).modern() {
		return s.inputRequired(q)
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	open := s.asked[q.frame.id] == q.asked
	q.asked.cancel = cancel
	s.mu.Unlock()
	if !open {
		cancel()
		return nil
	}
	go func() {
		defer cancel()
		if forms {
			go s.elicit(ctx, q)
		}
		s.hold(ctx, q, forms)
	}()
	return nil
}

// hold keeps a call waiting until its request is answered, or for as long as the
// client can be expected to wait. The request stays: a client that makes the same
// call again takes it up.
func (s *session) hold(ctx context.Context, q *question, forms bool) {
	limit := s.holds()
	if left := time.Until(q.req.Expires); left < limit {
		limit = left + time.Second // the broker says that it is over
	}
	waits, stop := context.WithTimeout(ctx, limit)
	defer stop()
	_, err := q.gate.Broker().Until(waits, q.id)
	s.mu.Lock()
	closed := q.closed
	s.mu.Unlock()
	switch {
	case closed:
		_ = s.notAnswered(q, closedWords)
		return
	case ctx.Err() != nil:
		if s.Piped || s.isWithdrawn(q.asked) { // else the client has gone, and may come back
			_, _ = q.gate.Broker().Withdraw(q.id)
		}
		return
	case err != nil && waits.Err() != nil:
		q.gate.Broker().Leave(q.id) // the agent hears that it waits
		s.leftOpen(forms)
		_ = s.notAnswered(q, fmt.Sprintf("no person has answered yet; the request %s waits until %s, and the same call takes up its answer",
			q.id, q.req.Expires.Format(time.TimeOnly)))
		return
	case err != nil:
		_ = s.notAnswered(q, "nobody could be asked: "+err.Error())
		return
	}
	d, err := q.gate.Resume(ctx, q.id, &gate.Terms{Doubt: q.doubt})
	_ = s.settle(q.frame, q.asked, q.call, &d, err)
}

// silentHold is how long a call waits in a client that declares forms and has left one unanswered: it may show none.
const silentHold = 5 * time.Second

// holds returns how long a call may wait for a person.
func (s *session) holds() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := cmp.Or(s.Hold, defaultHold)
	if s.silent && !s.attended() {
		limit = min(limit, silentHold)
	}
	return limit
}

// leftOpen remembers that a form went without an answer for as long as a call waits.
func (s *session) leftOpen(forms bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = s.silent || forms
}

func (s *session) isWithdrawn(a *asked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.withdrawn
}

// elicit shows the question in the client, by the form of the revisions before
// 2026-07-28, and takes its answer.
func (s *session) elicit(ctx context.Context, q *question) {
	id := jsonx.Quote("obstat-" + approval.NewID(""))
	ch := s.ask(s.forms, id)
	defer func() {
		s.mu.Lock()
		delete(s.forms, id)
		s.mu.Unlock()
	}()
	shown := time.Now()
	err := s.toClient(q.frame.id, message("id", idValue(id), "method", "elicitation/create", "params", s.form(q)))
	if err != nil {
		return
	}
	select {
	case f := <-ch:
		if f == nil {
			return // the session ends
		}
		taken := false
		if !f.result.none() { // else an error, such as "method not found" of a client that declares forms and has none
			root, problems := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true, Fold: 2})
			taken = s.take(ctx, q.gate, q.req, root, tree.Fatal(problems), s.metaOf(q.frame), shown)
		}
		s.mu.Lock()
		s.silent = s.silent && !taken
		s.mu.Unlock()
		if !taken && !s.attended() {
			s.mu.Lock()
			q.closed = true
			s.mu.Unlock()
			_, _ = q.gate.Broker().Withdraw(q.id)
		}
	case <-ctx.Done(): // answered elsewhere, or withdrawn
		_ = s.toClient(q.frame.id, notify("notifications/cancelled",
			obj("requestId", idValue(id), "reason", "it was answered elsewhere")))
	}
}

// notAnswered refuses a call that needs an answer and has none.
func (s *session) notAnswered(q *question, note string) error {
	d := q.d.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: note})
	return s.settle(q.frame, q.asked, q.call, &d, nil)
}

// closedWords are for a form that was closed: an unattended program does that.
const closedWords = "this call needs a person's approval; no person has refused it, but the client closed the question without an answer"

// attended reports whether a person may answer elsewhere.
func (g *Guard) attended() bool { return g.Attended != nil && g.Attended() }

// take hands the answer that a client's form has got to the broker, and tells whether there
// was one. A form that cannot be read, or was closed, is no answer, nor is one that was declined before
// anybody can have read it.
func (s *session) take(ctx context.Context, g *gate.Gate, r *approval.Request, result *tree.Node, broken bool,
	m *meta, shown time.Time) bool {
	action, content := result.Get("action"), result.Get("content")
	if action.Is(tree.String) && action.Str == "decline" && time.Since(shown) < cmp.Or(s.Quickest, quickest) {
		return false
	}
	if broken || !action.Is(tree.String) || action.Str != "accept" && action.Str != "decline" {
		return false
	}
	a := approval.Answer{By: cmp.Or(s.user, "the user") + " in " + cmp.Or(visible(m.client), "the client"),
		Time: time.Now()}
	if w := content.Get("words"); w.Is(tree.String) {
		a.Words = w.Str
	}
	said := content.Get("answer")
	if action.Str == "accept" && said.Is(tree.String) {
		var n int
		switch _, err := fmt.Sscanf(said.Str, "always %d", &n); {
		case said.Str == answerOnce:
			a.Allow, a.Scope = true, approval.Once
		case said.Str == answerSession:
			a.Allow, a.Scope = true, approval.Session
		case err == nil && n > 0 && n <= len(r.Offers):
			a.Allow, a.Scope, a.Offer = true, approval.Always, n
		}
	}
	if _, err := g.Broker().Answer(ctx, r.ID, a); err != nil {
		s.log("an answer did not count: " + err.Error())
	}
	return true
}

// The answers of the form.
const (
	answerOnce    = "once"
	answerSession = "session"
	answerNo      = "no"
)

// form returns the parameters of an elicitation.
func (s *session) form(q *question) jsonx.Object {
	choices := []any{answerOnce, answerSession}
	names := []any{"Yes, this once", "Yes, for this session"}
	for i := range q.req.Offers[:min(3, len(q.req.Offers))] {
		choices = append(choices, fmt.Sprintf("always %d", i+1))
		names = append(names, "Always: "+visible(q.req.Offers[i].Text))
	}
	choices, names = append(choices, answerNo), append(names, "No")
	return obj("message", s.questionText(q),
		"requestedSchema", obj("type", "object", "properties", obj(
			"answer", obj("type", "string", "title", "May it run?", "enum", choices, "enumNames", names),
			"words", obj("type", "string", "title", "Words for the model", "description",
				"what the model is told, if anything")),
			"required", []any{"answer"}))
}

// maxShown bounds how much of the arguments a form shows.
const maxShown = 2000

// questionText describes the call, the reason to ask, and its effects.
func (s *session) questionText(q *question) string {
	args := visible(string(q.call.Input))
	if len(args) > maxShown {
		args = clean(args[:maxShown]) + fmt.Sprintf("… (%d bytes; `obstat ask` shows all)", len(q.call.Input))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s wants to call %s\n%s\nwhy: %s", cmp.Or(q.call.Agent, "The agent"), q.call.Tool, args,
		visible(q.req.Reason))
	for i, e := range q.req.Effects {
		if i == 5 {
			break
		}
		fmt.Fprintf(&b, "\nwould: %s %s", e.Kind, visible(cmp.Or(e.Target, e.Detail)))
	}
	return clean(b.String())
}

// inputRequired answers a call with the question, as the revisions since 2026-07-28
// have it: the client repeats the call with the person's answer and the sealed state.
func (s *session) inputRequired(q *question) error {
	state, err := s.seal(q)
	if err != nil {
		return s.notAnswered(q, "nobody could be asked: "+err.Error())
	}
	s.close(q.frame.id)
	form := append(obj("mode", "form"), s.form(q)...)
	ask := obj(inputKey, obj("method", "elicitation/create", "params", form))
	return s.toClient(q.frame.id, reply(q.frame.id,
		obj("resultType", "input_required", "inputRequests", ask, "requestState", state)))
}

// inputKey is the key of the gateway's question among a result's inputRequests.
const inputKey = "obstat"

// answeredCall takes up a call that comes back with the state of its question.
func (s *session) answeredCall(ctx context.Context, q *question, st *sealed) error {
	f, a, c, g := q.frame, q.asked, q.call, q.gate
	q.d = &obstat.Decision{Tool: c.Tool, Note: "this call needs a person's approval; no person has refused it, but "}
	if why := s.fits(st, c); why != "" {
		return s.notAnswered(q, why)
	}
	store, err := s.requests(ctx)
	var r *approval.Request
	if err == nil {
		r, err = store.Request(ctx, st.Request)
	}
	if err != nil {
		return s.notAnswered(q, "its request cannot be looked up: "+err.Error())
	}
	root, problems := jsonx.Parse(f.responses.in(f.raw), jsonx.Options{NUL: true, Fold: 3})
	form := root.Get(inputKey)
	taken := s.take(ctx, g, r, form, tree.Fatal(problems), s.metaOf(f), r.Created)
	if !taken && form != nil && !s.attended() {
		_, _ = g.Broker().Withdraw(r.ID)
		q.d = &obstat.Decision{Tool: c.Tool}
		return s.notAnswered(q, closedWords)
	}
	if r, err = store.Request(ctx, st.Request); err == nil && r.State == approval.Pending {
		q.id, q.req = r.ID, r
		return s.askPerson(ctx, q, form == nil) // a form that was closed is not shown again
	}
	decided, err := g.Resume(ctx, st.Request, &gate.Terms{Doubt: q.doubt})
	return s.settle(f, a, c, &decided, err)
}

// requests returns the store that requests are kept in.
func (g *Guard) requests(ctx context.Context) (approval.Store, error) {
	if g.Store == nil {
		return nil, fmt.Errorf("there is no store")
	}
	return g.Store(ctx)
}

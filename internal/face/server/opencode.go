package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/opencode"
)

// opencodeRoutes are the routes of [opencode.NewHandler], for people.
func opencodeRoutes() []route {
	type reply struct {
		Reply   opencode.Reply `json:"reply"`
		Message string         `json:"message,omitempty"`
	}
	type response struct {
		Response opencode.Reply `json:"response"`
	}
	out := []route{
		face[none, []opencode.Request]("GET", "/permission", "opencode: list the requests that wait"),
		face[none, none]("GET", "/event", "opencode: stream the requests that are put and answered"),
		face[reply, bool]("POST", "/permission/{id}/reply", "opencode: answer a request"),
		face[response, bool]("POST", "/session/{session}/permissions/{id}",
			"opencode: answer a request of a session, the older form"),
	}
	for i := range out {
		out[i].who, out[i].query, out[i].serve = people, []string{"directory"}, (*Server).serveOpencode
		out[i].strict, out[i].tagged = true, true
	}
	out[1].kind = eventStream
	return out
}

// serveOpencode serves opencode's clients. Streams of events count as those of /v1/events do.
func (s *Server) serveOpencode(w http.ResponseWriter, r *http.Request, c *caller) {
	if r.URL.Path == "/event" {
		leave, ok := s.enter(w, c)
		if !ok {
			return
		}
		defer leave()
	}
	s.opencode.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, c.person)))
}

// A board shows opencode's clients all requests of the server, whichever agent put them.
type board struct {
	*Service
	events  opencode.Events
	handler http.Handler
}

func newBoard(v *Service) *board {
	b := &board{Service: v}
	b.handler = opencode.NewHandler(b, &opencode.HandlerOptions{Fail: v.s.fail})
	return b
}

// request tells clients that a request was put or answered.
func (b *board) request(r *approval.Request) {
	if e, ok := opencode.EventOf(r, b.permissionOf(r)); ok {
		b.events.Publish(e)
	}
}

// Subscribe returns a subscription to requests and replies.
func (b *board) Subscribe() *opencode.Subscription { return b.events.Subscribe() }

// Listed returns the requests that wait.
func (b *board) Listed(ctx context.Context, directory string) (out []opencode.Request, err error) {
	pending, err := b.s.store.Requests(ctx, approval.Query{State: approval.Pending})
	for _, p := range pending {
		if directory == "" || directory == p.Call.Dir {
			out = append(out, b.permissionOf(p))
		}
	}
	return out, err
}

// permissionOf returns a request as opencode's clients know it.
func (b *board) permissionOf(p *approval.Request) opencode.Request {
	l := &dialect.Loaded{}
	if f, _ := b.s.shelf.InForce(&p.Call); f != nil && f.Main() != nil {
		l = f.Main().Loaded
	}
	return opencode.Show(l, p, b.s.opts.World)
}

// Answer takes a person's reply as an instance of opencode does: a rejection takes the session's other requests
// along, and "always" holds for the workspace and answers those of the session that it covers.
func (b *board) Answer(ctx context.Context, to opencode.Target, reply opencode.Reply, message string) error {
	if err := reply.Check(); err != nil {
		return bad(err.Error())
	}
	if len(message) > maxWords {
		return bad(fmt.Sprintf("message has %d bytes; %d are taken", len(message), maxWords))
	}
	missing := &opencode.NotFoundError{RequestID: to.ID}
	r, err := b.asked(ctx, to)
	switch {
	case errors.Is(err, approval.ErrNotFound):
		return missing
	case err != nil:
		return err
	}
	a := client.Answer{Allow: reply != opencode.Reject, Words: message, All: reply == opencode.Reject}
	if reply == opencode.Always {
		a.Words, a.Scope = string(opencode.Always), approval.Session
		if len(r.Offers) > 0 {
			a.Scope, a.Offer = approval.Workspace, 1
		}
	}
	_, err = b.Service.Answer(ctx, PersonOf(ctx), r.ID, a)
	if a.Offer > 0 && (errors.Is(err, approval.ErrBad) || errors.Is(err, approval.ErrBroader)) {
		a.Scope, a.Offer = "", 0 // a pattern that would not settle this request is not remembered
		_, err = b.Service.Answer(ctx, PersonOf(ctx), r.ID, a)
	}
	switch {
	case errors.Is(err, approval.ErrSettled):
		return missing
	case err == nil && a.Scope != "":
		return b.cover(ctx, r)
	}
	return err
}

// asked returns the request that a target names, by the server's identifier or the one that clients are shown.
func (b *board) asked(ctx context.Context, to opencode.Target) (*approval.Request, error) {
	r, err := b.s.store.Request(ctx, to.ID)
	if own, shown := strings.CutPrefix(to.ID, opencode.ShownID("")); shown && errors.Is(err, approval.ErrNotFound) {
		r, err = b.s.store.Request(ctx, "req_"+own)
	}
	if err != nil {
		return nil, err
	}
	if to.Session != "" && r.Call.Session != to.Session || to.Directory != "" && r.Call.Dir != to.Directory {
		return nil, approval.ErrNotFound
	}
	return r, nil
}

// cover answers those requests of a session that an "always" has granted, as far as the person may answer them.
func (b *board) cover(ctx context.Context, to *approval.Request) error {
	pending, err := b.s.store.Requests(ctx, approval.Query{State: approval.Pending})
	if err != nil || to.Call.Session == "" {
		return err
	}
	for _, r := range pending {
		if r.Call.Session != to.Call.Session {
			continue
		}
		if now, _ := b.s.gate.Authorize(ctx, &r.Call, &gate.Terms{Ask: gate.Try}); now.Grant == nil {
			continue
		}
		_, err := b.Service.Answer(ctx, PersonOf(ctx), r.ID, client.Answer{Allow: true, Words: string(opencode.Always)})
		if err != nil && !errors.Is(err, approval.ErrSettled) && !errors.Is(err, approval.ErrNotYou) {
			return err
		}
	}
	return nil
}

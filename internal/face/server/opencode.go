package server

import (
	"context"
	"net/http"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
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
	}
	out[1].kind = "text/event-stream"
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
	if e, ok := opencode.EventOf(r, permissionOf(r)); ok {
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
			out = append(out, permissionOf(p))
		}
	}
	return out, err
}

// permissionOf returns a request as opencode's clients know it.
func permissionOf(p *approval.Request) opencode.Request {
	out := opencode.Request{ID: p.ID, SessionID: p.Call.Session, Permission: p.Call.Tool, Patterns: p.Call.Subjects,
		Always: []string{}, Metadata: p.Call.Input}
	if len(out.Patterns) == 0 {
		out.Patterns = []string{p.About}
	}
	if len(p.Offers) > 0 {
		out.Always = append(out.Always, p.Offers[0].Text)
	}
	return out
}

// Answer takes a person's reply. "Always" takes the first offer, and is for the session where
// there is none.
func (b *board) Answer(ctx context.Context, to opencode.Target, reply opencode.Reply, message string) error {
	if err := reply.Check(); err != nil {
		return bad(err.Error())
	}
	r, err := b.s.store.Request(ctx, to.ID)
	if err == nil && to.Session != "" && r.Call.Session != to.Session {
		err = approval.ErrNotFound
	}
	if err != nil {
		return err
	}
	a := client.Answer{Allow: reply != opencode.Reject, Words: message}
	if reply == opencode.Always {
		if a.Scope = approval.Session; len(r.Offers) > 0 {
			a.Scope, a.Offer = approval.Always, 1
		}
	}
	_, err = b.Service.Answer(ctx, PersonOf(ctx), to.ID, a)
	return err
}

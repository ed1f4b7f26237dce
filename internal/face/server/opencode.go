package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
)

// opencode's own clients know requests as permissions: they list them and reply. Here
// these are the requests of the server, whichever agent put them; errors are problems as
// everywhere on the server.

// A permission is a request as opencode's clients know it.
type permission struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"sessionID"`
	Permission string          `json:"permission"`
	Patterns   []string        `json:"patterns"`
	Always     []string        `json:"always"`
	Metadata   json.RawMessage `json:"metadata"`
}

// A permissionReply is once, always or reject, and words for the model.
type permissionReply struct {
	Reply   string `json:"reply"`
	Message string `json:"message,omitempty"`
}

// A permissionResponse is the same in the older form.
type permissionResponse struct {
	Response string `json:"response"`
}

func opencodeRoutes() []route {
	return []route{
		op("GET", "/permission", "opencode: list the requests that wait", people, []string{"directory"}, listPermissions),
		raw("GET", "/event", "opencode: stream the requests that are put and answered", "text/event-stream", people, []string{"directory"}, (*Server).opencodeEvents),
		op("POST", "/permission/{id}/reply", "opencode: answer a request", people, []string{"directory"}, func(v *Service, ctx context.Context, r *request[permissionReply]) (bool, error) {
			return v.reply(ctx, r.person, "", r.PathValue("id"), r.body)
		}),
		op("POST", "/session/{session}/permissions/{id}", "opencode: answer a request of a session, the older form", people, []string{"directory"}, func(v *Service, ctx context.Context, r *request[permissionResponse]) (bool, error) {
			return v.reply(ctx, r.person, r.PathValue("session"), r.PathValue("id"), permissionReply{Reply: r.body.Response})
		}),
	}
}

func listPermissions(v *Service, ctx context.Context, r *request[none]) ([]permission, error) {
	pending, err := v.s.store.Requests(ctx, approval.Query{State: approval.Pending})
	out := []permission{}
	for _, p := range pending {
		if dir := r.URL.Query().Get("directory"); dir != "" && dir != p.Call.Dir {
			continue
		}
		out = append(out, permissionOf(p))
	}
	return out, err
}

func permissionOf(p *approval.Request) permission {
	out := permission{ID: p.ID, SessionID: p.Call.Session, Permission: p.Call.Tool, Patterns: p.Call.Subjects, Always: []string{}, Metadata: p.Call.Input}
	if len(out.Patterns) == 0 {
		out.Patterns = []string{p.About}
	}
	if len(p.Offers) > 0 {
		out.Always = append(out.Always, p.Offers[0].Text)
	}
	return out
}

// opencode is what opencode's clients are told of an event, and the directory that it is
// about.
type opencode struct {
	told []byte // nil: nothing
	dir  string
}

// opencodeEvent returns what opencode's clients are told of a request: that it waits, or
// how it was answered. What comes after an answer is none of theirs.
func opencodeEvent(r *approval.Request) opencode {
	said := map[approval.State]string{approval.Refused: "reject", approval.Expired: "reject", approval.Canceled: "reject", approval.Approved: "once"}[r.State]
	switch {
	case r.State == approval.Pending:
		return opencode{opencodeText("permission.asked", permissionOf(r)), r.Call.Dir}
	case said == "":
		return opencode{}
	case said == "once" && r.Agreed().Scope != approval.Once && r.Agreed().Scope != "":
		said = "always"
	}
	return opencode{opencodeText("permission.replied", object{"sessionID": r.Call.Session, "requestID": r.ID, "reply": said}), r.Call.Dir}
}

func opencodeText(kind string, about any) []byte {
	data, err := json.Marshal(object{"id": approval.NewID("evt_"), "type": kind, "properties": about})
	if err != nil {
		return nil // a request that was read from JSON can be written as JSON
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

// opencodeEvents streams requests and replies from now on. A client that cannot keep up is
// cut off, and lists anew what waits when it comes back.
func (s *Server) opencodeEvents(w http.ResponseWriter, r *http.Request, c *caller) {
	st, leave := s.stream(w, c)
	if st == nil {
		return
	}
	defer leave()
	s.hub.opencode.Add(1)
	defer s.hub.opencode.Add(-1)
	n, dir := s.hub.now(), r.URL.Query().Get("directory")
	st.form = func(f *frame) []byte {
		if dir != "" && dir != f.dir {
			return nil
		}
		return f.told
	}
	st.beat, st.reset = 10*time.Second, nil
	st.alive = func() []byte { return opencodeText("server.heartbeat", object{}) }
	st.begin(opencodeText("server.connected", object{}))
	st.flush()
	s.follow(r, st, n)
}

// reply answers a request; where a session is named it has to be the session's.
func (v *Service) reply(ctx context.Context, p *Person, session, id string, in permissionReply) (bool, error) {
	r, err := v.s.store.Request(ctx, id)
	if err == nil && session != "" && r.Call.Session != session {
		err = approval.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	a := client.Answer{Allow: true, Words: in.Message}
	switch in.Reply {
	case "once":
	case "always":
		if a.Scope = approval.Session; len(r.Offers) > 0 {
			a.Scope, a.Offer = approval.Always, 1
		}
	case "reject":
		a.Allow = false
	default:
		return false, bad("a reply is once, always or reject")
	}
	_, err = v.Answer(ctx, p, id, a)
	return err == nil, err
}

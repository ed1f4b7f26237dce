package server

import (
	"context"
	"encoding/json"

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
		one := permission{ID: p.ID, SessionID: p.Call.Session, Permission: p.Call.Tool, Patterns: p.Call.Subjects, Always: []string{}, Metadata: p.Call.Input}
		if len(one.Patterns) == 0 {
			one.Patterns = []string{p.About}
		}
		if len(p.Offers) > 0 {
			one.Always = append(one.Always, p.Offers[0].Text)
		}
		out = append(out, one)
	}
	return out, err
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

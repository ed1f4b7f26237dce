package console

import (
	"net/http"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

// grantsPage shows the approvals that hold for longer than a call.
type grantsPage struct {
	frame
	Grants []*approval.Grant
}

func (c *console) grants(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "grants", "Grants")
	if err != nil {
		return err
	}
	p := &grantsPage{frame: f}
	if p.Grants, err = c.v.Grants(r.Context()); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "grants", "frame", p)
}

func (c *console) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := c.v.Revoke(r.Context(), server.PersonOf(r.Context()), r.PathValue("id")); err != nil {
		return err
	}
	return done(w, r, "/grants?said=revoked")
}

// agentsPage shows which agents put calls to the gate.
type agentsPage struct {
	frame
	Agents []client.AgentSeen
	Logins []client.Session // of people; an admin sees and ends them
}

func (c *console) agents(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "agents", "Agents")
	if err != nil {
		return err
	}
	p := &agentsPage{frame: f}
	if p.Agents, err = c.v.Agents(r.Context()); err != nil {
		return err
	}
	if f.Admin() {
		if p.Logins, err = c.v.Sessions(r.Context()); err != nil {
			return err
		}
	}
	return c.render(w, http.StatusOK, "agents", "frame", p)
}

// endLogin ends a person's login: the next page that they open asks them to log in.
func (c *console) endLogin(w http.ResponseWriter, r *http.Request) error {
	me := server.PersonOf(r.Context())
	if err := admin(me); err != nil {
		return err
	}
	if err := c.v.EndSession(r.Context(), me, r.PathValue("id")); err != nil {
		return err
	}
	return done(w, r, "/agents?said=ended")
}

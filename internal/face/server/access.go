package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// The verdicts of records of kind [ledger.Access].
const (
	accessMade    = "made"    // a token, or a link that logs in
	accessRevoked = "revoked" // a token was taken back
	accessLogin   = "login"
	accessLogout  = "logout"
	accessEnded   = "ended" // a session's time was over
)

// access is the detail of a record of kind [ledger.Access].
type access struct {
	ID    string   `json:"id,omitempty"` // of the token or of the session
	Kind  string   `json:"kind"`         // agent, person, link or session
	Name  string   `json:"name"`         // that it is for
	Roles []string `json:"roles,omitempty"`
	// Agent, User, Workspace and Dialect bound an agent's token.
	Agent     string    `json:"agent,omitempty"`
	User      string    `json:"user,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Dialect   string    `json:"dialect,omitempty"`
	Vouches   bool      `json:"vouches,omitempty"` // for users' roles
	Expires   time.Time `json:"expires,omitzero"`
	Login     string    `json:"login,omitempty"`   // identity that a person has logged in with
	Address   string    `json:"address,omitempty"` // that the person came from
}

// record returns the record that something became of it.
func (a *access) record(verdict, by, reason string) *ledger.Record {
	detail, _ := json.Marshal(a) // texts and a time can be written
	if len(a.Roles) > 0 {
		reason += ", with the roles " + strings.Join(a.Roles, ", ")
	}
	return &ledger.Record{Time: time.Now(), Kind: ledger.Access, Verdict: verdict, User: by, Agent: a.Agent,
		Reason: ledger.Clip(reason), Detail: detail}
}

// tokenAccess describes a token.
func tokenAccess(t *client.Token) *access {
	return &access{ID: t.ID, Kind: t.Kind, Name: t.Name, Roles: t.Roles, Agent: t.Agent, User: t.User,
		Workspace: t.Workspace, Dialect: t.Dialect, Vouches: t.Vouches, Expires: t.Expires}
}

// tokenMade writes down that a token is made. It comes before the token: one that could not be
// written down is not made.
func (a *auth) tokenMade(ctx context.Context, t *client.Token) error {
	return a.store.Append(ctx, tokenAccess(t).record(accessMade, t.By,
		fmt.Sprintf("%s made the token %s for the %s %s", t.By, t.ID, t.Kind, t.Name)))
}

// tokenRevoked writes down that a token is taken back, before it is.
func (a *auth) tokenRevoked(ctx context.Context, t *client.Token, by string) error {
	return a.store.Append(ctx, tokenAccess(t).record(accessRevoked, by,
		fmt.Sprintf("%s took back the token %s of the %s %s", by, t.ID, t.Kind, t.Name)))
}

// sessionAccess describes a session.
func sessionAccess(s *session, address string) *access {
	return &access{ID: s.ID, Kind: "session", Name: s.Person.Name, Roles: s.Person.Roles, Login: s.Person.Login,
		Expires: s.Expires, Address: address}
}

// loggedIn writes down that a person has logged in, before the session begins.
func (a *auth) loggedIn(ctx context.Context, s *session, address string) error {
	reason := fmt.Sprintf("%s logged in with %s", s.Person.Name, s.Person.Login)
	return a.store.Append(ctx, sessionAccess(s, address).record(accessLogin, s.Person.Name, reason))
}

// loggedOut writes down that a person has logged out.
func (a *auth) loggedOut(ctx context.Context, s *session, address string) error {
	return a.store.Append(ctx, sessionAccess(s, address).record(accessLogout, s.Person.Name, s.Person.Name+" logged out"))
}

// forget deletes the logins and sessions whose time is over. Each visit of
// /oidc/start makes one. The replica that deletes a session records its end.
func (a *auth) forget(ctx context.Context) error {
	for _, kind := range []string{loginKind, sessionKind, oidcKind} {
		list, err := a.store.Docs(ctx, kind)
		if err != nil {
			return err
		}
		for _, d := range list {
			var over session
			if json.Unmarshal(d.Body, &over) != nil || time.Now().Before(over.Expires) {
				continue
			}
			err := docs.Delete(ctx, a.store, kind, d.ID)
			switch {
			case errors.Is(err, docs.ErrNotFound):
				continue
			case err == nil && kind == sessionKind:
				reason := fmt.Sprintf("the session of %s ended: its time was over", over.Person.Name)
				err = a.store.Append(ctx, sessionAccess(&over, "").record(accessEnded, over.Person.Name, reason))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

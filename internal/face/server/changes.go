package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/changes"
)

// A Tried is how a command ran that was run to see: in a layer of which nothing counts.
type Tried struct {
	Exit    int
	Output  string // what it wrote, its end
	Paths   []TriedPath
	Refused []string // what it did not get
}

// A TriedPath is a path that such a command changed, with the policy's verdict about it.
type TriedPath struct {
	Path, Kind, Verdict, Reason string
	Diff                        []string
}

// HasChanges tells whether this server has the files that calls changed: it runs on their machine.
func (v *Service) HasChanges() bool { return v.s.local && v.s.opts.Changes != nil }

// Changes returns the store of what calls changed, for a person who may see files' contents.
func (v *Service) Changes(p *Person) (*changes.Store, error) {
	if !v.HasChanges() {
		return nil, newProblem(http.StatusNotFound, "not-here", "the files that calls change are on another machine",
			"run obstat changes there, or obstat serve")
	}
	if err := isAdmin(p); err != nil {
		return nil, err
	}
	return v.s.opts.Changes()
}

// isAdmin refuses a person who is not an administrator: contents of files are not for everybody who answers requests.
func isAdmin(p *Person) error {
	if p.Is(RoleAdmin) {
		return nil
	}
	return newProblem(http.StatusForbidden, "forbidden", "it takes the role "+RoleAdmin, "")
}

// PutBack puts the paths of a plan back for a person, and writes that down.
func (v *Service) PutBack(ctx context.Context, p *Person, plan *changes.Plan) (*undo.Undone, error) {
	if err := isAdmin(p); err != nil {
		return nil, err
	}
	done, err := undo.TakeBack(ctx, plan, p.Name, v.s.store)
	if errors.Is(err, changes.ErrAgainst) {
		err = newProblem(http.StatusConflict, "changed", "nothing was put back", err.Error())
	}
	return done, err
}

// MayTry tells whether a person may run a call of an agent to see: on the agents' own machine.
func (v *Service) MayTry(p *Person) bool { return v.s.local && v.s.opts.Try != nil && p.Is(RoleAdmin) }

// RunToSee runs the call of a request in a layer of which nothing counts.
func (v *Service) RunToSee(ctx context.Context, p *Person, c *obstat.Call) (*Tried, error) {
	if err := isAdmin(p); err != nil {
		return nil, err
	}
	if !v.MayTry(p) {
		return nil, newProblem(http.StatusNotFound, "not-here", "the command would run on another machine", "")
	}
	out, err := v.s.opts.Try(ctx, c)
	if err != nil {
		err = newProblem(http.StatusConflict, "not-tried", "it could not be run to see", err.Error())
	}
	return out, err
}

package console

import (
	"context"
	"net/http"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/study/explain"
)

// maxTry bounds a command that is run to see.
const maxTry = 2 * time.Minute

// triedPage shows how the command of a request ran that was run to see, above the question.
type triedPage struct {
	requestPage
	Text  string
	Tried *server.Tried
	Paths []shownTry
}

// A shownTry is a path that it changed.
type shownTry struct {
	server.TriedPath
	Lines []diffLine
}

// runToSee runs the command of a request in a layer of which nothing counts, and goes back to the question.
func (c *console) runToSee(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "inbox", "Run to see")
	if err != nil {
		return err
	}
	one, err := c.v.Request(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if one.State != approval.Pending || c.unseen(one, explain.Analyze(&one.Call, c.world)) == "" {
		return wrong("this request is not one to run to see")
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTry)
	defer cancel()
	p := &triedPage{requestPage: requestPage{frame: f, Request: one}, Text: lines(explain.TextOf(&one.Call))}
	if p.Tried, err = c.v.RunToSee(ctx, f.Me, &one.Call); err != nil {
		return err
	}
	for _, path := range p.Tried.Paths {
		p.Paths = append(p.Paths, shownTry{path, diffLines(path.Diff[:min(len(path.Diff), maxDiffRows)])})
	}
	if p.Request, err = c.v.Request(r.Context(), one.ID); err != nil {
		return err
	}
	if p.Request.State == approval.Pending {
		if p.Pane, err = c.paneOf(r.Context(), p.Request, f.Me); err != nil {
			return err
		}
	}
	return c.render(w, http.StatusOK, "tried", "frame", p)
}

// unseen returns the command of a request that can be run to see, "" where a rule asks: then it asks whatever the call
// changes.
func (c *console) unseen(r *approval.Request, a *effect.Analysis) string {
	if !c.v.Local() || r.Rule != "" {
		return ""
	}
	return explain.Unseen(&r.Call, a)
}

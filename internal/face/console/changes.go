package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/changes"
)

const (
	maxChanges  = 200 // rows of the list
	maxDiffs    = 100 // paths of one page
	maxDiffRows = 400 // lines of one path's difference
)

// changesPage lists what calls changed, or shows one change, or what would be put back.
type changesPage struct {
	frame
	Elsewhere bool // the files are on another machine
	Session   string
	Rows      []changeRow
	More      int // changes that the list does not show
	Paths     []shownPath
	MorePaths int
	Plan      *shownPlan
}

// A changeRow is one change of a call.
type changeRow struct {
	*changes.Change
	Short string
	Count int
	Rest  []changes.Gap // what cannot be taken back, or stays
}

// State says where a change stands.
func (r changeRow) State() string {
	switch {
	case r.Undone != "":
		return "taken back"
	case r.Ended.IsZero():
		return "not ended"
	case len(r.Undoes) > 0:
		return "took back"
	}
	return "stands"
}

// A shownPath is a path with the difference of two states.
type shownPath struct {
	Path, Was, Mode string
	Diff            []diffLine
	Note            string // why no difference is shown
}

// A shownPlan is what taking back would do.
type shownPlan struct {
	Query         url.Values // that chooses the changes
	Seen          string     // digest of what the page shows
	Against, Stay []changes.Gap
	Unsure        bool
	Merged        bool
	MayMerge      bool
	Steps         int
}

// Merge is the address of the same plan with later lines kept.
func (p *shownPlan) Merge() string {
	q := url.Values{"merge": {"1"}}
	for k, v := range p.Query {
		q[k] = v
	}
	return "/changes/undo?" + q.Encode()
}

func changeRowOf(c *changes.Change) changeRow {
	return changeRow{Change: c, Short: changes.ShortID(c.ID), Count: len(c.Differences()), Rest: c.Gaps[:min(len(c.Gaps), 3)]}
}

// changesFrame returns the page's frame and the store; no store where the files are elsewhere, which the page says.
func (c *console) changesFrame(r *http.Request, title string) (*changesPage, *changes.Store, error) {
	f, err := c.frame(r, "changes", title)
	if err != nil {
		return nil, nil, err
	}
	p := &changesPage{frame: f, Elsewhere: !c.v.HasChanges(), Session: r.FormValue("session")}
	if p.Elsewhere {
		return p, nil, nil
	}
	s, err := c.v.Changes(f.Me)
	return p, s, err
}

func (c *console) changes(w http.ResponseWriter, r *http.Request) error {
	p, s, err := c.changesFrame(r, "Changes")
	if err != nil || s == nil {
		return c.orRender(w, p, err)
	}
	list, err := s.List()
	if err != nil {
		p.Problem = err.Error() // one cannot be read; the others are shown
	}
	for _, one := range list {
		if p.Session != "" && one.Session != p.Session {
			continue
		}
		if len(p.Rows) == maxChanges {
			p.More++
			continue
		}
		p.Rows = append(p.Rows, changeRowOf(one))
	}
	return c.orRender(w, p, nil)
}

func (c *console) orRender(w http.ResponseWriter, p *changesPage, err error) error {
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "changes", "frame", p)
}

// oneChange shows a change with its differences.
func (c *console) oneChange(w http.ResponseWriter, r *http.Request) error {
	p, s, err := c.changesFrame(r, "Change")
	if err != nil || s == nil {
		return c.orRender(w, p, err)
	}
	one, err := s.Get(r.PathValue("id"))
	if errors.Is(err, changes.ErrUnknown) {
		return &client.Problem{Type: "not-found", Title: "no such change is kept", Status: http.StatusNotFound}
	} else if err != nil {
		return err
	}
	p.Rows = []changeRow{changeRowOf(one)}
	for _, d := range one.Differences() {
		p.path(s, string(d.Path), &d.Before, &d.After, one.Secret)
	}
	return c.render(w, http.StatusOK, "change", "frame", p)
}

// path adds a path with the difference of two states.
func (p *changesPage) path(s *changes.Store, path string, from, to *changes.State, secret bool) {
	if len(p.Paths) == maxDiffs {
		p.MorePaths++
		return
	}
	out := shownPath{Path: path, Was: undo.WordOf(from, to)}
	if from.Mode != to.Mode && from.Kind != changes.None && to.Kind != changes.None {
		out.Mode = from.Mode.String() + ", then " + to.Mode.String()
	}
	same := from.Digest == to.Digest && from.Target == to.Target
	a, okA := undo.TextOf(s, path, from)
	b, okB := undo.TextOf(s, path, to)
	switch {
	case same:
	case secret:
		out.Note = "The call touched secrets: contents are shown by obstat changes at a terminal only."
	case okA && okB:
		lines := display.Diff(a, b)
		if len(lines) > maxDiffRows {
			out.Note = "The difference is longer; obstat changes shows all of it."
		}
		out.Diff = diffLines(lines[:min(len(lines), maxDiffRows)])
	default:
		out.Note = "No text, or too long to be shown."
	}
	p.Paths = append(p.Paths, out)
}

// planOf returns the changes that a form or an address names, and how they would be taken back.
func planOf(s *changes.Store, form url.Values) (*changes.Plan, error) {
	var list []*changes.Change
	for _, id := range form["id"] {
		one, err := s.Get(id)
		if err != nil {
			return nil, wrong("%v", err)
		}
		list = append(list, one)
	}
	if session := form.Get("session"); len(list) == 0 && session != "" {
		var err error
		if list, err = undo.Standing(s, session, time.Time{}, form["path"]); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, wrong("no change is named that can be taken back")
	}
	plan, err := s.Plan(list, form["path"]...)
	if err != nil {
		return nil, wrong("%v", err)
	}
	if form.Get("merge") != "" {
		err = plan.Merge()
	}
	return plan, err
}

// digestOf is of everything that a person sees of a plan: another digest is another plan.
func digestOf(plan *changes.Plan) string {
	steps := slices.Clone(plan.Steps)
	for i := range steps {
		steps[i].Now, steps[i].To = steps[i].Now.Shown(), steps[i].To.Shown()
	}
	b, _ := json.Marshal([]any{steps, plan.Against}) // texts
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// reviewUndo shows what would be put back.
func (c *console) reviewUndo(w http.ResponseWriter, r *http.Request) error {
	p, s, err := c.changesFrame(r, "Take back")
	if err != nil || s == nil {
		return c.orRender(w, p, err)
	}
	plan, err := planOf(s, r.URL.Query())
	if err != nil {
		return err
	}
	return c.showPlan(w, p, s, plan, r.URL.Query(), http.StatusOK)
}

func (c *console) showPlan(w http.ResponseWriter, p *changesPage, s *changes.Store, plan *changes.Plan, form url.Values,
	status int) error {
	query := url.Values{}
	for _, name := range []string{"id", "session", "path"} {
		if len(form[name]) > 0 {
			query[name] = form[name]
		}
	}
	p.Plan = &shownPlan{Query: query, Seen: digestOf(plan), Against: plan.Against, Stay: plan.Stay, Unsure: plan.Unsure,
		Merged: form.Get("merge") != "", Steps: len(plan.Steps), MayMerge: slices.ContainsFunc(plan.Against, plan.MayMerge)}
	secret := false
	for _, one := range plan.Changes {
		p.Rows = append(p.Rows, changeRowOf(one))
		secret = secret || one.Secret
	}
	for _, step := range plan.Steps {
		p.path(s, string(step.Path), &step.Now, &step.To, secret)
	}
	return c.render(w, status, "undo", "frame", p)
}

// undo puts back what the person has seen. Where that has become something else meanwhile, it is shown anew.
func (c *console) undo(w http.ResponseWriter, r *http.Request) error {
	p, s, err := c.changesFrame(r, "Take back")
	if err != nil || s == nil {
		return c.orRender(w, p, err)
	}
	plan, err := planOf(s, r.PostForm)
	if err != nil {
		return err
	}
	if seen := r.PostFormValue("seen"); len(plan.Against) > 0 || len(plan.Steps) == 0 || seen != digestOf(plan) {
		p.Problem = "Nothing was put back: the files have changed since this page was shown. It shows them as they are now."
		return c.showPlan(w, p, s, plan, r.PostForm, http.StatusConflict)
	}
	out, err := c.v.PutBack(r.Context(), server.PersonOf(r.Context()), plan)
	if err != nil {
		return err
	}
	return done(w, r, "/changes/"+url.PathEscape(out.ID)+"?said=putback")
}

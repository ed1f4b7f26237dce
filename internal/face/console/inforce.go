package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

// A reviewPage shows the changes of a version before it is put in force, and asks for the reason.
type reviewPage struct {
	frame
	Name     string // of the version, as `version 3`
	To       string // where the form goes
	Active   int    // the version that it is compared with
	Diff     *client.PolicyDiff
	Lifted   []client.Witness // denials that the version lifts
	Freer    []client.Witness // other calls that it lets through
	Stricter []client.Witness
	Reason   string
	Loosens  bool
	People   int
	Proposal *client.Proposal // of this version
	Keep     []field          // fields that the form brings back
}

// A field of a form that its reader does not see.
type field struct{ Name, Value string }

// review returns the page for a policy that is compared with the one in force. Typed
// text stays.
func (c *console) review(r *http.Request, up *client.PolicyUpload, version int) (*reviewPage, error) {
	f, err := c.frame(r, "policies", "Put in force")
	if err != nil {
		return nil, err
	}
	all, err := c.v.Policies(r.Context())
	if err != nil {
		return nil, err
	}
	p := &reviewPage{frame: f, Active: all.Active, Reason: cmp.Or(r.PostFormValue("reason"), r.PostFormValue("note")),
		Loosens: r.PostFormValue("loosens") != "", People: c.v.PolicyPeople()}
	if p.Diff, err = c.v.DiffWith(r.Context(), up, version); err != nil {
		return nil, err
	}
	for _, w := range p.Diff.Witness {
		switch {
		case w.Looser && w.Was == "deny":
			p.Lifted = append(p.Lifted, w)
		case w.Looser:
			p.Freer = append(p.Freer, w)
		default:
			p.Stricter = append(p.Stricter, w)
		}
	}
	return p, nil
}

// reviewKept returns the page for a version that is kept, or for the one before; zero are the files.
func (c *console) reviewKept(r *http.Request, version int, back bool) (*reviewPage, error) {
	v, err := c.v.Kept(r.Context(), version)
	if err != nil {
		return nil, err
	}
	p, err := c.review(r, &client.PolicyUpload{Files: v.Files, Dialect: v.Dialect, Options: v.Options}, version)
	if err != nil {
		return nil, err
	}
	p.Name, p.To = versionWords(version), "/policies/"+strconv.Itoa(version)+"/activate"
	if back {
		p.To = "/policies/rollback"
	}
	all, err := c.v.Policies(r.Context())
	if err != nil {
		return nil, err
	}
	if open := all.Proposal; open != nil && open.Version == version && open.Back == back {
		p.Proposal = open
	}
	return p, nil
}

func versionWords(version int) string {
	if version == 0 {
		return "the files that the server was started with"
	}
	return "version " + strconv.Itoa(version)
}

// reviewVersion shows the changes of a version: `GET /policies/3/activate`.
func (c *console) reviewVersion(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.Atoi(r.PathValue("version"))
	if err != nil || version < 0 {
		return wrong("a version is a number, not %q", r.PathValue("version"))
	}
	p, err := c.reviewKept(r, version, false)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "inforce", "frame", p)
}

// reviewBack shows the changes of a rollback.
func (c *console) reviewBack(w http.ResponseWriter, r *http.Request) error {
	all, err := c.v.Policies(r.Context())
	if err != nil {
		return err
	}
	if all.Before == nil {
		return wrong("no other version was in force before")
	}
	p, err := c.reviewKept(r, *all.Before, true)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "inforce", "frame", p)
}

// activation reads the form of a review.
func activation(r *http.Request) (*client.Activation, error) {
	instead, err := strconv.Atoi(r.PostFormValue("active"))
	if err != nil || instead < 0 {
		return nil, wrong("the form says not what is in force")
	}
	return &client.Activation{Instead: instead, Reason: strings.TrimSpace(r.PostFormValue("reason")),
		Loosens: r.PostFormValue("loosens") != ""}, nil
}

func (c *console) activate(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.Atoi(r.PathValue("version"))
	if err != nil || version < 0 {
		return wrong("a version is a number, not %q", r.PathValue("version"))
	}
	in, err := activation(r)
	if err != nil {
		return err
	}
	done, err := c.v.Activate(r.Context(), server.PersonOf(r.Context()), version, in)
	return c.activated(w, r, done, err, func() (*reviewPage, error) { return c.reviewKept(r, version, false) })
}

func (c *console) rollback(w http.ResponseWriter, r *http.Request) error {
	in, err := activation(r)
	if err != nil {
		return err
	}
	done, err := c.v.Rollback(r.Context(), server.PersonOf(r.Context()), in)
	return c.activated(w, r, done, err, func() (*reviewPage, error) {
		all, err := c.v.Policies(r.Context())
		if err != nil || all.Before == nil {
			return nil, err
		}
		return c.reviewKept(r, *all.Before, true)
	})
}

// activated leads to the policy where a version is in force or proposed. A mistake that
// can be mended is shown in the review again, with the typed text: another version that was faster,
// a missing reason, denials that are lifted without a word.
func (c *console) activated(w http.ResponseWriter, r *http.Request, out *client.Activated, err error,
	again func() (*reviewPage, error)) error {
	var p *client.Problem
	switch {
	case err == nil && out.InForce:
		return done(w, r, "/policies?said=activated")
	case err == nil:
		return done(w, r, "/policies?said=proposed")
	case !errors.As(err, &p) || !slices.Contains([]string{"changed", "loosens", "bad-request", "invalid"}, p.Type):
		return err
	}
	page, rerr := again()
	if rerr != nil || page == nil {
		return err
	}
	text := sentence(p)
	page.Problem = strings.ToUpper(text[:1]) + text[1:] + ". Nothing was changed; this is what would change now."
	return c.render(w, p.Status, "inforce", "frame", page)
}

// putText puts the text of the editor in force: it shows the changes first, and then keeps the
// text as a version. Of two people at once one is told that the other was faster, and neither text
// is lost.
func (c *console) putText(w http.ResponseWriter, r *http.Request, up *client.PolicyUpload, sure bool) error {
	me := server.PersonOf(r.Context())
	if err := admin(me); err != nil {
		return err
	}
	again := func() (*reviewPage, error) {
		p, err := c.review(r, up, 0)
		if err != nil {
			return nil, err
		}
		p.Name, p.To = "this text", "/policies"
		for _, name := range []string{"name", "dialect", "version", "file", "text"} {
			p.Keep = append(p.Keep, field{name, r.PostFormValue(name)})
		}
		return p, nil
	}
	in, err := activation(r)
	if err != nil {
		return err
	}
	if err := c.v.MayActivate(r.Context(), up, in); err != nil {
		return c.activated(w, r, nil, err, again)
	}
	if !sure {
		p, err := again()
		if err != nil {
			return err
		}
		return c.render(w, http.StatusOK, "inforce", "frame", p)
	}
	up.Note = in.Reason
	v, err := c.v.Upload(r.Context(), me, up)
	if err != nil {
		return err
	}
	out, err := c.v.Activate(r.Context(), me, v.Version, in)
	return c.activated(w, r, out, err, again)
}

// Package console is the web page on which people answer agents and look at decisions.
//
// It owns the pages and their looks. Everything that they show or do goes through
// [server.Service], which knows the person who is logged in; a page is no way round it. The pages work without a script; the script brings requests as they come.
package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

//go:embed pages static
var files embed.FS

// A console serves the pages.
type console struct {
	v     *server.Service
	pages map[string]*template.Template
	world obstat.World // the server does not know the agents' machines

	mu   sync.Mutex
	made map[string]inboxRow // by request and version
}

// New returns the pages of a server.
func New(v *server.Service) *http.ServeMux {
	c := &console{v: v, pages: map[string]*template.Template{}, world: &obstat.Snapshot{},
		made: map[string]inboxRow{}}
	for _, name := range []string{"inbox", "request", "history", "record", "policies", "inforce", "charts", "grants",
		"agents", "message", "changes", "change", "undo", "tried"} {
		shared := []string{"pages/frame.html", "pages/walks.html", "pages/changed.html", "pages/" + name + ".html"}
		if name == "request" || name == "tried" {
			shared[1] = "pages/pane.html"
		}
		c.pages[name] = template.Must(template.New(name).Funcs(funcs()).ParseFS(files, shared...))
	}
	return c.routes()
}

func (c *console) routes() *http.ServeMux {
	mux := http.NewServeMux()
	static, _ := fs.Sub(files, "static") // it is embedded, so it is there
	serve := http.StripPrefix("/static/", http.FileServerFS(static))
	mux.HandleFunc("GET /static/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") { // a directory would be listed
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=3600")
		serve.ServeHTTP(w, r)
	})
	for pattern, page := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                          c.inbox,
		"GET /inbox":                        c.rowsJSON,
		"GET /requests/{id}/pane":           c.pane,
		"POST /requests/{id}/look":          c.change(c.look),
		"POST /back":                        c.change(c.takeBack),
		"POST /now":                         c.change(c.sendNow),
		"GET /requests/{id}":                c.request,
		"POST /requests/{id}":               c.answer,
		"POST /group":                       c.answerGroup,
		"GET /history":                      c.history,
		"GET /history/{seq}":                c.record,
		"GET /policies":                     c.policies,
		"POST /policies":                    c.editPolicy,
		"POST /policies/try":                c.tryCall,
		"POST /policies/rollback":           c.rollback,
		"GET /policies/{version}/activate":  c.reviewVersion,
		"POST /policies/{version}/activate": c.activate,
		"GET /policies/rollback":            c.reviewBack,
		"GET /charts":                       c.charts,
		"GET /grants":                       c.grants,
		"POST /grants/{id}/revoke":          c.revoke,
		"GET /agents":                       c.agents,
		"POST /logins/{id}/end":             c.endLogin,
		"GET /changes":                      c.changes,
		"GET /changes/{id}":                 c.oneChange,
		"GET /changes/undo":                 c.reviewUndo,
		"POST /changes/undo":                c.undo,
		"POST /requests/{id}/try":           c.runToSee,
		"/": func(_ http.ResponseWriter, r *http.Request) error {
			return &client.Problem{Type: "not-found", Title: "There is no such page", Status: http.StatusNotFound,
				Detail: r.URL.Path}
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := page(w, r); err != nil {
				c.fail(w, r, err)
			}
		})
	}
	return mux
}

// A frame is around every page.
type frame struct {
	Page, Title string
	Me          *server.Person
	Waiting     int // requests
	Said        string
	Problem     string
	Local       bool // the agents' files are on this machine
}

// A page's link in the frame.
type link struct{ Name, Path, Title, Icon string }

// Pages are the links to the pages.
func (f frame) Pages() []link {
	list := []link{
		{"inbox", "/", "Inbox", "M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 2.5h3L15 13h5"},
		{"history", "/history", "History", "M12 7v5l3.5 2M21 12a9 9 0 1 1-3-6.7M21 3v4h-4"},
		{"policies", "/policies", "Policy", "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z"},
		{"charts", "/charts", "Charts", "M4 20V4M4 20h16M8 16v-5M12 16V8M16 16v-3"},
		{"grants", "/grants", "Grants", "M14 11a4 4 0 1 0-4-4c0 .6.1 1.1.3 1.6L4 15v4h4v-2h2v-2h2l1.4-1.4"},
		{"agents", "/agents", "Agents", "M8 9h8a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2zM12 5v4M10 13v1M14 13v1"},
	}
	if f.Local && f.Admin() {
		list = slices.Insert(list, 2, link{"changes", "/changes", "Changes", "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3"})
	}
	return list
}

// Admin tells whether the person looks after policies.
func (f frame) Admin() bool { return f.Me.Is(server.RoleAdmin) }

// frame returns a page's frame. The address names the sentence that the last form left.
func (c *console) frame(r *http.Request, page, title string) (frame, error) {
	f := frame{Page: page, Title: title, Me: server.PersonOf(r.Context()), Waiting: c.v.Waiting(),
		Local: c.v.HasChanges()}
	f.Said = said[r.URL.Query().Get("said")]
	return f, nil
}

// said are the sentences that a page can be told to show: no others, so that
// a link cannot put words into it.
var said = map[string]string{
	"answered":  "Your answer was taken.",
	"revoked":   "The grant was taken back.",
	"putback":   "The files are as they were before. This is what that changed.",
	"ended":     "The login was ended.",
	"kept":      "The version was kept. It is not in force yet.",
	"activated": "The version is in force, on all replicas within two seconds.",
	"proposed":  "The version is proposed. It is in force once the others have agreed.",
}

// render writes a page.
func (c *console) render(w http.ResponseWriter, status int, page, part string, data any) error {
	var buf bytes.Buffer
	if err := c.pages[page].ExecuteTemplate(&buf, part, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // the browser may be gone
	return nil
}

// done answers a form: a script is told so, a browser is led to a page.
func done(w http.ResponseWriter, r *http.Request, to string) error {
	if scripted(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

func scripted(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// fail shows an error: as a problem to a script, as a page to people.
func (c *console) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := server.ProblemOf(err)
	if scripted(r) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p) // the browser may be gone
		return
	}
	f, _ := c.frame(r, "", "That did not work")
	f.Problem = sentence(p)
	if err := c.render(w, p.Status, "message", "frame", f); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
	}
}

// sentence returns a problem in a line.
func sentence(p *client.Problem) string {
	if p.Detail == "" || p.Detail == p.Title {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// wrong returns an error that is the sender's fault.
func wrong(format string, args ...any) error {
	return &client.Problem{Type: "bad-request", Title: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// errorsOf returns the problems of a policy's text, if err is about those.
func errorsOf(err error) obstat.Errors {
	var list obstat.Errors
	if errors.As(err, &list) {
		return list
	}
	var one *obstat.Error
	if errors.As(err, &one) {
		return obstat.Errors{one}
	}
	var p *client.Problem
	if errors.As(err, &p) {
		return p.Errors
	}
	return nil
}

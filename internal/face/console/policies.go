package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/study/explain"
)

// editorWords are those that the policy's editor completes besides the words of the text.
const editorWords = "allow ask deny Bash Read Write Edit WebFetch rules permission bash edit webfetch " +
	"external_directory workspace secrets network read write delete run connect version"

// countedDays is how far back the counts of rules go.
const countedDays = 7

// A shownRule is a rule of the policy in force, and how often it decided.
type shownRule struct {
	Text, Verdict, Where string
	N, Share             int
	Dead, DeadWord       string // why it cannot decide
}

// A shownError is a problem in the policy's text.
type shownError struct {
	Line             int
	Where, Msg, Hint string
	Warning          bool
}

// tried is a call that a person tries the policy with.
type tried struct {
	Tool, Text string
	View       *explain.View
	Call       []piece
	Effects    []shownEffect
	Walks      []shownWalk
}

// policyPage shows the policy in force, its rules and versions, and an editor.
type policyPage struct {
	frame
	Active   int
	Dialect  string
	Options  map[string]string
	Since    int
	Rules    []shownRule
	Files    []client.PolicyFile
	Shown    int // version of the files
	File     int // the one in the editor
	Versions []client.PolicyVersion
	Back     bool             // there is a version before
	Proposal *client.Proposal // waits for others to agree
	Errors   []shownError
	Diff     *client.PolicyDiff
	Tried    tried
	Words    string // that the editor completes
}

// policyPage returns the page with a file of a version in its editor, which the form says;
// version zero is the policy in force.
func (c *console) policyPage(r *http.Request) (*policyPage, error) {
	var version, file int
	for name, n := range map[string]*int{"version": &version, "file": &file} {
		text := r.FormValue(name)
		if text == "" {
			continue
		}
		var err error
		if *n, err = strconv.Atoi(text); err != nil || *n < 0 {
			return nil, wrong("a %s is a number, not %q", name, text)
		}
	}
	f, err := c.frame(r, "policies", "Policy")
	if err != nil {
		return nil, err
	}
	all, err := c.v.Policies(r.Context())
	if err != nil {
		return nil, err
	}
	p := &policyPage{frame: f, Active: all.Active, Shown: cmp.Or(version, all.Active), Versions: all.Policies,
		Back: all.Before != nil, Proposal: all.Proposal, Since: countedDays,
		Words: editorWords}
	shown, err := c.v.Policy(r.Context(), version)
	if err != nil {
		p.Problem = err.Error() // the page is where it is mended
		return p, nil
	}
	p.Dialect, p.Files, p.Options = shown.Dialect, shown.Files, shown.Options
	if p.File = file; file > 0 && file >= len(p.Files) {
		return nil, wrong("version %d of the policy has no file %d", p.Shown, file+1)
	}
	return p, c.rules(r, p)
}

// rules fills in the rules in force with their counts.
func (c *console) rules(r *http.Request, p *policyPage) error {
	list, err := c.v.Rules(r.Context(), time.Now().AddDate(0, 0, -countedDays))
	most := 1
	for _, rule := range list {
		most = max(most, rule.N)
	}
	for _, rule := range list {
		one := shownRule{Text: rule.Text, Verdict: rule.Verdict, Where: whereOf(rule.Pos), N: rule.N,
			Share: rule.N * 100 / most, Dead: rule.Dead}
		if one.Dead != "" {
			one.DeadWord = "cannot decide"
		}
		p.Rules = append(p.Rules, one)
	}
	return err
}

func (c *console) policies(w http.ResponseWriter, r *http.Request) error {
	p, err := c.policyPage(r)
	if err != nil {
		return err
	}
	if p.Shown != p.Active {
		if p.Diff, err = c.v.Diff(r.Context(), p.Shown); err != nil {
			return err
		}
	}
	return c.render(w, http.StatusOK, "policies", "frame", p)
}

// editPolicy checks the text in the editor, keeps it, or shows its changes. Typed text stays in the
// editor.
func (c *console) editPolicy(w http.ResponseWriter, r *http.Request) error {
	p, err := c.policyPage(r)
	if err != nil {
		return err
	}
	if len(p.Files) == 0 {
		p.Files = []client.PolicyFile{{}}
	}
	edited := &p.Files[p.File]
	*edited = client.PolicyFile{Name: r.PostFormValue("name"), Layer: edited.Layer,
		Text: asWritten(edited.Text, r.PostFormValue("text"))}
	up := &client.PolicyUpload{Files: p.Files, Dialect: r.PostFormValue("dialect"), Options: p.Options,
		Note: r.PostFormValue("note")}
	checked, err := c.v.Validate(up)
	if err != nil {
		list := errorsOf(err)
		if list == nil {
			return err
		}
		p.Problem = "The text is not a policy. Nothing was changed."
		p.Errors = shownErrors(list, edited.Name, false)
		return c.render(w, http.StatusUnprocessableEntity, "policies", "frame", p)
	}
	p.Errors = shownErrors(checked.Warnings, edited.Name, true)
	switch do := r.PostFormValue("do"); do {
	case "activate", "confirm":
		return c.putText(w, r, up, do == "confirm")
	case "save":
		return c.keep(w, r, up)
	}
	if p.Diff, err = c.v.DiffWith(r.Context(), up, 0); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "policies", "frame", p)
}

// asWritten gives a text from a form the line ends that the file has: a browser
// sends CR LF.
func asWritten(file, form string) string {
	form = strings.ReplaceAll(form, "\r\n", "\n")
	if strings.Contains(file, "\r\n") {
		return strings.ReplaceAll(form, "\n", "\r\n")
	}
	return form
}

func (c *console) keep(w http.ResponseWriter, r *http.Request, up *client.PolicyUpload) error {
	me := server.PersonOf(r.Context())
	if err := admin(me); err != nil {
		return err
	}
	if _, err := c.v.Upload(r.Context(), me, up); err != nil {
		return err
	}
	return done(w, r, "/policies?said=kept")
}

// admin refuses people without the role admin.
func admin(p *server.Person) error {
	if p.Is(server.RoleAdmin) {
		return nil
	}
	return &client.Problem{Type: "forbidden", Title: "it takes the role " + server.RoleAdmin, Status: http.StatusForbidden}
}

// shownErrors returns problems; those of another file than the one in the editor have no line there.
func shownErrors(list obstat.Errors, file string, warning bool) (out []shownError) {
	for _, e := range list {
		one := shownError{Where: e.Pos.String(), Msg: e.Msg, Hint: e.Hint, Warning: warning}
		if e.Pos.File == file {
			one.Line = e.Pos.Line
		}
		out = append(out, one)
	}
	return out
}

// tryCall shows how the policy decides a call that is not made.
func (c *console) tryCall(w http.ResponseWriter, r *http.Request) error {
	p, err := c.policyPage(r)
	if err != nil {
		return err
	}
	tool, text := strings.TrimSpace(r.PostFormValue("tool")), r.PostFormValue("text")
	call, err := callOf(tool, text)
	if err != nil {
		return err
	}
	view, _, err := c.v.Try(call, c.world)
	if err != nil {
		return err
	}
	part := ""
	if view.Mark.End > 0 && view.Mark.End <= len(view.Text) {
		part = view.Text[view.Mark.Start:view.Mark.End]
	}
	p.Tried = tried{tool, text, view, mark(view.Text, part, risky(view.Would)...), effectsOf(view.Would), walksOf(view)}
	return c.render(w, http.StatusOK, "policies", "frame", p)
}

// pathTools are words in the names of tools whose text is a path, not a command.
var pathTools = []string{"read", "write", "edit", "view", "file", "glob", "list", "ls"}

// callOf makes the call that a person typed: JSON as it is, else a command, or a
// path for a tool that is about one.
func callOf(tool, text string) (*obstat.Call, error) {
	call := &obstat.Call{Tool: tool, Dir: "/workspace", Roots: []string{"/workspace"}}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, wrong("that is not JSON")
		}
		call.Input = json.RawMessage(text)
		return call, nil
	}
	fields := map[string]string{"command": text}
	if slices.ContainsFunc(pathTools, func(w string) bool { return strings.Contains(strings.ToLower(tool), w) }) {
		fields = map[string]string{"file_path": text, "path": text, "filePath": text}
	}
	var err error
	call.Input, err = json.Marshal(fields)
	return call, err
}

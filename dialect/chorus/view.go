package chorus

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/paths"
)

// The subjects of a question. Every rule looks at the action; a deny rule looks
// at the action as it was spelled, too, so that cleaning a path never takes a
// call out of its reach.
const (
	fieldAction  = "action"
	fieldSpelled = "spelled"
)

// viewName is the name of the view in Programs.
const viewName = "chorus.action"

// params are the settings that the view and the role check need.
type params struct {
	// Outside says how a path outside the workspace is treated: "" refused, or
	// "absolute", an action like any other.
	Outside string `json:"outside,omitempty"`
	// Profiles are the names that exist, for the role check.
	Profiles []string `json:"profiles"`
	// Grants maps roles to the profiles that they may grant; nil: only
	// administrators may.
	Grants map[string][]string `json:"grants"`
}

// An actionView turns calls into action strings.
type actionView struct {
	actions map[string]action
	outside bool // paths outside the workspace have an action
}

var _ kit.Outliner = (*actionView)(nil)

// Questions returns the call's action. A path that leads elsewhere through a
// link is two questions: where it is written to lie, and where it lies.
func (v *actionView) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	input, err := kit.Arguments(f)
	if err != nil {
		return nil, err
	}
	tool := f.Call.Tool
	act, known := v.actions[tool]
	if !known {
		return v.unknown(f, tool)
	}
	if len(act.args) == 1 && (act.args[0].kind == filePath || act.args[0].kind == docPath) {
		return v.path(f, tool, &act, input)
	}
	values := make([]string, len(act.args))
	for i := range act.args {
		if values[i], err = act.args[i].value(tool, input); err != nil {
			return nil, err
		}
	}
	text := act.start + strings.Join(values, " ")
	return []obstat.Question{question(tool, text, text)}, nil
}

func question(tool, action, spelled string) obstat.Question {
	return obstat.Question{Tool: tool, Subjects: []obstat.Subject{{Field: fieldAction, Text: action},
		{Field: fieldSpelled, Text: spelled}}}
}

// unknown gives a tool that the table does not have its arguments as canonical
// JSON for a detail: one text for equal calls, and no line break in it.
func (v *actionView) unknown(f *obstat.Facts, tool string) ([]obstat.Question, error) {
	act, err := other(tool)
	if err != nil {
		return nil, err
	}
	detail := "{}"
	if len(f.Call.Input) > 0 {
		canonical, err := jsonx.Canonical(f.Call.Input)
		if err != nil {
			return nil, err
		}
		detail = string(canonical)
	}
	return []obstat.Question{question(tool, act.start+detail, act.start+detail)}, nil
}

func (v *actionView) path(f *obstat.Facts, tool string, act *action, input *tree.Node) ([]obstat.Question, error) {
	spelled, err := act.args[0].value(tool, input)
	if err != nil {
		return nil, err
	}
	where := inDocs
	if act.args[0].kind == filePath {
		where = v.inWorkspace
	}
	places, err := where(f, spelled)
	if err != nil {
		return nil, err
	}
	var out []obstat.Question
	for _, p := range places {
		out = append(out, question(tool, act.start+p, act.start+spelled))
	}
	return out, nil
}

// inDocs returns a path in the agent's docs; it may not leave them.
func inDocs(_ *obstat.Facts, spelled string) ([]string, error) {
	clean := path.Clean(spelled)
	if spelled == "" || leaves(clean) || strings.Contains(spelled, `\`) {
		return nil, fmt.Errorf("%q is not a path in the agent's docs", spelled)
	}
	return []string{clean}, nil
}

// leaves tells whether a clean path may lead out of the directory that it is given from.
func leaves(p string) bool {
	return path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(p, "~")
}

// inWorkspace returns the path as the document wants it, relative to the
// workspace: as written and, where a link leads elsewhere, as it leads.
func (v *actionView) inWorkspace(f *obstat.Facts, spelled string) ([]string, error) {
	if spelled == "" {
		return []string{""}, nil
	}
	roots := f.Call.Roots
	if at := f.Call.Anchor(); at != "" && (f.Call.Project != "" || len(roots) == 0) {
		roots = []string{at}
	}
	dir := cmp.Or(f.Call.Dir, f.Call.Anchor())
	r := paths.Resolver{FS: f.World, Dir: dir}
	p := r.Resolve(spelled)
	if p.Abs == "" {
		return v.relative(f, spelled, p)
	}
	var out []string
	for i, place := range []string{p.Abs, p.Real} {
		if place == "" {
			return nil, fmt.Errorf("where %q leads is not known: %s", spelled, p.Why)
		}
		rel, inside := relativeTo(r, roots, place, i == 1)
		if !inside && !v.outside && f.Part() == nil {
			return nil, fmt.Errorf("%q leads to %s, outside the workspace %s; Chorus's file actions are about paths in the workspace", spelled, place, strings.Join(roots, ", "))
		}
		if len(out) == 0 || out[0] != rel {
			out = append(out, rel)
		}
	}
	return out, nil
}

// relative returns a path where the workspace is not known: one that
// cannot leave it is taken as it is.
func (v *actionView) relative(f *obstat.Facts, spelled string, p paths.Path) ([]string, error) {
	if (p.Text == "" || leaves(p.Text)) && !v.outside && f.Part() == nil {
		return nil, fmt.Errorf("%q may lead outside the workspace: %s", spelled,
			cmp.Or(p.Why, "the call does not say where that is"))
	}
	if p.Text == "" {
		return nil, errors.New(cmp.Or(p.Why, "a path that cannot be read"))
	}
	return []string{p.Text}, nil
}

// relativeTo returns p from the root it lies in, or p itself. Where links were
// followed, the roots' own links are, too.
func relativeTo(r paths.Resolver, roots []string, p string, real bool) (string, bool) {
	for _, root := range roots {
		at := r.Literal(root)
		root = at.Abs
		if real {
			root = at.Real
		}
		if root == "" || !paths.Inside(root, p) {
			continue
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p, strings.TrimSuffix(root, "/")), "/")
		return cmp.Or(rel, "."), true
	}
	return p, false
}

// Outline returns the start of a tool's actions.
func (v *actionView) Outline(tool string) []obstat.Question {
	act, known := v.actions[tool]
	if !known {
		var err error
		if act, err = other(tool); err != nil {
			return nil
		}
	}
	return []obstat.Question{question(tool, act.start, act.start)}
}

// Action returns the action string of a call, or why it has none. A path outside
// the workspace is shown as it is, whether or not a policy would take it.
func Action(call *obstat.Call, world obstat.World) (string, error) {
	if len(call.Subjects) > 0 {
		return call.Subjects[0], nil
	}
	qs, err := (&actionView{actions: actions(), outside: true}).Questions(&obstat.Facts{Call: call, World: world})
	if err != nil {
		return "", err
	}
	return qs[0].Subjects[0].Text, nil
}

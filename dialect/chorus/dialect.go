package chorus

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Name is the dialect's name.
const Name = "chorus"

// Dialect reads Chorus's profiles. The zero value is ready for use.
type Dialect struct{}

// Name returns "chorus".
func (Dialect) Name() string { return Name }

// Info names the server's file and the agent's.
func (Dialect) Info() dialect.Info {
	return dialect.Info{
		Files: []string{"config.json", "agent.json"}, Default: "agent.json",
		Options: []dialect.Option{{Name: "outside", Values: []string{"deny", outsideAbsolute},
			Doc: "a path outside the workspace: denied, or an action with the absolute path"}},
	}
}

// Detect knows the files by "permissions", a preset's name or a pair of lists
// of expressions, and by "permission_grants".
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	if tree.Fatal(problems) || !root.Is(tree.Object) {
		return dialect.No
	}
	if root.Get(keyGrants).Is(tree.Object) || root.Get(keyProfiles).Is(tree.Object) {
		return dialect.Sure
	}
	agent := order(f) == orderAgent
	if agent && root.Get(keyPermissions) == nil && bareProfile(root) {
		return dialect.Sure // which Load refuses, with a hint
	}
	perms := root.Get(keyPermissions)
	_, preset := Presets()[perms.Text()]
	profile := bareProfile(perms)
	switch {
	case preset, profile && (agent || talksOfTools(perms)):
		return dialect.Sure
	case profile, perms.Is(tree.String) && dialect.Named(d, f.Name):
		return dialect.Maybe
	}
	return dialect.No
}

// bareProfile tells whether a value has the two lists of a profile.
func bareProfile(n *tree.Node) bool {
	return n.Get(keyAllow).Is(tree.Array) && n.Get(keyAsk).Is(tree.Array)
}

// talksOfTools tells whether a pattern of the profile is about actions.
func talksOfTools(perms *tree.Node) bool {
	all := slices.Concat(perms.Get(keyAllow).Items(), perms.Get(keyAsk).Items(), perms.Get(keyDeny).Items())
	return slices.ContainsFunc(all, func(n *tree.Node) bool { return strings.HasPrefix(n.Text(), toolPrefix) })
}

// Load reads config.json and agent.json, or either.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	s, errs := Load(in)
	if errs.Fatal() != nil {
		return nil, errs
	}
	p, err := s.Program()
	if err != nil {
		return nil, append(errs, &obstat.Error{Code: obstat.CodeBadValue, Msg: err.Error()})
	}
	return p, errs
}

// Library returns the view of actions and the role check.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{
		Views: map[string]func(json.RawMessage) (obstat.View, error){
			viewName: kit.Code(func(p *params) obstat.View { return &actionView{actions(), p.Outside == outsideAbsolute} }),
		},
		Checks: map[string]func(json.RawMessage) (obstat.Checker, error){
			checkLines: func(json.RawMessage) (obstat.Checker, error) { return lineCheck{}, nil },
			checkRoles: kit.Code(func(p *params) obstat.Checker { return roleCheck{p} }),
		},
		Own: kit.OwnTools("shell bash command", "read view path", "write create_file path",
			"edit,notebook,patch,delete,move,mkdir str_replace path"),
		Whole: whole(),
	}
}

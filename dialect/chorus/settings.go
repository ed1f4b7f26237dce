package chorus

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
	"github.com/obstat/obstat/pattern"
)

// The keys of the files. The first two are the document's; for what it leaves
// open (where named profiles stand, how a confirmation is set) the others are
// ours.
const (
	keyPermissions  = "permissions"
	keyGrants       = "permission_grants"
	keyProfiles     = "permission_profiles"
	keyConfirmation = "confirmation"

	keyTimeout   = "timeout_seconds"
	keyApprovers = "approver_roles"

	keyAllow = "allow"
	keyAsk   = "ask"
	keyDeny  = "deny"
)

// DefaultTimeout is how long a confirmation waits.
const DefaultTimeout = 60 * time.Second

// outsideAbsolute is the value of the option "outside" that gives paths outside
// the workspace an action.
const outsideAbsolute = "absolute"

// Settings are the permissions of config.json and agent.json.
type Settings struct {
	Profile  string             // the agent's profile, one of Profiles
	Profiles map[string]Profile // presets and custom ones
	// Grants maps roles to the profiles they may grant; nil: no mapping, so only
	// administrators may.
	Grants map[string][]string
	// Timeout is how long a confirmation waits; zero is DefaultTimeout.
	Timeout time.Duration
	// Approvers are the roles that may answer a confirmation; none: the user who
	// started the session, and administrators.
	Approvers []string

	outside string
	roles   []roleUse
}

// A roleUse is a role's name in a file, for CheckRoles.
type roleUse struct {
	name string
	pos  obstat.Pos
}

func (s *Settings) params() (json.RawMessage, error) {
	return json.Marshal(params{Outside: s.outside, Profiles: s.names(), Grants: s.Grants})
}

// CheckRoles reports every role of the settings that the server does not have:
// nobody can ever use it.
func (s *Settings) CheckRoles(existing []string) obstat.Errors {
	var out obstat.Errors
	for _, r := range s.roles {
		if slices.Contains(existing, r.name) {
			continue
		}
		e := &obstat.Error{Code: obstat.CodeUnknownName, Pos: r.pos, Msg: fmt.Sprintf("the server has no role %q", r.name)}
		if near, ok := tree.Nearest(r.name, existing...); ok {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		out = append(out, e)
	}
	out.Sort()
	return out
}

// Load reads the settings from files: config.json for the server, then
// agent.json for the agent, whatever their order. Problems come all at once.
func Load(in *dialect.Input) (*Settings, obstat.Errors) {
	r := &reader{s: &Settings{Profile: Standard, Profiles: Presets(), outside: in.Options["outside"]}}
	if r.s.outside != outsideAbsolute {
		r.s.outside = ""
	}
	if len(in.Files) == 0 {
		r.errs = obstat.Errors{{Code: obstat.CodeMissing, Msg: "no file to read a profile from"}}
	}
	files := slices.Clone(in.Files)
	slices.SortStableFunc(files, func(a, b dialect.File) int { return order(&a) - order(&b) })
	for i := range files {
		r.file(&files[i])
	}
	r.choose()
	r.checkGrants()
	r.errs.Sort()
	return r.s, r.errs
}

// order puts the server's file before the agent's.
func order(f *dialect.File) int {
	switch path.Base(strings.ReplaceAll(f.Name, `\`, "/")) {
	case "config.json":
		return 0
	case "agent.json":
		return 2
	}
	return 1
}

// A reader gathers settings and problems.
type reader struct {
	s    *Settings
	errs obstat.Errors
	f    *dialect.File
	// chosen is the profile's name and where it stands, if one is named.
	chosen    string
	chosenPos obstat.Pos
	granted   []roleUse // profiles named in grants
}

func (r *reader) fail(n *tree.Node, code obstat.Code, hint, format string, args ...any) {
	e := r.f.Problem(n.Start, code, format, args...)
	e.Hint = hint
	r.errs = append(r.errs, e)
}

func (r *reader) file(f *dialect.File) {
	r.f = f
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	r.errs = append(r.errs, f.Problems(problems)...)
	if tree.Fatal(problems) {
		return
	}
	if p := root.Want("the file", tree.Object); p != nil {
		r.errs = append(r.errs, f.Problems([]tree.Problem{*p})...)
		return
	}
	r.keys(root, "the file", keyPermissions, keyGrants, keyProfiles, keyConfirmation)
	if order(f) == 2 {
		for _, key := range []string{keyGrants, keyProfiles, keyConfirmation} {
			if m := root.Member(key); m != nil {
				r.fail(m.KeyNode, obstat.CodeConflict, "move it to config.json", "%s is the server's to say, and an agent can edit its own file", key)
			}
		}
	}
	r.profiles(root.Get(keyProfiles))
	r.permissions(root.Get(keyPermissions))
	r.grants(root.Get(keyGrants))
	r.confirmation(root.Get(keyConfirmation))
}

// keys refuses a key that is written almost like one that counts; all others
// are somebody else's.
func (r *reader) keys(n *tree.Node, what string, known ...string) {
	for _, m := range n.Members {
		if slices.Contains(known, m.Key) {
			continue
		}
		if near, ok := tree.Nearest(m.Key, known...); ok {
			r.fail(m.KeyNode, obstat.CodeUnknownKey, fmt.Sprintf("write %q", near), "%s has a key %q", what, m.Key)
		}
	}
}

// permissions reads a profile's name, or a profile.
func (r *reader) permissions(n *tree.Node) {
	switch {
	case n == nil:
	case n.Is(tree.String):
		r.chosen, r.chosenPos = n.Str, r.f.Pos(n.Start)
	case n.Is(tree.Object):
		if p, ok := r.profile(n, keyPermissions); ok {
			r.s.Profiles[custom] = p
		}
		r.chosen, r.chosenPos = custom, r.f.Pos(n.Start)
	default:
		r.fail(n, obstat.CodeWrongType, "", "%s should be a profile's name or a profile, not %s", keyPermissions, n.Kind)
	}
}

// profiles reads the server's named profiles.
func (r *reader) profiles(n *tree.Node) {
	if n == nil {
		return
	}
	if p := n.Want(keyProfiles, tree.Object); p != nil {
		r.errs = append(r.errs, r.f.Problems([]tree.Problem{*p})...)
		return
	}
	for _, m := range n.Members {
		switch _, preset := Presets()[m.Key]; {
		case preset || m.Key == custom || m.Key == "" || strings.ContainsFunc(m.Key, func(c rune) bool { return c <= ' ' }):
			r.fail(m.KeyNode, obstat.CodeConflict, "", "a profile cannot be called %q", m.Key)
		default:
			if p, ok := r.profile(m.Value, m.Key); ok {
				r.s.Profiles[m.Key] = p
			}
		}
	}
}

func (r *reader) profile(n *tree.Node, name string) (Profile, bool) {
	before := len(r.errs)
	list := []tree.Kind{tree.Array}
	for _, p := range n.Check(tree.Field{Name: keyAllow, Kinds: list, Required: true}, tree.Field{Name: keyAsk, Kinds: list, Required: true}, tree.Field{Name: keyDeny, Kinds: list}) {
		if p.Code != tree.CodeUnknown && p.Code != tree.CodeCase { // keys has its own view of these
			r.errs = append(r.errs, r.f.Problems([]tree.Problem{p})...)
		}
	}
	r.keys(n, "the profile "+name, keyAllow, keyAsk, keyDeny)
	p := Profile{Layer: r.f.Layer, Deny: r.patterns(n, keyDeny), Allow: r.patterns(n, keyAllow), Ask: r.patterns(n, keyAsk)}
	return p, (r.errs[before:]).Fatal() == nil
}

// patterns reads and compiles a list of expressions.
func (r *reader) patterns(n *tree.Node, key string) []Pattern {
	list := n.Get(key)
	if !list.Is(tree.Array) {
		return nil
	}
	nodes, problems := list.Strings(key)
	r.errs = append(r.errs, r.f.Problems(problems)...)
	var out []Pattern
	for _, node := range nodes {
		out = append(out, Pattern{node.Str, r.f.Pos(node.Start)})
		if _, err := pattern.Compile(pattern.Full, node.Str); err != nil {
			r.badPattern(node, key, err)
		}
	}
	return out
}

// badPattern points at the very place in the expression.
func (r *reader) badPattern(n *tree.Node, key string, err error) {
	e := r.f.Problem(n.Start, obstat.CodeBadPattern, "Invalid %s pattern: %v", key, err)
	if se, ok := err.(*pattern.SyntaxError); ok {
		e.Pos = r.f.Within(n, se.Offset)
	}
	r.errs = append(r.errs, e)
}

func (r *reader) grants(n *tree.Node) {
	if n == nil {
		return
	}
	if p := n.Want(keyGrants, tree.Object); p != nil {
		r.errs = append(r.errs, r.f.Problems([]tree.Problem{*p})...)
		return
	}
	r.s.Grants = map[string][]string{}
	for _, m := range n.Members {
		r.role(m.KeyNode, m.Key)
		if p := m.Value.Want(keyGrants+"."+m.Key, tree.Array); p != nil {
			r.errs = append(r.errs, r.f.Problems([]tree.Problem{*p})...)
			continue
		}
		nodes, problems := m.Value.Strings(keyGrants + "." + m.Key)
		r.errs = append(r.errs, r.f.Problems(problems)...)
		for _, node := range nodes {
			r.s.Grants[m.Key] = append(r.s.Grants[m.Key], node.Str)
			r.granted = append(r.granted, roleUse{node.Str, r.f.Pos(node.Start)})
		}
	}
}

// role takes note of a role's name.
func (r *reader) role(n *tree.Node, name string) {
	if strings.TrimSpace(name) == "" {
		r.fail(n, obstat.CodeBadValue, "", "a role has no name")
		return
	}
	if name == RoleAdministrator {
		return
	}
	r.s.roles = append(r.s.roles, roleUse{name, r.f.Pos(n.Start)})
}

func (r *reader) confirmation(n *tree.Node) {
	if n == nil {
		return
	}
	problems := n.Check(tree.Field{Name: keyTimeout, Kinds: []tree.Kind{tree.Number}}, tree.Field{Name: keyApprovers, Kinds: []tree.Kind{tree.Array}})
	r.errs = append(r.errs, r.f.Problems(problems)...)
	if t := n.Get(keyTimeout); t.Is(tree.Number) {
		secs, err := strconv.ParseFloat(t.Num, 64)
		if err != nil || secs < 1 || secs > 24*3600 {
			r.fail(t, obstat.CodeBadValue, "", "%s should lie between 1 and 86400, not %s", keyTimeout, t.Num)
		} else {
			r.s.Timeout = time.Duration(secs * float64(time.Second))
		}
	}
	list := n.Get(keyApprovers)
	if !list.Is(tree.Array) {
		return
	}
	nodes, problems := list.Strings(keyApprovers)
	r.errs = append(r.errs, r.f.Problems(problems)...)
	r.s.Approvers = []string{}
	for _, node := range nodes {
		r.role(node, node.Str)
		r.s.Approvers = append(r.s.Approvers, node.Str)
	}
	if len(nodes) == 0 {
		r.fail(list, obstat.CodeBadValue, "leave it out, and whoever started the session may answer", "no role may answer a confirmation: every ask would be denied")
	}
}

// choose settles which profile is the agent's, once all files are read.
func (r *reader) choose() {
	if r.chosen == "" && !r.chosenPos.IsValid() {
		return
	}
	r.s.Profile = r.chosen
	if _, ok := r.s.Profiles[r.chosen]; !ok && r.errs.Fatal() == nil {
		r.errs = append(r.errs, r.unknownProfile(r.chosen, r.chosenPos))
	}
}

func (r *reader) unknownProfile(name string, pos obstat.Pos) *obstat.Error {
	e := &obstat.Error{Code: obstat.CodeUnknownName, Pos: pos,
		Msg: fmt.Sprintf("Unknown permission preset: '%s'. Available: %s", name, strings.Join(r.s.names(), ", "))}
	if near, ok := tree.Nearest(name, r.s.names()...); ok {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	if name == "guarded" {
		e.Hint = "the shipped program has it, the document does not: write its lists as a profile under permission_profiles"
	}
	return e
}

func (r *reader) checkGrants() {
	for _, g := range r.granted {
		if _, ok := r.s.Profiles[g.name]; !ok {
			r.errs = append(r.errs, r.unknownProfile(g.name, g.pos))
		}
	}
}

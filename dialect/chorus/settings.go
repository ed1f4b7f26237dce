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
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// The keys of the files. The first two are the document's; the others, for
// named profiles and confirmations, are ours.
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
	// Approvers are the roles that may answer a confirmation; none: the user of
	// the session, and administrators.
	Approvers []string

	outside string
	roles   []roleUse
}

// A roleUse is the name of a role, or of a profile, in a file.
type roleUse struct {
	name string
	pos  obstat.Pos
}

func (s *Settings) params() (json.RawMessage, error) {
	return json.Marshal(params{Outside: s.outside, Profiles: s.names(), Grants: s.Grants})
}

// CheckRoles reports every role of the settings that the server does not have:
// it can never be used.
func (s *Settings) CheckRoles(existing []string) obstat.Errors {
	var out obstat.Errors
	for _, r := range s.roles {
		if !slices.Contains(existing, r.name) {
			out = append(out, &obstat.Error{Code: obstat.CodeUnknownName, Pos: r.pos,
				Msg: fmt.Sprintf("the server has no role %q", r.name), Hint: dialect.Near(r.name, existing...)})
		}
	}
	out.Sort()
	return out
}

// Load reads the settings from files: config.json for the server, then
// agent.json for the agent, whatever their order. Problems come all at once.
func Load(in *dialect.Input) (*Settings, obstat.Errors) {
	r := &reader{s: &Settings{Profile: Standard, Profiles: Presets()}}
	if in.Options["outside"] == outsideAbsolute {
		r.s.outside = outsideAbsolute
	}
	if len(in.Files) == 0 {
		r.Errs = obstat.Errors{{Code: obstat.CodeMissing, Msg: "no file to read a profile from"}}
	}
	files := slices.Clone(in.Files)
	slices.SortStableFunc(files, func(a, b dialect.File) int { return order(&a) - order(&b) })
	for i := range files {
		if root := r.Parse(&files[i], textedit.JSON); r.Is(root, "the file", tree.Object) {
			r.file(root)
		}
	}
	r.choose()
	for _, g := range r.granted {
		r.checkProfile(g)
	}
	r.Errs.Sort()
	return r.s, r.Errs
}

// order puts the server's file before the agent's.
func order(f *dialect.File) int {
	switch path.Base(strings.ReplaceAll(f.Name, `\`, "/")) {
	case "config.json":
		return 0
	case "agent.json":
		return orderAgent
	}
	return 1
}

// orderAgent is the order of the agent's own file.
const orderAgent = 2

// A reader gathers settings and problems.
type reader struct {
	kit.Reader
	s       *Settings
	chosen  *roleUse  // the profile that is named last
	granted []roleUse // profiles named in grants
}

func (r *reader) file(root *tree.Node) {
	r.keys(root, "the file", keyPermissions, keyGrants, keyProfiles, keyConfirmation)
	if m := root.Member(keyAllow); m != nil && root.Get(keyPermissions) == nil && bareProfile(root) {
		r.Fail(m.KeyNode, obstat.CodeUnknownKey, `write {"permissions": {"allow": [...], "ask": [...]}}`,
			"the lists of a profile stand under permissions")
	}
	if order(r.File) == orderAgent {
		for _, key := range []string{keyGrants, keyProfiles, keyConfirmation} {
			if m := root.Member(key); m != nil {
				r.Fail(m.KeyNode, obstat.CodeConflict, "move it to config.json",
					"%s is the server's to say, and an agent can edit its own file", key)
			}
		}
	}
	r.profiles(root.Get(keyProfiles))
	r.permissions(root.Get(keyPermissions))
	r.grants(root.Get(keyGrants))
	r.confirmation(root.Get(keyConfirmation))
}

// keys refuses a key that is written almost like one that counts; the files have other
// readers, so all others stay.
func (r *reader) keys(n *tree.Node, what string, known ...string) {
	for _, m := range n.Members {
		if hint := dialect.Near(m.Key, known...); hint != "" && !slices.Contains(known, m.Key) {
			r.Fail(m.KeyNode, obstat.CodeUnknownKey, hint, "%s has a key %q", what, m.Key)
		}
	}
}

// permissions reads a profile's name, or a profile.
func (r *reader) permissions(n *tree.Node) {
	if !r.Is(n, keyPermissions, tree.String, tree.Object) {
		return
	}
	r.chosen = &roleUse{n.Str, r.Pos(n)}
	if n.Is(tree.Object) {
		r.chosen.name = custom
		r.profile(n, custom)
	}
}

// profiles reads the server's named profiles.
func (r *reader) profiles(n *tree.Node) {
	for _, m := range r.Members(n, keyProfiles) {
		if _, preset := Presets()[m.Key]; preset || m.Key == custom || m.Key == "" || strings.ContainsFunc(m.Key, blank) {
			r.Fail(m.KeyNode, obstat.CodeConflict, "", "a profile cannot be called %q", m.Key)
			continue
		}
		r.profile(m.Value, m.Key)
	}
}

// profile reads a profile; one with a mistake is none.
func (r *reader) profile(n *tree.Node, name string) {
	before := len(r.Errs)
	list := []tree.Kind{tree.Array}
	for _, p := range n.Check(tree.Field{Name: keyAllow, Kinds: list, Required: true},
		tree.Field{Name: keyAsk, Kinds: list, Required: true}, tree.Field{Name: keyDeny, Kinds: list}) {
		if p.Code != tree.CodeUnknown && p.Code != tree.CodeCase { // keys has its own view of these
			r.Add(p)
		}
	}
	r.keys(n, "the profile "+name, keyAllow, keyAsk, keyDeny)
	p := Profile{Deny: r.patterns(n, keyDeny, obstat.Deny), Allow: r.patterns(n, keyAllow, obstat.Allow),
		Ask: r.patterns(n, keyAsk, obstat.Ask)}
	if r.Errs[before:].Fatal() == nil {
		r.s.Profiles[name] = p
	}
}

// patterns reads and compiles a list of expressions.
func (r *reader) patterns(n *tree.Node, key string, v obstat.Verdict) (out []obstat.Rule) {
	if !n.Get(key).Is(tree.Array) {
		return nil
	}
	for _, n := range r.Texts(n.Get(key), key) {
		made := rule(n.Str, v)
		made.Layer, made.Pos = r.File.Layer, r.Pos(n)
		out = append(out, made)
		r.Compiles(n, made.Pattern, fmt.Sprintf("Invalid %s pattern", key))
	}
	return out
}

func (r *reader) grants(n *tree.Node) {
	if !r.Is(n, keyGrants, tree.Object) {
		return
	}
	r.s.Grants = map[string][]string{}
	for _, m := range n.Members {
		r.role(m.KeyNode, m.Key)
		for _, n := range r.Texts(m.Value, keyGrants+"."+m.Key) {
			r.s.Grants[m.Key] = append(r.s.Grants[m.Key], n.Str)
			r.granted = append(r.granted, roleUse{n.Str, r.Pos(n)})
		}
	}
}

// role takes note of a role's name.
func (r *reader) role(n *tree.Node, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		r.Fail(n, obstat.CodeBadValue, "", "a role has no name")
	case name != RoleAdministrator:
		r.s.roles = append(r.s.roles, roleUse{name, r.Pos(n)})
	}
}

func (r *reader) confirmation(n *tree.Node) {
	r.Add(n.Check(tree.Field{Name: keyTimeout, Kinds: []tree.Kind{tree.Number}},
		tree.Field{Name: keyApprovers, Kinds: []tree.Kind{tree.Array}})...)
	if t := n.Get(keyTimeout); t.Is(tree.Number) {
		secs, err := strconv.ParseFloat(t.Num, 64)
		if err != nil || secs < 1 || secs > 24*3600 {
			r.Fail(t, obstat.CodeBadValue, "", "%s should lie between 1 and 86400, not %s", keyTimeout, t.Num)
		} else {
			r.s.Timeout = time.Duration(secs * float64(time.Second))
		}
	}
	list := n.Get(keyApprovers)
	if !list.Is(tree.Array) {
		return
	}
	r.s.Approvers = []string{}
	for _, n := range r.Texts(list, keyApprovers) {
		r.role(n, n.Str)
		r.s.Approvers = append(r.s.Approvers, n.Str)
	}
	if len(r.s.Approvers) == 0 {
		r.Fail(list, obstat.CodeBadValue, "leave it out, and whoever started the session may answer",
			"no role may answer a confirmation: every ask would be denied")
	}
}

// choose settles which profile is the agent's, once all files are read.
func (r *reader) choose() {
	if r.chosen == nil {
		return
	}
	r.s.Profile = r.chosen.name
	if r.Errs.Fatal() == nil {
		r.checkProfile(*r.chosen)
	}
}

// checkProfile reports a profile that does not exist.
func (r *reader) checkProfile(use roleUse) {
	if _, ok := r.s.Profiles[use.name]; ok {
		return
	}
	e := &obstat.Error{Code: obstat.CodeUnknownName, Pos: use.pos, Hint: dialect.Near(use.name, r.s.names()...),
		Msg: fmt.Sprintf("Unknown permission preset: '%s'. Available: %s", use.name, strings.Join(r.s.names(), ", "))}
	if use.name == "guarded" {
		e.Hint = "the shipped program has it, the document does not: write its lists as a profile under permission_profiles"
	}
	r.Errs = append(r.Errs, e)
}

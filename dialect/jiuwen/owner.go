package jiuwen

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// The modes of a Program beside the document's own: a call on behalf of another user names
// one of them.
const (
	// ModeGlobal is the policy of the document, for the user of the agent.
	ModeGlobal obstat.Mode = "global"
	// ModeOwner is for a call on behalf of Call.User on Call.Channel: one that
	// owner_scopes grants need not ask, any other is denied.
	ModeOwner obstat.Mode = "owner"
	// ModeAvatar is for a digital persona or a group chat: owner_scopes and the
	// policy must both allow, and where they would ask the answer is no.
	ModeAvatar obstat.Mode = "avatar"
)

const (
	stageOwnerDeny  = "owner scopes: not granted"
	stageOwnerAllow = "owner scopes: granted"
	stageAvatar     = "digital persona"
)

// ownerConfig is owner_scopes: the scope of each channel and user.
type ownerConfig map[string]map[string]ownerScope

// An ownerScope lists the tools that one user of one channel may use.
type ownerScope struct {
	Tools   map[string]ownerTool `json:"tools,omitempty"`
	Default string               `json:"default,omitempty"` // defaults."*" as written
}

// An ownerTool is a tool's entry: the first pattern that matches, or else Level.
type ownerTool struct {
	Level    string         `json:"level,omitempty"`
	Patterns []ownerPattern `json:"patterns,omitempty"`
}

type ownerPattern struct {
	Pattern string `json:"pattern"`
	Level   string `json:"level"`
}

// owners reads owner_scopes. Its levels are kept as written: "ALLOW" is not
// allow, and any other text than allow does not allow.
func (r *reader) owners(n *tree.Node) ownerConfig {
	out := ownerConfig{}
	for _, channel := range r.members(n, "owner_scopes") {
		out[channel.Key] = map[string]ownerScope{}
		for _, user := range r.members(channel.Value, "owner_scopes."+channel.Key) {
			out[channel.Key][user.Key] = r.ownerScope(user.Value)
		}
	}
	return out
}

func (r *reader) ownerScope(n *tree.Node) ownerScope {
	s := ownerScope{Default: r.ownerLevel(n.Get("defaults").Get("*")), Tools: map[string]ownerTool{}}
	for _, m := range r.members(n.Get("tools"), "tools of owner_scopes") {
		t := ownerTool{Level: r.ownerLevel(m.Value)}
		if m.Value.Is(tree.Object) {
			t.Level = r.ownerLevel(m.Value.Get("*"))
			for _, p := range r.members(m.Value.Get("patterns"), "patterns of owner_scopes") {
				t.Patterns = append(t.Patterns, ownerPattern{p.Key, r.ownerLevel(p.Value)})
			}
		}
		s.Tools[m.Key] = t
	}
	return s
}

func (r *reader) ownerLevel(n *tree.Node) string {
	if !n.Is(tree.String) {
		return ""
	}
	if _, err := obstat.ParseVerdict(n.Str); err != nil {
		r.Warn(n, obstat.CodeBadValue, "owner_scopes takes allow, ask and deny in just these letters",
			"%q is no level and allows nothing", n.Str)
	}
	return n.Str
}

// level returns the level of a call in owner_scopes, "" if there is none.
func (c ownerConfig) level(channel, user, tool string, args *tree.Node) string {
	s, ok := c[channel][user]
	if !ok {
		return ""
	}
	t := s.Tools[tool]
	for _, p := range t.Patterns {
		if p.matches(args) {
			return p.Level
		}
	}
	if t.Level != "" {
		return t.Level
	}
	return s.Default
}

// matches compiles the pattern on every call: owner scopes are few, and only
// calls for another user are looked up in them.
func (p *ownerPattern) matches(args *tree.Node) bool {
	compiled, err := pattern.Compile(pattern.Search, wildcard(p.Pattern, true))
	if err != nil || p.Pattern == "" {
		return false
	}
	for _, s := range argTexts(args) {
		if ok, err := compiled.Match(s); ok && err == nil {
			return true
		}
	}
	return false
}

// owner is the policy for a call on behalf of another user. A grant replaces the
// question that the policy would ask; it does not lift a denial of the policy.
func owner(p obstat.Pipeline) obstat.Pipeline {
	grant := func(name string, pass obstat.Outcomes) obstat.Stage {
		return obstat.Check{Name: name, Check: checkOwner, Pass: pass}
	}
	stages := []obstat.Stage{grant(stageOwnerDeny, obstat.CheckAllow)}
	granted := false
	for _, s := range p.Stages {
		if m, ok := s.(obstat.Match); !granted && (!ok || m.Settle != obstat.SetOf(obstat.Deny)) && s.StageName() != stageChannel {
			stages, granted = append(stages, grant(stageOwnerAllow, 0)), true
		}
		stages = append(stages, s)
	}
	p.Stages = stages
	return p
}

// avatar is the policy for a digital persona, without a human to ask. A
// grant counts by itself only where the policy says nothing at all.
func avatar(p obstat.Pipeline) obstat.Pipeline {
	// AskDenies says that no human answers in this mode: an ask of the floor denies.
	p.Stages = append(slices.Clone(p.Stages), obstat.Check{Name: stageOwnerAllow, Check: checkOwner, AskDenies: true})
	p.Amend = append(slices.Clone(p.Amend), obstat.Check{Name: stageAvatar, Check: checkAvatar})
	return p
}

// An ownerCheck looks a call up in owner_scopes.
type ownerCheck struct {
	*params
	avatar bool
}

// Check answers by the user's scope. For a digital persona a call that would have to ask is
// denied, and so is one without a user.
func (c ownerCheck) Check(f *obstat.Facts) obstat.Finding {
	args, err := arguments(f)
	if err != nil {
		return obstat.Finding{Note: err.Error()}
	}
	if c.avatar && f.Call.User == "" {
		return obstat.Finding{Note: "a digital persona acts for a user, and the call names none"}
	}
	level := c.Owners.level(f.Call.Channel, f.Call.User, f.Call.Tool, args)
	switch {
	case level != "" && level != "allow":
		return obstat.Finding{Note: "owner_scopes says " + level + " for " + f.Call.User + " on " + f.Call.Channel}
	case c.avatar && f.Settled != nil && f.Settled.Verdict == obstat.Ask:
		return obstat.Finding{Note: "this would ask, and a digital persona has nobody to ask"}
	case level == "allow" && !c.avatar:
		return obstat.Finding{Verdict: obstat.Allow,
			Note: "owner_scopes grants it to " + f.Call.User + " on " + f.Call.Channel}
	}
	return obstat.Finding{Pass: true}
}

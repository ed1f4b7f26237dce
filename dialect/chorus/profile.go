package chorus

import (
	"maps"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// The presets.
const (
	Open     = "open"
	Standard = "standard" // the default for agents that name none
	Locked   = "locked"
)

// custom is the name of a profile that an agent's file spells out in place of a
// name.
const custom = "custom"

// A Pattern is a regular expression of a profile and where it was written.
type Pattern struct {
	Text string
	Pos  obstat.Pos
}

// A Profile gives an agent its permissions: an action that matches a pattern of
// Allow is allowed, else one that matches Ask is put to a human, and the rest is
// denied.
type Profile struct {
	Allow, Ask []Pattern
	// Deny comes first. The document has no such list, the shipped program has
	// one, and a file that uses it must not mean less than it says.
	Deny  []Pattern
	Layer string
}

// Presets returns the three presets of the document, by name.
func Presets() map[string]Profile {
	list := func(texts ...string) []Pattern {
		var out []Pattern
		for _, t := range texts {
			out = append(out, Pattern{Text: t})
		}
		return out
	}
	return map[string]Profile{
		Open: {Allow: list("tool:.*")},
		Standard: {
			Allow: list("tool:create_file:.*", "tool:str_replace:.*", "tool:view:.*", "tool:git:init", "tool:git:commit", "tool:git:branch .*"),
			Ask:   list("tool:bash:.*", "tool:git:push .*", "tool:git:merge_request .*", "tool:self_edit:.*"),
		},
		Locked: {Allow: list("tool:view:.*")},
	}
}

// The stages of a profile's pipeline.
const (
	stageDeny  = "deny patterns"
	stageAllow = "allow patterns"
	stageAsk   = "ask patterns"
	stageLines = "line breaks"
	stageRoles = "role check"
)

// pipeline is the document's matching order: allow, ask, implicit deny.
func (p *Profile) pipeline(name string) obstat.Pipeline {
	var stages []obstat.Stage
	if len(p.Deny) > 0 {
		stages = append(stages, obstat.Match{Name: stageDeny, Rules: name + " deny"})
	}
	return obstat.Pipeline{
		Stages: append(stages,
			obstat.Match{Name: stageAllow, Rules: name + " allow"},
			obstat.Match{Name: stageAsk, Rules: name + " ask"},
			obstat.Check{Name: stageLines, Check: checkLines, Pass: obstat.CheckAllow | obstat.PlainAsk | obstat.SafetyAsk}),
		Default: obstat.Deny,
		Amend:   []obstat.Stage{obstat.Check{Name: stageRoles, Check: checkRoles}},
	}
}

func (p *Profile) rules(name string, into map[string][]obstat.Rule) {
	into[name+" allow"] = p.list(p.Allow, obstat.Allow, fieldAction)
	into[name+" ask"] = p.list(p.Ask, obstat.Ask, fieldAction)
	if len(p.Deny) > 0 {
		into[name+" deny"] = append(p.list(p.Deny, obstat.Deny, fieldAction), p.list(p.Deny, obstat.Deny, fieldSpelled)...)
	}
}

func (p *Profile) list(patterns []Pattern, v obstat.Verdict, field string) []obstat.Rule {
	out := make([]obstat.Rule, len(patterns))
	for i, pat := range patterns {
		out[i] = obstat.Rule{Field: field, Pattern: obstat.Text{Flavour: pattern.Full, Text: pat.Text}, Verdict: v, Source: pat.Text, Layer: p.Layer, Pos: pat.Pos}
	}
	return out
}

// faces are the tools whose path rules judge what a command does to files.
func faces() map[string]obstat.Face {
	return map[string]obstat.Face{
		obstat.FaceRead:  {Tool: "view", Field: "path"},
		obstat.FaceWrite: {Tool: "create_file", Field: "path"},
	}
}

// Program returns the settings as data: a pipeline for every profile that
// exists, the agent's own in force.
func (s *Settings) Program() (*obstat.Program, error) {
	prog := &obstat.Program{Dialect: Name, Mode: obstat.Mode(s.Profile), View: viewName, Faces: faces(),
		Pipelines: map[obstat.Mode]obstat.Pipeline{}, Rules: map[string][]obstat.Rule{}}
	for name, p := range s.Profiles {
		prog.Pipelines[obstat.Mode(name)] = p.pipeline(name)
		p.rules(name, prog.Rules)
	}
	var err error
	prog.Params, err = s.params()
	return prog, err
}

func (s *Settings) names() []string { return slices.Sorted(maps.Keys(s.Profiles)) }

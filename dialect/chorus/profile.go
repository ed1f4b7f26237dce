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

// A Profile gives an agent its permissions: an action that matches a pattern of
// Allow is allowed, else one that matches Ask is put to a human, and the rest is
// denied. The text of a pattern is its rule's Source.
type Profile struct {
	Allow, Ask []obstat.Rule
	// Deny comes first. The document has no such list, the shipped program has
	// one, and a file that uses it must not mean less than it says.
	Deny []obstat.Rule
}

// rule returns the rule of a pattern over actions.
func rule(text string, v obstat.Verdict) obstat.Rule {
	return obstat.Rule{Field: fieldAction, Pattern: obstat.Text{Flavour: pattern.Full, Text: text}, Verdict: v,
		Source: text}
}

// Presets returns the three presets of the document, by name.
func Presets() map[string]Profile {
	list := func(v obstat.Verdict, texts ...string) (out []obstat.Rule) {
		for _, t := range texts {
			out = append(out, rule(t, v))
		}
		return out
	}
	return map[string]Profile{
		Open: {Allow: list(obstat.Allow, "tool:.*")},
		Standard: {
			Allow: list(obstat.Allow, "tool:create_file:.*", "tool:str_replace:.*", "tool:view:.*", "tool:git:init",
				"tool:git:commit", "tool:git:branch .*"),
			Ask: list(obstat.Ask, "tool:bash:.*", "tool:git:push .*", "tool:git:merge_request .*", "tool:self_edit:.*"),
		},
		Locked: {Allow: list(obstat.Allow, "tool:view:.*")},
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

// rules puts the lists of a profile into those of a Program. A deny pattern is also
// held to an action as it was spelled.
func (p *Profile) rules(name string, into map[string][]obstat.Rule) {
	into[name+" allow"], into[name+" ask"] = append([]obstat.Rule{}, p.Allow...), append([]obstat.Rule{}, p.Ask...)
	if len(p.Deny) > 0 {
		spelled := slices.Clone(p.Deny)
		for i := range spelled {
			spelled[i].Field = fieldSpelled
		}
		into[name+" deny"] = append(slices.Clip(p.Deny), spelled...)
	}
}

// faces are the tools whose path rules judge the files of commands.
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

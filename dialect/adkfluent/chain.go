package adkfluent

import (
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// The steps of the chain, as the document counts them. Steps 3, 8 and 11 are
// the defaults of their modes' pipelines.
const (
	stageDenyNames     = "deny names"          // 1
	stageDenyPatterns  = "deny patterns"       // 2
	stagePlan          = "plan: mutating tool" // 4
	stageAllowNames    = "allow names"         // 5
	stageAllowPatterns = "allow patterns"      // 6
	stageAcceptEdits   = "accept_edits: mutating tool"
	stageAskNames      = "ask names"    // 9
	stageAskPatterns   = "ask patterns" // 10
)

// chain returns the eleven steps as far as they can be reached in mode.
func chain(mode obstat.Mode, mutating []string) obstat.Pipeline {
	list := func(name string) obstat.Stage {
		return obstat.Match{Name: name, Rules: name, AskDenies: mode == ModeDontAsk} // the floor's ask, too
	}
	stages := []obstat.Stage{list(stageDenyNames), list(stageDenyPatterns)}
	if mode == ModeBypass {
		return obstat.Pipeline{Stages: stages, Default: obstat.Allow}
	}
	if mode == ModePlan {
		stages = append(stages, obstat.When{Name: stagePlan, Tools: mutating, Then: obstat.Deny})
	}
	stages = append(stages, list(stageAllowNames), list(stageAllowPatterns))
	if mode == ModeAcceptEdits {
		stages = append(stages, obstat.When{Name: stageAcceptEdits, Tools: mutating, Then: obstat.Allow})
	}
	if mode == ModeDontAsk {
		return obstat.Pipeline{Stages: stages, Default: obstat.Deny}
	}
	return obstat.Pipeline{Stages: append(stages, list(stageAskNames), list(stageAskPatterns)), Default: obstat.Ask}
}

// Program returns the policy as data: a pipeline for each of the five modes,
// so that a call can name another mode than the policy's.
func (p *Policy) Program() *obstat.Program {
	prog := &obstat.Program{
		Dialect: Name, Mode: p.mode,
		Pipelines: make(map[obstat.Mode]obstat.Pipeline, 5),
		Rules: map[string][]obstat.Rule{
			stageDenyNames: rules(p.names.deny, obstat.Deny), stageDenyPatterns: rules(p.patterns.deny, obstat.Deny),
			stageAllowNames: rules(p.names.allow, obstat.Allow), stageAllowPatterns: rules(p.patterns.allow, obstat.Allow),
			stageAskNames: rules(p.names.ask, obstat.Ask), stageAskPatterns: rules(p.patterns.ask, obstat.Ask),
		},
	}
	for _, mode := range Modes() {
		pl := chain(mode, p.mutating)
		for i := range p.refiners {
			pl.Amend = append(pl.Amend, obstat.Check{Name: refinerName(i)})
		}
		prog.Pipelines[mode] = pl
	}
	return prog.WithFloor(!p.bare)
}

func refinerName(i int) string { return fmt.Sprintf("refiner %d", i+1) }

func rules(list []entry, v obstat.Verdict) []obstat.Rule {
	out := make([]obstat.Rule, len(list))
	for i, e := range list {
		out[i] = obstat.Rule{Tool: e.tool(), Verdict: v, Source: e.text, Layer: e.layer, Pos: e.pos}
	}
	return out
}

// tool is the entry as the rule's pattern over tool names. The engine knows no
// exact rule for a tool without a name, the original does: there a glob says it.
func (e *entry) tool() obstat.Text {
	switch {
	case e.how != "":
		return obstat.Text{Flavour: e.how.flavour(), Text: e.text}
	case e.text == "":
		return obstat.Text{Flavour: pattern.Fnmatch}
	}
	return obstat.Is(e.text)
}

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

// A list is one of a policy's lists: its key in a file, and the step that it is.
type list struct {
	key, stage string
	verdict    obstat.Verdict
	patterns   bool
}

// lists are a policy's lists; a name counts in the first that has it.
var lists = [...]list{
	{"deny", stageDenyNames, obstat.Deny, false}, {"allow", stageAllowNames, obstat.Allow, false}, {"ask", stageAskNames,
		obstat.Ask, false},
	{"deny_patterns", stageDenyPatterns, obstat.Deny, true}, {"allow_patterns", stageAllowPatterns, obstat.Allow,
		true}, {"ask_patterns", stageAskPatterns, obstat.Ask, true},
}

// The places of the lists of names.
const (
	denyNames = iota
	allowNames
	askNames
	_
	_
	askPatterns
)

// rule returns the rule of an entry of the list. The engine knows no exact rule for a
// tool without a name, the original does: there a glob says it.
func (l *list) rule(text string, how PatternMode) obstat.Rule {
	r := obstat.Rule{Tool: obstat.Is(text), Verdict: l.verdict, Source: text}
	switch {
	case l.patterns:
		r.Tool.Flavour = how.flavour()
	case text == "":
		r.Tool.Flavour = pattern.Fnmatch
	}
	return r
}

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
	prog := &obstat.Program{Dialect: Name, Mode: p.mode, Pipelines: map[obstat.Mode]obstat.Pipeline{},
		Rules: map[string][]obstat.Rule{}}
	for i := range lists {
		prog.Rules[lists[i].stage] = append([]obstat.Rule{}, p.rules[i]...)
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

package agentscope

import (
	"slices"

	"github.com/obstat/obstat"
)

// The five modes, each a flowchart of the document, box by box.

// The boxes that all flowcharts share.
var (
	denyRules  = obstat.Match{Name: "deny rules", Rules: "deny"}
	askRules   = obstat.Match{Name: "ask rules", Rules: "ask"}
	allowRules = obstat.Match{Name: "allow rules", Rules: "allow"}
	// readOnly is the box check_read_only? whose no goes on.
	readOnly = obstat.When{Name: "read-only", Is: readOnlyName, Then: obstat.Allow}
)

const (
	modeDefault     = "default"
	modeAcceptEdits = "accept_edits"
	modeExplore     = "explore"
	modeBypass      = "bypass"
	modeDontAsk     = "dont_ask"
)

var modeNames = []string{modeDefault, modeAcceptEdits, modeExplore, modeBypass, modeDontAsk}

// toolCheckName is the box in which a tool checks its own call.
const toolCheckName = "tool check"

func toolCheck(pass obstat.Outcomes) obstat.Check {
	return obstat.Check{Name: toolCheckName, Check: checkName, Pass: pass}
}

// A release is which AgentScope the flowcharts are of: the document's, or 2.0.5
// and later, where read-only calls are allowed in every mode.
type release struct{ head bool }

// since205 returns the read-only box of the modes that got it in 2.0.5, nil before.
func (r release) since205() obstat.Stage {
	if r.head {
		return readOnly
	}
	return nil
}

// boxes returns the stages that are there, in order.
func boxes(stages ...obstat.Stage) []obstat.Stage {
	return slices.DeleteFunc(stages, func(s obstat.Stage) bool { return s == nil })
}

// pipelines returns all modes.
func (r release) pipelines() map[obstat.Mode]obstat.Pipeline {
	return map[obstat.Mode]obstat.Pipeline{
		modeDefault: r.defaultMode(), modeAcceptEdits: acceptEdits(), modeExplore: explore(), modeBypass: r.bypass(), modeDontAsk: r.dontAsk(),
	}
}

// defaultMode is the DEFAULT flowchart.
func (r release) defaultMode() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  boxes(denyRules, askRules, r.since205(), toolCheck(obstat.PlainAsk), allowRules),
		Default: obstat.Ask,
	}
}

// explore is the EXPLORE flowchart: the read-only verdict is final.
func explore() obstat.Pipeline {
	no := obstat.Deny
	final := readOnly
	final.Else = &no
	return obstat.Pipeline{Stages: []obstat.Stage{denyRules, askRules, final}}
}

// acceptEdits is the ACCEPT_EDITS flowchart.
func acceptEdits() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  []obstat.Stage{denyRules, askRules, readOnly, toolCheck(obstat.PlainAsk), allowRules},
		Default: obstat.Ask,
	}
}

// bypass is the BYPASS flowchart: any ask of a tool passes, matched or not.
func (r release) bypass() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  boxes(denyRules, askRules, r.since205(), toolCheck(obstat.PlainAsk|obstat.SafetyAsk), allowRules),
		Default: obstat.Allow,
	}
}

// dontAsk is the DONT_ASK flowchart: every ask is a denial.
func (r release) dontAsk() obstat.Pipeline {
	asks, check := askRules, toolCheck(0)
	asks.AskDenies, check.AskDenies = true, true
	return obstat.Pipeline{
		Stages:  boxes(denyRules, asks, r.since205(), check, allowRules),
		Default: obstat.Deny,
	}
}

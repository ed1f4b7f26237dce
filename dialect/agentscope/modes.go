package agentscope

import "github.com/obstat/obstat"

// The five modes, each a flowchart of the document, box by box.

// The boxes that all flowcharts share.
var (
	denyRules = obstat.Match{Name: "deny rules", Rules: "deny"}
	askRules  = obstat.Match{Name: "ask rules", Rules: "ask"}
)

const (
	modeDefault     = "default"
	modeAcceptEdits = "accept_edits"
	modeExplore     = "explore"
	modeBypass      = "bypass"
	modeDontAsk     = "dont_ask"
)

func allowRules() obstat.Match { return obstat.Match{Name: "allow rules", Rules: "allow"} }

func toolCheck(pass obstat.Outcomes) obstat.Check {
	return obstat.Check{Name: "tool check", Check: checkName, Pass: pass}
}

// readOnlyPass is the box check_read_only? whose no goes on.
func readOnlyPass() obstat.When {
	return obstat.When{Name: "read-only", Is: readOnlyName, Then: obstat.Allow}
}

// pipelines returns all modes; head puts the read-only box into those that got
// it in AgentScope 2.0.5.
func pipelines(head bool) map[obstat.Mode]obstat.Pipeline {
	out := map[obstat.Mode]obstat.Pipeline{
		modeDefault: defaultMode(), modeAcceptEdits: acceptEdits(), modeExplore: explore(), modeBypass: bypass(), modeDontAsk: dontAsk(),
	}
	if !head {
		return out
	}
	for _, m := range []obstat.Mode{modeDefault, modeBypass, modeDontAsk} {
		pl := out[m]
		pl.Stages = append(append(append([]obstat.Stage{}, pl.Stages[:2]...), readOnlyPass()), pl.Stages[2:]...)
		out[m] = pl
	}
	return out
}

// defaultMode is the DEFAULT flowchart.
func defaultMode() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  []obstat.Stage{denyRules, askRules, toolCheck(obstat.PlainAsk), allowRules()},
		Default: obstat.Ask,
	}
}

// explore is the EXPLORE flowchart: the read-only verdict is final.
func explore() obstat.Pipeline {
	no := obstat.Deny
	readOnly := obstat.When{Name: "read-only", Is: readOnlyName, Then: obstat.Allow, Else: &no}
	return obstat.Pipeline{Stages: []obstat.Stage{denyRules, askRules, readOnly}}
}

// acceptEdits is the ACCEPT_EDITS flowchart.
func acceptEdits() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  []obstat.Stage{denyRules, askRules, readOnlyPass(), toolCheck(obstat.PlainAsk), allowRules()},
		Default: obstat.Ask,
	}
}

// bypass is the BYPASS flowchart: any ask of a tool passes, matched or not.
func bypass() obstat.Pipeline {
	return obstat.Pipeline{
		Stages:  []obstat.Stage{denyRules, askRules, toolCheck(obstat.PlainAsk | obstat.SafetyAsk), allowRules()},
		Default: obstat.Allow,
	}
}

// dontAsk is the DONT_ASK flowchart: every ask is a denial.
func dontAsk() obstat.Pipeline {
	asks := askRules
	asks.AskDenies = true
	check := toolCheck(0)
	check.AskDenies = true
	return obstat.Pipeline{Stages: []obstat.Stage{denyRules, asks, check, allowRules()}, Default: obstat.Deny}
}

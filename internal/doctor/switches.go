package doctor

import (
	"slices"

	"github.com/obstat/obstat/internal/agents"
	"github.com/obstat/obstat/internal/tree"
)

// switches finds settings that make an agent skip hooks.
func (x *exam) switches() {
	for _, f := range x.files {
		switch x.agent.Name {
		case agents.ClaudeCode, agents.Copilot:
			x.claudeSwitches(f)
		case agents.Gemini:
			x.geminiSwitches(f)
		case agents.Codex:
			if v := f.Setting("features", "hooks"); v == "false" {
				x.off(f, nil, "features.hooks is false: Codex runs no hooks")
			}
		}
	}
}

// off notes a setting that switches hooks off; n is where it stands.
func (x *exam) off(f *agents.File, n *tree.Node, msg string) {
	line, col := 0, 0
	if n != nil {
		line, col = tree.LineCol(f.Data, n.Start)
	}
	for _, m := range x.mine {
		m.sick = true
	}
	x.out.Findings = append(x.out.Findings, Finding{Level: Error, Code: "hooks-off", File: f.Name, Line: line, Col: col, Msg: msg, Hint: "take it out"})
}

func isTrue(n *tree.Node) bool { return n.Is(tree.Bool) && n.Bool }

func (x *exam) claudeSwitches(f *agents.File) {
	managed := func(m *found) bool { return m.file.Place.Scope == agents.Managed }
	if n := f.Root.Get("disableAllHooks"); isTrue(n) && (f.Place.Scope == agents.Managed || !slices.ContainsFunc(x.mine, managed)) {
		x.off(f, n, "disableAllHooks: "+x.agent.Title+" runs no hooks")
	}
	if n := f.Root.Get("allowManagedHooksOnly"); isTrue(n) && f.Place.Scope == agents.Managed && !slices.ContainsFunc(x.mine, managed) {
		x.off(f, n, "allowManagedHooksOnly: entries outside of the machine's settings are skipped")
	}
}

func (x *exam) geminiSwitches(f *agents.File) {
	config := f.Root.Get("hooksConfig")
	if n := config.Get("enabled"); n.Is(tree.Bool) && !n.Bool {
		x.off(f, n, "hooksConfig.enabled is false: Gemini runs no hooks")
	}
	if list := config.Get("disabled"); list.Is(tree.Array) {
		for _, n := range list.Elems {
			if n.Is(tree.String) && (n.Str == "obstat" || slices.ContainsFunc(x.mine, func(m *found) bool { return m.Text == n.Str })) {
				x.off(f, n, "hooksConfig.disabled names obstat's hook")
			}
		}
	}
	if n := f.Root.At("tools", "enableHooks"); n.Is(tree.Bool) && !n.Bool {
		x.off(f, n, "tools.enableHooks is false: Gemini runs no hooks")
	}
}

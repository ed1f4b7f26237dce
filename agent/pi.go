package agent

import _ "embed"

// Pi is the name of the agent, as in `obstat hook pi`.
const Pi = "pi"

//go:embed pi_plugin.js
var piPlugin string

// pi is Pi. It has no permissions of its own, and hooks in JavaScript alone.
func pi() *Agent {
	const before, after = "tool_call", "tool_result"
	a := plugged(Pi, "Pi", piPlugin, before, after)
	a.changes, a.printed, a.printedAt = before, pluginPrinted, after
	a.ruleless = true
	a.others = "read=read:path"
	a.modes = []Mode{{Name: AnyMode, Allow: Idle,
		Says: "Pi has no rules and no prompt of its own: obstat's are the only ones."}}
	a.askings = []Asking{{Way: "interactive, -p and every mode", At: AtObstat, Says: "Pi asks nobody by itself"}}
	a.ownFile, a.places, a.forge = "obstat.js", piPlaces, pluginForge("bash", "write", "path", "content")
	a.version, a.covers = "0.74.2", piCovers
	a.brief = "no | denied | yes | denied (the extension blocks)"
	a.traits = traits{programs: "pi pi-coding-agent", process: "pi", sets: "PI_CODING_AGENT",
		bare: "pi:--no-extensions pi:-ne pi:--extension pi:-e", hooks: ".pi/settings.json .pi/agent/settings.json"}
	return a
}

var piPlaces = []place{
	{scope: User, env: "PI_CODING_AGENT_DIR", under: ".pi/agent", path: "extensions", dir: true, install: true},
	{scope: Project, path: ".pi/extensions", dir: true, install: true},
}

var piCovers = []Limit{
	{"headless runs", Yes, "-p, --mode json and --mode rpc load extensions; obstat's answer counts."},
	{"asking", No, "Pi has no prompt for calls, so an ask goes to obstat ask, and is a denial where nobody is there."},
	{"tools without a hook", No, "What the user runs with ! reaches no hook that decides."},
	{"a hook that fails", Yes, "The extension blocks where obstat is missing or dies, and Pi blocks where an extension " +
		"throws; one that does not load is a line at the start, and calls run."},
	{"a hook that is late", Yes, "Pi waits; the extension gives up after ten minutes and blocks."},
}

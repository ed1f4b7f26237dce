package agent

import _ "embed"

// Amp is the name of the agent, as in `obstat hook amp`.
const Amp = "amp"

//go:embed amp_plugin.js
var ampPlugin string

// amp is Amp. Its plugin interface was read in `amp plugins show-docs`; it was not run with a model.
func amp() *Agent {
	const before, after = "tool.call", "tool.result"
	a := plugged(Amp, "Amp", ampPlugin, before, after)
	a.printed, a.printedAt = pluginPrinted, after
	a.others = `read=Read:path fetch=read_web_page:url search=web_search:query task=Task:prompt
		mcp=mcp__SERVER__TOOL`
	a.modes = []Mode{{Name: AnyMode, Allow: Idle,
		Says: "A plugin has to answer; Amp's own permissions are documented to come beside it."}}
	a.askings = []Asking{{Way: "always", At: AtObstat, Says: "the plugin does not use Amp's own dialog"}}
	a.ownFile, a.places, a.forge = "obstat.ts", ampPlaces, pluginForge("Bash", "create_file", "path", "content")
	a.version, a.covers = "0.0.1790142911, by its documents", ampCovers
	a.brief = "no | denied | yes | denied (the plugin rejects)"
	a.traits = traits{programs: "amp", process: "amp", hooks: ".config/amp/settings.json .amp/settings.json",
		bare: "amp:--settings-file", moves: "AMP_SETTINGS_FILE"}
	return a
}

var ampPlaces = []place{
	{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "amp/plugins", dir: true, install: true},
	{scope: Project, path: ".amp/plugins", dir: true, install: true},
}

var ampCovers = []Limit{
	{"headless runs", Partly, "With -x Amp waits for plugins for --plugin-ready-timeout, and is not known to stop " +
		"without them."},
	{"asking", No, "An ask goes to obstat ask, and is a denial where nobody is there."},
	{"remote runs", No, "Threads in an orb or on a runner elsewhere load no plugin of this machine."},
	{"a hook that fails", Partly, "The plugin rejects where obstat is missing or dies; a plugin that does not load is " +
		"not documented to stop calls."},
	{"a hook that is late", Partly, "The plugin gives up after ten minutes and rejects; how long Amp waits is not " +
		"documented."},
}

package agent

import (
	_ "embed"
	"time"
)

// Amp is the name of the agent, as in `obstat hook amp`.
const Amp = "amp"

//go:embed amp_plugin.js
var ampPlugin string

// amp is Amp. Its plugin interface was read in `amp plugins show-docs`; it was not run with a model.
func amp() *Agent {
	const before, after = "tool.call", "tool.result"
	return &Agent{
		Name: Amp, Title: "Amp", Patience: time.Minute,
		wire: wire{
			marks: pluginMarks(before, after), decode: pluginDecode(before, after), encode: pluginEncode,
			printed: pluginPrinted, printedAt: after,
			others: `read=Read:path fetch=read_web_page:url search=web_search:query task=Task:prompt
				mcp=mcp__SERVER__TOOL`,
			modes: []Mode{{Name: AnyMode, Allow: Idle,
				Says: "A plugin has to answer; Amp's own permissions are documented to come beside it."}},
			askings: []Asking{{Way: "always", At: AtObstat, Says: "the plugin does not use Amp's own dialog"}},
		},
		settings: settings{
			events: []string{before}, limit: patient, places: ampPlaces,
			ownFile: "obstat.ts", own: pluginFile(Amp, "Amp", ampPlugin), script: pluginWords, reads: isScript,
			start: pluginStart, honours: pluginHonours, forge: pluginForge("Bash", "create_file", "path", "content"),
			version: "0.0.1790142911, by its documents", covers: ampCovers,
			brief: "no | denied | yes | denied (the plugin rejects)",
		},
		traits: traits{programs: "amp", process: "amp", hooks: ".config/amp/settings.json .amp/settings.json",
			bare: "amp:--settings-file", moves: "AMP_SETTINGS_FILE"},
	}
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

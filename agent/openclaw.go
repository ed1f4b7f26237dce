package agent

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// OpenClaw is the name of the agent, as in `obstat hook openclaw`.
const OpenClaw = "openclaw"

//go:embed openclaw_plugin.js
var openClawPlugin string

// openClaw is OpenClaw, by its documents: a plugin that answers before_tool_call.
func openClaw() *Agent {
	const before, after = "before_tool_call", "after_tool_call"
	a := plugged(OpenClaw, "OpenClaw", openClawPlugin, before, after)
	a.others = "read=read:path fetch=web_fetch:url search=web_search:query task=sessions_spawn:task"
	a.modes = []Mode{{Name: AnyMode, Allow: Idle,
		Says: "Without a word of the plugin its own tool policy and exec approvals follow."}}
	a.askings = []Asking{{Way: "always", At: AtObstat, Says: "an approval in a chat would be anybody's who writes there"}}
	a.ownFile, a.places, a.forge = "index.js", openClawPlaces, pluginForge("exec", "write", "path", "content")
	a.more, a.check = openClawManifest, openClawCheck
	a.version, a.covers = "2026.9, by its documents", openClawCovers
	a.brief = "no | denied | yes | denied (the plugin blocks)"
	a.traits = traits{programs: "openclaw", process: "openclaw", hooks: ".openclaw/openclaw.json .openclaw/extensions/",
		moves: "OPENCLAW_CONFIG_PATH OPENCLAW_HOME"}
	return a
}

var openClawPlaces = []place{
	{scope: User, env: "OPENCLAW_STATE_DIR", under: ".openclaw", path: "extensions/obstat", dir: true, install: true},
	{scope: User, env: "OPENCLAW_STATE_DIR", under: ".openclaw", path: "openclaw.json"},
}

var openClawCovers = []Limit{
	{"versions", Partly, "2026.4.29 and 2026.6.5 are reported not to call before_tool_call for every tool: try " +
		"`obstat doctor openclaw`, and a call that has to be denied, after each update."},
	{"other harnesses", Partly, "Calls of a Codex harness with approvalPolicy never are reported to run in spite of a " +
		"block; use that agent's own hook as well."},
	{"asking", No, "An ask goes to obstat ask, and is a denial where nobody is there."},
	{"a hook that fails", Yes, "The plugin blocks where obstat is missing or dies; a hook that throws blocks."},
	{"a hook that is late", Yes, "The plugin gives up after ten minutes and blocks."},
}

// openClawText is the manifest without which OpenClaw loads no plugin.
const openClawText = `{
  "id": "obstat",
  "name": "obstat",
  "description": "Asks obstat before every tool call",
  "activation": { "onStartup": true, "onCapabilities": ["hook"] },
  "configSchema": { "type": "object", "additionalProperties": false, "properties": {} }
}
`

// openClawManifest writes the manifest, and the entry of openclaw.json that has OpenClaw load the plugin.
func openClawManifest(t *target, _ *Request, remove bool) []Change {
	dir := filepath.Dir(t.file)
	manifest := Change{Name: filepath.Join(dir, "openclaw.plugin.json"), Edit: ifNone(openClawText, nil)}
	entry := Change{Name: filepath.Join(filepath.Dir(filepath.Dir(dir)), "openclaw.json"), Edit: openClawOn}
	if remove {
		manifest.Edit, manifest.Dir, entry.Edit = dropped(openClawText), true, openClawOff
	}
	return []Change{manifest, entry}
}

// openClawEntry is where openclaw.json says that a plugin is loaded.
var openClawEntry = []any{"plugins", "entries", "obstat"}

// openClawFresh is an openclaw.json of obstat's alone.
const openClawFresh = `{"plugins": {"entries": {"obstat": {"enabled": true}}}}` + "\n"

// openClawOn adds the entry. A file in JSON5, which cannot be edited byte by byte, is left alone: doctor says so.
func openClawOn(old []byte) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		return []byte(openClawFresh), nil
	}
	root, problems := textedit.JSONC.Parse(old)
	if tree.Fatal(problems) || root.At(openClawEntry...) != nil {
		return old, nil
	}
	return textedit.JSONC.Set(old, obj("enabled", true), openClawEntry...)
}

func openClawOff(old []byte) ([]byte, error) {
	root, problems := textedit.JSONC.Parse(old)
	switch {
	case string(old) == openClawFresh:
		return nil, nil
	case tree.Fatal(problems) || root.At(openClawEntry...) == nil:
		return old, nil
	}
	return textedit.JSONC.Delete(old, openClawEntry...)
}

// openClawCheck finds settings by which OpenClaw does not load the plugin.
func openClawCheck(s *Setup) {
	on := false
	for _, f := range s.Files {
		plugins := f.root.Get("plugins")
		entry := plugins.Get("entries").Get("obstat").Get("enabled")
		on = on || isBool(entry, true)
		if n := plugins.Get("enabled"); isBool(n, false) {
			s.off(f, n, "plugins.enabled is false: OpenClaw loads no plugins")
		}
		if isBool(entry, false) {
			s.off(f, entry, "plugins.entries.obstat.enabled is false: OpenClaw does not load obstat's plugin")
		}
		if n := plugins.Get("allow"); n.Is(tree.Array) && !lists(n, "obstat") {
			s.off(f, n, "plugins.allow has no \"obstat\": OpenClaw does not load obstat's plugin")
		}
		if n := plugins.Get("deny"); lists(n, "obstat") {
			s.off(f, n, "plugins.deny has \"obstat\": OpenClaw does not load obstat's plugin")
		}
	}
	if !on && len(s.Hooks) > 0 {
		s.Add(Warning, "not-enabled", s.Hooks[0], "openclaw plugins enable obstat, and restart the gateway",
			"no plugins.entries.obstat.enabled: OpenClaw may not load obstat's plugin")
	}
}

// lists tells whether a list has a text.
func lists(n *tree.Node, word string) bool {
	return slices.ContainsFunc(n.Items(), func(e *tree.Node) bool { return e.Is(tree.String) && e.Str == word })
}

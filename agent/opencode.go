package agent

import (
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
)

// OpenCode is the name of the agent, as in `obstat hook opencode`.
const OpenCode = "opencode"

// openCode is opencode. It has hooks in JavaScript only, so the protocol is
// between the plugin that obstat writes and obstat.
func openCode() *Agent {
	return &Agent{
		Name: OpenCode, Title: "opencode", Dialect: "opencode", Patience: time.Minute,
		wire: wire{
			decode: openCodeDecode, encode: pluginEncode, changes: executeBefore,
			printed: pluginPrinted, printedAt: executeAfter,
			marks: func(s *sent) likeness {
				return surelyIf(s.event == executeBefore || s.event == executeAfter || s.has("sessionID") && s.has("callID"))
			},
			others: `read=read:filePath delete=apply_patch:patchText fetch=webfetch:url search=websearch:query
				task=task:prompt skill=skill:name mcp=SERVER_TOOL`,
			housekeeping: "todowrite todoread question plan_enter plan_exit invalid StructuredOutput",
			modes: []Mode{{Name: AnyMode, Allow: Idle,
				Says: "Its agent's own rules and prompts follow; obstat decides with the rules of the agent that runs."}},
			starts: openCodeAnswers, askings: openCodeAskings,
		},
		settings: settings{
			events: []string{executeBefore}, limit: patient, places: openCodePlaces,
			ownFile: "obstat.js", own: pluginFile(OpenCode, "opencode", openCodePlugin), script: pluginWords,
			more:  openCodeOffline,
			note:  "Without a network opencode now waits for its plugin package at every start; see --offline.",
			reads: isScript,
			forge: openCodeForge, check: openCodeCheck,
			start:   pluginStart,
			honours: pluginHonours,
			servers: openCodeServers(),
			version: "1.18.33", covers: openCodeCovers,
			brief: "no | denied | yes | denied (the plugin throws)",
		},
		traits: traits{
			programs: "opencode opencode-ai", process: "opencode opencode-ai", sets: "OPENCODE", clients: "opencode",
			bare: "--pure --no-plugins", off: "OPENCODE_PURE",
			hooks:    ".opencode/plugin/ .config/opencode/plugin/",
			moves:    "OPENCODE_CONFIG OPENCODE_CONFIG_DIR OPENCODE_CONFIG_CONTENT OPENCODE_DISABLE_PROJECT_CONFIG",
			policies: "opencode.json opencode.jsonc .opencode/config.json .config/opencode/config.json",
			setsIn:   "opencode.json opencode.jsonc .opencode/opencode.json",
		},
	}
}

func openCodeServers() (out []serverPlace) {
	for _, file := range []string{"opencode.json", "opencode.jsonc"} {
		out = append(out, serverPlace{place: place{scope: Project, path: file}, keys: []string{"mcp"}, list: true},
			serverPlace{place: place{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/" + file},
				keys: []string{"mcp"}, list: true})
	}
	return out
}

var openCodePlaces = []place{
	{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/plugins", dir: true, install: true},
	{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.json"},
	{scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.jsonc"},
	{scope: Project, path: ".opencode/plugins", dir: true, install: true},
	{scope: Project, path: "opencode.json"},
	{scope: Project, path: "opencode.jsonc"},
}

var openCodeCovers = []Limit{
	{"subagents", Yes, "Calls of subagents, in sessions of their own, reach the plugin."},
	{"headless runs", Yes, "opencode run asks nobody; obstat's answer counts."},
	{"asking", Partly, "opencode's own prompt asks about calls that its own rules ask about; a plugin cannot ask, so " +
		"that any other ask goes to obstat ask, and is a denial where nobody is there."},
	{"a hook that fails", Partly, "The plugin throws where obstat is missing or dies; a plugin that does not load is a " +
		"line in a log, and calls run."},
	{"a hook that is late", Yes, "opencode waits; the plugin gives up after ten minutes and denies."},
	{"no network", Partly, "With a plugin opencode waits at its start for a package from the network; install with " +
		"--offline."},
}

// openCodeAnswers are the words of a command line with which opencode answers its own asks: run with no, the others
// with yes.
const openCodeAnswers = "run --auto --yolo --dangerously-skip-permissions"

var openCodeAskings = []Asking{
	{Way: "interactive and serve, where a rule of opencode's own files asks", At: AtPrompt, args: ".",
		Says: "as without obstat; `always` holds there until opencode ends"},
	{Way: "run, --auto and --yolo", At: AtObstat, args: "run --auto", Says: "opencode would answer by itself"},
	{Way: "every other ask: obstat.yaml, the floor, doom_loop, self-protection", At: AtObstat,
		Says: "a plugin cannot ask; so on macOS and Windows, where obstat cannot see the command line"},
}

const (
	executeBefore = "tool.execute.before"
	executeAfter  = "tool.execute.after"
)

// openCodeAgent is the agent of a session that names none, as in opencode itself.
const openCodeAgent = "build"

func openCodeDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "hook_event_name tool sessionID callID args agent directory approved")
	if e.Name != "" && e.Name != executeBefore && e.Name != executeAfter {
		p.noEvent(e)
	}
	e.Call = &obstat.Call{Tool: p.need(r, "tool"), Input: p.input(r, "args", false), Session: p.text(r, "sessionID"),
		Dir: p.text(r, "directory")}
	e.ToolUse, e.Mode = p.text(r, "callID"), cmp.Or(p.text(r, "agent"), openCodeAgent)
	e.Call.Mode = obstat.Mode(e.Mode)
	e.Approved = p.lists(r, "approved")
	if e.Name == executeAfter {
		p.after(e, "output", "duration_ms")
	}
}

//go:embed opencode_plugin.js
var openCodePlugin string

func openCodeForge(event, dir string, p probe) object {
	tool, args := p.as("bash", "write", "filePath", "content")
	return obj("hook_event_name", event, "tool", tool, "sessionID", canarySession, "callID", "canary", "args", args,
		"directory", dir, "approved", obj())
}

func openCodeCheck(s *Setup) {
	for _, h := range s.Hooks {
		if needsNetwork(h.File.Name) {
			s.Add(Warning, "needs-network", h, "obstat install opencode --offline",
				"without a network opencode waits for its plugin package, and does not start")
		}
	}
}

// opencode installs its plugin package into every directory with settings, and
// where there are plugins it waits for that: without a network, for ever. It does
// not where a lock file says that the package is there.

const openCodeLock = `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}` + "\n"

// openCodeModules is the text of the one file of a node_modules that obstat made.
const openCodeModules = "made by obstat install opencode --offline\n"

// openCodeOffline returns the changes that let opencode start without a network, or
// that take them back.
func openCodeOffline(t *target, r *Request, remove bool) []Change {
	files := []string{t.file}
	if user := t.agent.Target(User, r.Where); user != "" && user != t.file && !remove {
		files = append(files, user) // it waits for that directory as well
	}
	var out []Change
	for _, plugin := range files {
		dir := filepath.Dir(filepath.Dir(plugin))
		lock, modules := filepath.Join(dir, "package-lock.json"), filepath.Join(dir, "node_modules")
		switch {
		case remove:
			out = append(out, Change{Name: lock, Edit: dropped(openCodeLock)},
				Change{Name: filepath.Join(modules, ".obstat"), Edit: dropped(openCodeModules), Dir: true})
		case r.Offline:
			out = append(out, Change{Name: lock, Edit: ifNone(openCodeLock, nil)},
				Change{Name: filepath.Join(modules, ".obstat"), Edit: ifNone(openCodeModules, func() bool {
					list, _ := os.ReadDir(modules) // opencode looks for the directory alone
					return !slices.ContainsFunc(list, func(e os.DirEntry) bool {
						return !strings.HasPrefix(e.Name(), "..obstat.") /* the lock of this change */
					})
				})})
		}
	}
	return out
}

// ifNone writes a file where there is none, if that is wanted.
func ifNone(mine string, wanted func() bool) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if old != nil || wanted != nil && !wanted() {
			return old, nil
		}
		return []byte(mine), nil
	}
}

// dropped removes a file that is still as obstat wrote it.
func dropped(mine string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if string(old) == mine {
			return nil, nil
		}
		return old, nil
	}
}

// needsNetwork tells whether opencode, with this plugin, waits for the network
// when it starts.
func needsNetwork(plugin string) bool {
	dir := filepath.Dir(filepath.Dir(plugin))
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@opencode-ai", "plugin")); err == nil {
		return false
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil || !strings.Contains(string(lock), "@opencode-ai/plugin") {
		return true
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules"))
	return err != nil
}

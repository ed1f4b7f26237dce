package agent

import (
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Kiro is the name of the agent, as in `obstat hook kiro`.
const Kiro = "kiro"

// kiro is Kiro, its CLI 3 and its IDE 1, by its documents: an exit code, and words on standard error.
func kiro() *Agent {
	return &Agent{
		Name: Kiro, Title: "Kiro", Patience: time.Minute,
		wire: wire{
			marks: kiroMarks, decode: kiroDecode, encode: kiroEncode,
			others: `read=fs_read:path fetch=web_fetch:url search=web_search:query task=subagent:task
				mcp=@SERVER/TOOL`,
			housekeeping: "todo_list introspect thinking knowledge",
			modes: []Mode{{Name: AnyMode, Allow: Idle,
				Says: "Its own permissions and its prompt follow; it cannot be told to ask."}},
			askings: []Asking{{Way: "always", At: AtObstat}},
		},
		settings: settings{
			events: []string{preToolUse}, limit: patient,
			places: kiroPlaces, guard: guardSuffix, ownFile: "obstat.json", own: kiroFile, script: kiroWords,
			reads:   func(name string) bool { return strings.HasSuffix(name, ".json") },
			honours: func(_ *Hook, s *said) Outcome { return blockedIf(s.Exit == exitDeny) },
			forge:   kiroForge, check: kiroCheck,
			servers: jsonServers(".kiro/settings/mcp.json", ".kiro/settings", "mcp.json"),
			version: "CLI 3, IDE 1, by its documents", covers: kiroCovers,
			brief: "no | denied | no | denied",
		},
		traits: traits{programs: "kiro kiro-cli", process: "kiro-cli", clients: "kiro kiro-cli",
			hooks: ".kiro/agents/", setsIn: ".kiro/settings/mcp.json"},
	}
}

var kiroPlaces = []place{
	{scope: User, under: ".kiro", path: "hooks", dir: true, install: true},
	{scope: Project, path: ".kiro/hooks", dir: true, install: true},
}

var kiroCovers = []Limit{
	{"versions", Partly, "Kiro CLI 2 has hooks in the files of agents alone (.kiro/agents), and IDE 0 gives a hook no " +
		"call to judge: neither reads this file."},
	{"asking", No, "Kiro cannot be told to ask, so an ask is a denial; obstat ask can answer it."},
	{"changed arguments", No, "Arguments cannot be changed; a call that is allowed only with others is denied."},
	{"outcomes", No, "obstat registers no hook after a call: outcomes are not recorded, and outputs not masked."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2, which blocks."},
	{"a hook that is late", No, "After the time-out the call is not documented to be blocked; obstat denies before that."},
}

const kiroBefore, kiroDone = "preToolUse PreToolUse", "postToolUse PostToolUse"

const kiroOther = "agentSpawn userPromptSubmit stop SessionStart SessionEnd UserPromptSubmit Stop PreTaskExec " +
	"PostTaskExec PostFileSave PostFileCreate PostFileDelete Manual"

func kiroMarks(s *sent) likeness {
	if s.has("hook_event_name") && s.has("tool_name") && (s.told == Kiro || s.event == "preToolUse") {
		return alike
	}
	return foreign
}

func kiroDecode(p *payload, e *Event) {
	p.keys(p.root, "hook_event_name session_id cwd tool_name tool_input tool_response")
	if !p.asks(e, kiroBefore+" "+kiroDone, kiroOther) {
		return
	}
	p.claudeCall(e)
	e.Call.Mode, e.Mode = "", ""
	if server, tool, is := strings.Cut(strings.TrimPrefix(e.Call.Tool, "@"), "/"); is && e.Call.Tool[0] == '@' {
		e.Call.Tool = mcp(server, tool)
	}
	p.operations(e.Call)
	if among(kiroDone, e.Name) {
		p.after(e, "tool_response", "duration_ms")
	}
}

// operations puts the paths of a call's operations, `{"operations":[{"mode":"Line","path":"/w/a"}]}`, where rules
// look for paths.
func (p *payload) operations(c *obstat.Call) {
	list := p.root.Get("tool_input").Get("operations")
	if list == nil {
		return
	}
	var found []any
	for _, one := range list.Items() {
		if path := one.Get("path"); path.Is(tree.String) {
			found = append(found, path.Str)
		} else if path != nil || !one.Is(tree.Object) {
			p.fail("an operation's path must be text")
		}
		for _, more := range one.Get("image_paths").Items() {
			found = append(found, more.Str)
		}
	}
	c.Input = p.made("paths", found, "operations", list)
}

func kiroEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return Reply{}
	}
	return reply(nil, a.reason, exitDeny)
}

// kiroFile is a file of hooks that is obstat's alone.
func kiroFile(c Invocation) []byte {
	who := kiro()
	var hooks []any
	for _, event := range who.all() {
		hooks = append(hooks, obj("name", "obstat "+event, "description", "Written by `obstat install kiro`",
			"trigger", event, "action", obj("type", "command", "command", who.lineOf(event, c)),
			"timeout", int64(who.limit/time.Second), "enabled", true))
	}
	text, _ := textedit.JSON.Set([]byte("{}\n"), "v1", "version")
	text, _ = textedit.JSON.Set(text, hooks, "hooks")
	return text
}

// kiroWords reads a line of such a file that has a command.
func kiroWords(line string) []string {
	_, rest, is := strings.Cut(line, `"command": "`)
	n, problems := jsonx.Parse([]byte(`"`+strings.TrimRight(rest, "}, \t\r")), jsonx.Options{})
	if !is || tree.Fatal(problems) || !n.Is(tree.String) {
		return nil
	}
	return splitWords(n.Str)
}

func kiroForge(event, dir string, p probe) object {
	tool, args := p.as("execute_bash", "fs_write", "path", "file_text")
	return obj("hook_event_name", event, "session_id", canarySession, "cwd", dir, "tool_name", tool, "tool_input", args)
}

// kiroCheck finds a hook of obstat's that is switched off in its file.
func kiroCheck(s *Setup) {
	for _, h := range s.Hooks {
		root := whole(h.File.data)
		for _, n := range root.Get("hooks").Items() {
			if isBool(n.Get("enabled"), false) {
				s.idle(h, "hooks-off", s.Again(), "enabled is false: Kiro does not run this hook")
			}
		}
	}
}

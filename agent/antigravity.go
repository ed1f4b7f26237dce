package agent

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Antigravity is the name of the agent, as in `obstat hook antigravity`.
const Antigravity = "antigravity"

// antigravity is Antigravity and its CLI, agy, by its documents: the JSON decides, exit codes do not.
func antigravity() *Agent {
	return &Agent{
		Name: Antigravity, Title: "Antigravity", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.has("toolCall") && !s.has("protocolVersion")) },
			decode: antigravityDecode, encode: antigravityEncode,
			others: `read=view_file:AbsolutePath fetch=read_url_content:Url search=search_web:query
				mcp=mcp_SERVER_TOOL`,
			housekeeping: "task_boundary notify_user command_status ask_permission",
			modes: []Mode{{Name: AnyMode, Allow: Idle, Asks: true,
				Says: "An allow does not skip its own confirmation; without any word it would ask about every call."}},
			askings: []Asking{{Way: "interactive, skipped permissions too", At: AtPrompt}},
		},
		settings: settings{
			events: []string{preToolUse}, limit: patient,
			places: antigravityPlaces, format: textedit.JSON, guard: guardNone,
			form: form{under: "obstat", nested: true, commands: []string{"command"}, fields: obj("type", "command"),
				matcher: "*", timeout: "timeout", unit: time.Second},
			honours: antigravityHonours, forge: antigravityForge, check: antigravityCheck,
			version: "agy 1.1.2, by its documents", covers: antigravityCovers,
			brief: "no | its prompt | no | its prompt",
		},
		traits: traits{programs: "antigravity agy", process: "agy", clients: "antigravity",
			hooks: ".gemini/antigravity/hooks.json .gemini/antigravity-cli/ .antigravitycli/hooks.json"},
	}
}

var antigravityPlaces = []place{
	{scope: User, under: ".gemini/config", path: "hooks.json", install: true},
	{scope: Project, path: ".agents/hooks.json", install: true},
}

var antigravityCovers = []Limit{
	{"asking", Yes, "An ask is a prompt that no remembered approval and no skipped permission answers (force_ask)."},
	{"allowed calls", Partly, "An allow leaves Antigravity's own confirmation in force."},
	{"changed arguments", No, "Arguments cannot be changed; a call that is allowed only with others is denied."},
	{"outcomes", No, "The event after a call names no tool, so outcomes are not recorded and outputs not masked."},
	{"a hook that fails", Yes, "Without a readable decision it asks."},
	{"a hook that is late", Partly, "By its documents the hook is ended; that it asks then was not seen."},
}

func antigravityDecode(p *payload, e *Event) {
	p.keys(p.root, "toolCall conversationId workspacePaths")
	call := p.root.Get("toolCall")
	e.Call = p.toolCall(call)
	args := call.Get("args")
	e.Call.Dir, e.Call.Session = p.text(args, "Cwd"), p.text(p.root, "conversationId")
	if e.Call.Roots = p.roots(p.root.Get("workspacePaths")); e.Call.Dir == "" && len(e.Call.Roots) > 0 {
		e.Call.Dir = e.Call.Roots[0]
	}
	if line := args.Get("CommandLine"); line.Is(tree.String) {
		e.Call.Input = p.made("command", line.Str)
	} else if args.Is(tree.Object) {
		e.Call.Input = p.made(antigravityArgs(args)...)
	}
}

// antigravityNames are its names of arguments that rules look at, each with the name that is usual elsewhere.
var antigravityNames = map[string]string{"TargetFile": "file_path", "AbsolutePath": "file_path",
	"DirectoryPath": "path", "SearchPath": "path", "SearchDirectory": "path", "Url": "url", "Query": "pattern"}

// antigravityArgs returns arguments under the usual names. Where both names are there the call has two, and is
// refused for it.
func antigravityArgs(args *tree.Node) (kv []any) {
	for _, m := range args.Members {
		kv = append(kv, cmp.Or(antigravityNames[m.Key], m.Key), m.Value)
	}
	return kv
}

// antigravityEncode always decides: a reply without a decision is a question to the user.
func antigravityEncode(_ *Event, a *answer) Reply {
	switch a = a.fixed(); {
	case a.none || a.verdict == obstat.Allow:
		return reply(obj("decision", "allow"), "", 0)
	case a.verdict == obstat.Ask:
		return reply(obj("decision", "force_ask", "reason", a.reason), "", 0)
	}
	return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
}

// antigravityHonours: exit codes count for nothing, and a reply that cannot be read asks.
func antigravityHonours(_ *Hook, s *said) Outcome {
	switch text(s.object, "decision") {
	case "allow":
		return Runs
	case "deny":
		return Blocked
	}
	return Asks
}

func antigravityForge(_, dir string, p probe) object {
	tool, args := p.as("run_command", "write_to_file", "TargetFile", "CodeContent")
	if p.kind == shellProbe {
		args = obj("CommandLine", p.text, "Cwd", dir)
	}
	return obj("toolCall", obj("name", tool, "args", args), "conversationId", canarySession, "stepIdx", 1,
		"transcriptPath", filepath.Join(dir, "transcript.jsonl"), "workspacePaths", []any{dir})
}

// antigravityCheck finds obstat's entry switched off.
func antigravityCheck(s *Setup) {
	for _, f := range s.Files {
		if n := f.root.Get("obstat").Get("enabled"); isBool(n, false) {
			s.off(f, n, "enabled is false: Antigravity does not run obstat's hook")
		}
	}
}

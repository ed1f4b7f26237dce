package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Codex is the name of the agent, as in `obstat hook codex`.
const Codex = "codex"

// codex is Codex. Its protocol is Claude Code's, but an unknown key, a bare allow,
// an ask or an empty standard error make it run the call.
func codex() *Agent {
	return &Agent{
		Name: Codex, Title: "Codex", ModelDir: true, Patience: patient,
		wire: wire{
			marks: codexMarks, decode: codexDecode, encode: codexEncode,
			others:       "delete=apply_patch:command task=spawn_agent:message mcp=mcp__SERVER__TOOL",
			housekeeping: codexHousekeeping, modes: codexModes(),
			// In its sandbox a ticket cannot be spent.
			changes:   preToolUse + ":" + bypass,
			driven:    codexDrive(),
			unboxedBy: "--dangerously-bypass-approvals-and-sandbox --yolo danger-full-access --sandbox=danger-full-access",
			printed:   refusedOutput("block"), printedAt: "PostToolUse",
			askings: []Asking{{Way: "interactive and exec, every approval policy", At: AtObstat, mode: "default",
				Says: "before its own rules; its own prompt is answered by PermissionRequest"}},
		},
		settings: settings{
			events: []string{preToolUse, permissionRequest}, spare: permissionRequest, after: "PostToolUse", limit: patient,
			places: codexPlaces, format: textedit.JSON, guard: guardShell, strict: "description hooks",
			form: form{nested: true, commands: []string{"command"}, fields: obj("type", "command"), timeout: "timeout",
				unit: time.Second},
			more: codexTrust, honours: codexHonours, forge: codexForge, check: codexCheck, start: codexStart,
			servers: []serverPlace{
				{place: place{scope: Project, path: ".codex/config.toml"}, keys: []string{"mcp_servers"}},
				{place: place{scope: User, env: "CODEX_HOME", under: ".codex", path: "config.toml"}, keys: []string{"mcp_servers"}},
			},
			version: "0.169.0", covers: codexCovers,
			brief: "no | denied | yes | denied",
		},
		traits: traits{
			programs: "codex", process: "codex codex-exec codex-linux-sandbox codex-linux-san",
			clients: "codex codex-mcp-client",
			// The first two are always set, those about its sandbox only inside of it.
			sets: `CODEX_THREAD_ID CODEX_TOOL_CALL_ID CODEX_PERMISSION_PROFILE CODEX_SANDBOX
				CODEX_SANDBOX_NETWORK_DISABLED`,
			bare:     "--dangerously-bypass-hook-trust --ignore-user-config --profile codex:-p --remote",
			policies: ".codex/rules/", setsIn: ".codex/config.toml",
		},
	}
}

var codexPlaces = []place{
	{scope: User, env: "CODEX_HOME", under: ".codex", path: "hooks.json", install: true},
	{scope: User, env: "CODEX_HOME", under: ".codex", path: "config.toml"},
	{scope: Project, path: ".codex/hooks.json", install: true},
	{scope: Project, path: ".codex/config.toml"},
	{scope: Managed, machine: codexMachine, path: "hooks.json"},
	{scope: Managed, machine: codexMachine, path: "config.toml"},
	{scope: Managed, machine: codexMachine, path: "managed_config.toml"},
	{scope: Managed, machine: codexMachine, path: "requirements.toml"},
}

// codexModes: the payload has but two modes, whatever the approval policy, the sandbox and the reviewer
// are. Where Codex asks for approval, a yes leaves the sandbox or takes the reviewer's place.
func codexModes() []Mode {
	const own = "Its sandbox, its rules and its approvals follow; an ask is answered at obstat ask."
	return []Mode{
		{Name: "default", Event: preToolUse, Allow: Idle, Says: own},
		{Name: bypass, Event: preToolUse, Allow: Idle, Says: own},
		{Name: AnyMode, Event: permissionRequest, Allow: Silences, Over: obstat.OverReviewer, Asks: true,
			Says: "A yes would leave the sandbox or take the reviewer's place: Codex asks its user, or its reviewer, unless " +
				"the rule says `over: reviewer`."},
	}
}

var codexCovers = []Limit{
	{"subagents", Yes, "Calls of subagents reach the hook; in code mode the prompt they get may be encrypted."},
	{"headless runs", Yes, "codex exec asks nobody: what would be an ask is a denial."},
	{"tools without a hook", No, "write_stdin, wait and web search reach no hook: whoever may start a shell or an " +
		"interpreter that reads its input may do anything there."},
	{"asking", No, "An ask from PreToolUse would run the call, so it is a denial; obstat ask can answer it."},
	{"a hook that fails", Yes, "A missing or dying obstat ends with exit code 2 and words, which blocks."},
	{"a hook that is late", No, "After the time-out the call runs; obstat denies before that."},
	{"trust", Partly, "A hook whose hash is not in config.toml is skipped, and nothing says so."},
}

func codexMarks(s *sent) likeness {
	switch {
	case s.has("turn_id"):
		return surely
	case s.told == Codex && s.has("hook_event_name") && !s.has("permission_mode"):
		return alike
	}
	return foreign
}

const codexOther = "PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop"

// codexHousekeeping are plans and questions, and waiting for and closing subagents, with their namespace
// glued on. Whole names: an MCP server may call its tools as it likes.
const codexHousekeeping = `update_plan get_goal create_goal update_goal wait_agent close_agent
	list_agents interrupt_agent multi_agent_v1wait_agent multi_agent_v1close_agent
	multi_agent_v1list_agents collaborationwait_agent collaborationclose_agent collaborationlist_agents
	collaborationinterrupt_agent clocksleep request_user_input request_user_input_async tool_search
	list_mcp_resources list_mcp_resource_templates`

func codexDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys+" turn_id model")
	if !p.asks(e, claudeAsking+" PostToolUse", codexOther) {
		return
	}
	p.claudeCall(e)
	e.Call.Mode = "" // always the same, whatever the approval policy is
	if e.Name == "PostToolUse" {
		p.after(e, "tool_response", "duration_ms")
	}
}

func codexEncode(e *Event, a *answer) Reply {
	if e.Name == permissionRequest {
		if a = a.fixed(); a.none {
			return Reply{}
		}
		a.accepted = nil // reserved there: the answer would be thrown away
		return claudeRequest(a)
	}
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return claudeEncode(e, a)
	}
	if a.none || a.input == nil {
		return Reply{} // an empty reply is the only allow
	}
	return reply(obj("hookSpecificOutput", with(obj("hookEventName", preToolUse, "permissionDecision", "allow"),
		"updatedInput", a.input)), "", 0)
}

var codexMachine = machineDir{"/etc/codex", "/etc/codex", `C:\ProgramData\OpenAI\Codex`}

// codexHonours: an unknown key, an ask, a bare exit code make the call run.
func codexHonours(h *Hook, s *said) Outcome {
	switch {
	case s.Exit == exitDeny && s.words:
		return Blocked
	case h.Event == permissionRequest && s.Exit == 0:
		return requestHonours(s)
	case h.Event == permissionRequest:
		return Asks
	case s.Exit != 0 || !only(s.object, "decision reason systemMessage hookSpecificOutput"):
		return Runs
	}
	out := s.object.Get("hookSpecificOutput")
	switch {
	case out != nil && (!only(out, codexReply) || text(out, "hookEventName") != h.Event):
		return Runs
	case text(s.object, "decision") == "block" && text(s.object, "reason") != "":
		return Blocked
	case text(out, "permissionDecisionReason") == "":
		return Runs
	}
	return outcomeOf(text(out, "permissionDecision"), false)
}

// codexReply are the keys that Codex takes in hookSpecificOutput.
const codexReply = "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext"

// only tells whether an object has no other keys than the known ones.
func only(n *tree.Node, known string) bool {
	return n.Is(tree.Object) && !slices.ContainsFunc(n.Members, func(m tree.Member) bool { return !among(known, m.Key) })
}

func codexForge(event, dir string, p probe) object {
	tool, args := p.as("Bash", "apply_patch", "", "")
	if p.kind == writeProbe {
		args = obj("command", "*** Begin Patch\n*** Update File: "+p.text+"\n@@\n-a\n+b\n*** End Patch")
	}
	o := obj("session_id", canarySession, "turn_id", canarySession, "transcript_path",
		filepath.Join(dir, "transcript.jsonl"), "cwd", dir,
		"hook_event_name", event, "model", "canary", "permission_mode", "default", "tool_name", tool, "tool_input", args)
	if event == preToolUse {
		o = append(o, obj("tool_use_id", "call_canary")...)
	}
	return o
}

func codexStart(h *Hook, getenv func(string) string) []string {
	if sh := getenv("SHELL"); filepath.IsAbs(sh) {
		return []string{sh, "-lc", h.Text}
	}
	return []string{"/bin/sh", "-c", h.Text}
}

// codexCheck finds the switch of all hooks, and hooks that Codex skips because
// their hash is not in its config.
func codexCheck(s *Setup) {
	for _, f := range s.Files {
		if n := f.root.At("features", "hooks"); f.isTOML() && isBool(n, false) {
			s.off(f, n, "features.hooks is false: Codex runs no hooks")
		}
	}
	config := codexConfig(s.Agent, s.Where)
	data, err := os.ReadFile(config)
	if err != nil && !os.IsNotExist(err) {
		s.Add(Error, "unreadable-file", nil, "", "%v", err)
		return
	}
	doc, problems := tomlx.ParseDoc(data)
	if problems != nil {
		return // CheckFiles has said so
	}
	const hint = "obstat install codex, or /hooks in Codex"
	for _, h := range s.Hooks {
		if h.File.isTOML() || h.File.Scope == Managed {
			continue
		}
		want, err := trustHash(h.File.root, &h.Entry)
		state := doc.Root.At("hooks", "state", trustKey(h.File.Name, &h.Entry))
		switch have := text(state, "trusted_hash"); {
		case err != nil:
			s.Add(Error, "not-trusted", h, hint, "%v", err)
		case isBool(state.Get("enabled"), false):
			s.Add(Error, "hooks-off", h, hint, "the hook is switched off in %s", config)
		case have == "":
			s.Add(Error, "not-trusted", h, hint, "%s has no hash of the hook: Codex skips it, and says nothing", config)
		case have != want:
			s.Add(Error, "not-trusted", h, hint, "%s has the hash of another hook: Codex skips this one, and says nothing",
				config)
		}
	}
}

// codexConfig returns the config.toml in which the user's Codex is told which hooks
// to trust, those of projects as well.
func codexConfig(a *Agent, w *Where) string {
	for _, p := range a.spots(w) {
		if p.scope == User && filepath.Base(p.name) == "config.toml" {
			return p.name
		}
	}
	return ""
}

// codexTrust changes the user's config with the hooks: Codex runs a hook only if
// its config has the hash of it, under a key made of the file, the event and the
// place in the list.
func codexTrust(t *target, r *Request, remove bool) []Change {
	edit := t.trust
	if remove {
		edit = t.distrust
	}
	return []Change{{Name: codexConfig(t.agent, r.Where), Edit: edit, Same: sameTOML}}
}

// snake writes an event the way that Codex does in keys: `pre_tool_use`.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// trustKey names an entry in the list of trusted hooks:
// `/home/me/.codex/hooks.json:pre_tool_use:0:0`.
func trustKey(file string, e *Entry) string {
	return fmt.Sprintf("%s:%s:%d:%d", file, snake(e.Event), e.group, max(e.handler, 0))
}

// trustHash returns the hash of an entry: of its fields as Codex understands
// them, in the order of their names.
func trustHash(root *tree.Node, e *Entry) (string, error) {
	group := root.At("hooks", e.Event, e.group)
	handler := group.At("hooks", e.handler)
	if !handler.Is(tree.Object) {
		return "", fmt.Errorf("hooks.%s[%d] is not in a group, so Codex does not read it", e.Event, e.group)
	}
	h := obj("async", false, "timeout", int64(600))
	for _, m := range handler.Members {
		switch m.Key {
		case "commandWindows", "command_windows":
			continue
		case "async", "timeout":
			h = slices.DeleteFunc(h, func(f jsonx.Field) bool { return f.Key == m.Key })
		}
		if !m.Value.Is(tree.Null) {
			h = append(h, jsonx.Field{Key: m.Key, Value: jsonx.Value(m.Value)})
		}
	}
	doc := obj("event_name", snake(e.Event), "hooks", []any{h})
	if m := group.Get("matcher"); m.Is(tree.String) {
		doc = append(doc, obj("matcher", m.Str)...)
	}
	raw, err := jsonx.Marshal(doc)
	if err != nil {
		return "", err
	}
	if raw, err = jsonx.Canonical(raw); err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// trust writes the hashes of obstat's entries into config.toml.
func (t *target) trust(config []byte) ([]byte, error) {
	f := t.agent.parse(t.file, t.text, false)
	for i := range f.Entries {
		e := &f.Entries[i]
		if !e.Ours || !slices.Contains(t.agent.all(), e.Event) {
			continue
		}
		hash, err := trustHash(f.root, e)
		if err != nil {
			return nil, err
		}
		if config, err = setTrust(config, trustKey(t.file, e), hash); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// setTrust makes hash the hash of a key: a new table at the end, or the value in
// the one that is there.
func setTrust(config []byte, key, hash string) ([]byte, error) {
	doc, problems := tomlx.ParseDoc(config)
	if problems != nil {
		return nil, &textedit.BrokenError{Src: config, Problems: problems}
	}
	state := doc.Root.At("hooks", "state", key)
	if state != nil {
		var edits []textedit.Edit
		n := state.Get("trusted_hash")
		switch {
		case n == nil:
			return nil, fmt.Errorf("it has something about the hook %s, but no hash: trust the hook with /hooks in Codex", key)
		case n.Str != hash:
			edits = append(edits, textedit.Edit{Start: n.Start, End: n.End, Text: strconv.Quote(hash)})
		}
		if on := state.Get("enabled"); isBool(on, false) {
			edits = append(edits, textedit.Edit{Start: on.Start, End: on.End, Text: "true"})
		}
		return textedit.Apply(config, edits...)
	}
	nl := "\n"
	if bytes.Contains(config, []byte("\r\n")) {
		nl = "\r\n"
	}
	out := slices.Clone(config)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, nl...)
	}
	if len(out) > 0 {
		out = append(out, nl...)
	}
	out = fmt.Appendf(out, "[hooks.state.%s]%strusted_hash = %q%s", jsonx.Quote(key), nl, hash, nl)
	doc, problems = tomlx.ParseDoc(out)
	if problems != nil || text(doc.Root.At("hooks", "state", key), "trusted_hash") != hash {
		return nil, errors.New("hooks or hooks.state is one value, to which the hash of obstat's hook cannot be added: make " +
			"a table of it, or trust the hook with /hooks in Codex")
	}
	return out, nil
}

// distrust takes the hashes of obstat's entries out again.
func (t *target) distrust(config []byte) ([]byte, error) {
	f := t.agent.parse(t.file, t.was, false)
	text := config
	for i := range f.Entries {
		if e := &f.Entries[i]; e.Ours {
			text = dropTrust(text, trustKey(t.file, e))
		}
	}
	if len(text) == 0 && len(config) > 0 {
		return nil, nil // there was nothing else in it
	}
	return text, nil
}

// dropTrust removes the table of a key, if it has a header of its own, as obstat
// and Codex write it.
func dropTrust(config []byte, key string) []byte {
	doc, problems := tomlx.ParseDoc(config)
	state := doc.Root.At("hooks", "state", key)
	start, own := doc.Headers[state]
	if problems != nil || !own {
		return config
	}
	end := start
	for _, m := range state.Members {
		end = max(end, m.Value.End)
	}
	if i := bytes.IndexByte(config[end:], '\n'); i >= 0 {
		end += i + 1
	} else {
		end = len(config)
	}
	before := bytes.TrimSuffix(bytes.TrimSuffix(config[:start], []byte("\n")), []byte("\r"))
	return append(slices.Clone(before), config[end:]...)
}

func codexDrive() *Drive {
	return &Drive{
		Line: "{PROGRAM} exec --json --skip-git-repo-check -C {DIR} --dangerously-bypass-approvals-and-sandbox {PROMPT}",
		Env:  "SCRIPTED_API_KEY=dummy",
		Files: map[string]string{".codex/config.toml": `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[features]
hooks = true
plugins = false

[analytics]
enabled = false
`},
		Tool: "exec_command", Field: "cmd",
	}
}

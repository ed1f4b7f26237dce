package cli

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/hook"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// settings is where an agent keeps its hooks and what one looks like.
type settings struct {
	user, project string // files, relative to home and project; "" none
	format        textedit.Format
	first         string // what a new file starts as
	events        []string
	entry         func(t *target, event string) jsonx.Object
	// whole: the file is obstat's alone.
	whole func(t *target) []byte
	// trust: the agent runs only hooks whose hash it has been given.
	trust bool
}

// A target is one file to change.
type target struct {
	agent                        *settings
	file, command, home, program string
}

func obj(kv ...any) jsonx.Object {
	var o jsonx.Object
	for i := 0; i+1 < len(kv); i += 2 {
		o = append(o, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}

//go:embed opencode_plugin.js
var openCodePlugin string

// agentSettings is the list of agents that can be installed for. Time-outs are
// long enough for a person to answer; Gemini's are milliseconds.
var agentSettings = map[string]settings{
	hook.ClaudeCode: {user: ".claude/settings.json", project: ".claude/settings.json", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("matcher", "*", "hooks", []any{obj("type", "command", "command", t.command, "timeout", 600)})
		}},
	hook.Codex: {user: ".codex/hooks.json", project: ".codex/hooks.json", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"}, trust: true,
		entry: func(t *target, _ string) jsonx.Object {
			return obj("hooks", []any{obj("type", "command", "command", t.command, "timeout", 600)})
		}},
	hook.Gemini: {user: ".gemini/settings.json", project: ".gemini/settings.json", format: textedit.JSONC, first: "{}\n", events: []string{"BeforeTool"},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("matcher", ".*", "hooks", []any{obj("type", "command", "name", "obstat", "command", t.command, "timeout", 600000)})
		}},
	hook.Cursor: {user: ".cursor/hooks.json", project: ".cursor/hooks.json", format: textedit.JSON, first: "{\n  \"version\": 1\n}\n",
		events: []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart", "preToolUse"}, entry: cursorEntry},
	hook.Copilot: {user: ".copilot/hooks/obstat.json", whole: func(t *target) []byte {
		b, _ := jsonx.Marshal(obj("version", 1, "hooks", obj("preToolUse", []any{obj("type", "command", "bash", t.command, "powershell", t.command, "timeoutSec", 600)})))
		return append(b, '\n')
	}},
	hook.Crush: {user: ".config/crush/crush.json", project: "crush.json", format: textedit.JSON, first: "{}\n", events: []string{"PreToolUse"},
		entry: func(t *target, _ string) jsonx.Object {
			return obj("name", "obstat", "command", t.command, "timeout", 60)
		}},
	hook.Windsurf: {user: ".codeium/windsurf/hooks.json", project: ".windsurf/hooks.json", format: textedit.JSON, first: "{}\n",
		events: []string{"pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"},
		entry:  func(t *target, _ string) jsonx.Object { return obj("command", t.command, "show_output", true) }},
	hook.OpenCode: {user: ".config/opencode/plugins/obstat.js", project: ".opencode/plugins/obstat.js", whole: func(t *target) []byte {
		return []byte(strings.Replace(openCodePlugin, `"obstat"`, jsonx.Quote(t.program), 1))
	}},
}

// cursorEntry: commands and MCP calls have events of their own, where an ask is
// honoured; the event for tools is for the rest.
func cursorEntry(t *target, event string) jsonx.Object {
	o := obj("command", t.command, "type", "command", "timeout", 600, "failClosed", true)
	if event == "preToolUse" {
		o = append(o, jsonx.Field{Key: "matcher", Value: "Write|Delete|Grep"})
	}
	return o
}

func installable() []string {
	out := make([]string, 0, len(agentSettings))
	for name := range agentSettings {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (a *settings) install(t *target) []change {
	if a.whole != nil {
		return []change{{t.file, func([]byte) ([]byte, error) { return a.whole(t), nil }}}
	}
	out := []change{{t.file, t.add}}
	if a.trust {
		out = append(out, change{filepath.Join(t.home, ".codex", "config.toml"), t.trustHash})
	}
	return out
}

func (a *settings) uninstall(t *target) []change {
	if a.whole != nil {
		return []change{{t.file, func(old []byte) ([]byte, error) {
			if old != nil && !bytes.Contains(old, []byte("obstat")) {
				return nil, fmt.Errorf("this file is not obstat's")
			}
			return nil, nil
		}}}
	}
	return []change{{t.file, t.remove}}
}

// add writes the hook behind those that are there, once for each event.
func (t *target) add(old []byte) ([]byte, error) {
	text := old
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(t.agent.first)
	}
	for _, event := range t.agent.events {
		root, problems := t.agent.format.Parse(text)
		if tree.Fatal(problems) {
			return nil, &textedit.BrokenError{Src: text, Problems: problems}
		}
		at := indexOf(root.At("hooks", event))
		var err error
		if at >= 0 {
			if at2 := root.At("hooks", event, at); mentions(at2, t.command) {
				continue
			}
			text, err = t.agent.format.Set(text, t.agent.entry(t, event), "hooks", event, at)
		} else {
			text, err = t.agent.format.Append(text, t.agent.entry(t, event), "hooks", event)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// remove takes the hook out, and the event where nothing else is left of it.
func (t *target) remove(old []byte) ([]byte, error) {
	text := old
	for _, event := range t.agent.events {
		for {
			root, problems := t.agent.format.Parse(text)
			if len(bytes.TrimSpace(text)) == 0 {
				return old, nil
			}
			if tree.Fatal(problems) {
				return nil, &textedit.BrokenError{Src: text, Problems: problems}
			}
			list := root.At("hooks", event)
			at := indexOf(list)
			if at < 0 {
				break
			}
			path := []any{"hooks", event, at}
			if len(list.Elems) == 1 {
				path = path[:2]
			}
			if len(list.Elems) == 1 && len(root.Get("hooks").Members) == 1 {
				path = path[:1]
			}
			var err error
			if text, err = t.agent.format.Delete(text, path...); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

// indexOf returns which entry of a list of hooks is obstat's, -1 if none.
func indexOf(list *tree.Node) int {
	if !list.Is(tree.Array) {
		return -1
	}
	return slices.IndexFunc(list.Elems, func(n *tree.Node) bool { return mentions(n, "obstat") && mentions(n, " hook ") })
}

// mentions tells whether a command of a hook contains text. One that is not
// obstat's alone counts as somebody else's.
func mentions(n *tree.Node, text string) bool {
	if hooks := n.Get("hooks"); hooks.Is(tree.Array) {
		return len(hooks.Elems) == 1 && mentions(hooks.Elems[0], text)
	}
	c := n.Get("command")
	return c.Is(tree.String) && strings.Contains(c.Str, text)
}

// trustHash writes the hash without which Codex skips a hook and says nothing.
func (t *target) trustHash(old []byte) ([]byte, error) {
	index := 0
	if data, err := readIfThere(t.file); err == nil {
		root, _ := t.agent.format.Parse(data)
		list := root.At("hooks", "PreToolUse")
		if index = indexOf(list); index < 0 && list.Is(tree.Array) {
			index = len(list.Elems) // a dry run: it would be the next
		}
	}
	index = max(index, 0)
	canonical, err := jsonx.Marshal(obj("event_name", "pre_tool_use", "hooks", []any{obj("async", false, "command", t.command, "timeout", 600, "type", "command")}))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	header := fmt.Sprintf("[hooks.state.%s]", jsonx.Quote(fmt.Sprintf("%s:pre_tool_use:%d:0", t.file, index)))
	line := fmt.Sprintf("trusted_hash = \"sha256:%s\"", hex.EncodeToString(sum[:]))
	if bytes.Contains(old, []byte(header+"\n"+line)) {
		return old, nil
	}
	if bytes.Contains(old, []byte(header)) {
		return nil, fmt.Errorf("it trusts another hook in the same place: remove %s, or trust the hook with /hooks in Codex", header)
	}
	text := slices.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, header+"\n"+line+"\n"...), nil
}

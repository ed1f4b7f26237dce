package agent

import (
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Some agents have hooks in JavaScript alone. Then the protocol is between the plugin that
// obstat writes, which is plugin.js and a part of the agent's own, and obstat.

//go:embed plugin.js
var pluginText string

// plugged is an agent whose plugin sends these two events; part is its own part of the plugin.
func plugged(name, title, part, before, after string) *Agent {
	return &Agent{
		Name: name, Title: title, Patience: time.Minute,
		wire: wire{marks: pluginMarks(before, after), decode: pluginDecode(before, after), encode: pluginEncode},
		settings: settings{
			events: []string{before}, limit: patient, own: pluginFile(name, title, part), script: pluginWords,
			reads: isScript, start: pluginStart, honours: pluginHonours,
		},
	}
}

// pluginCommand is the command in plugin.js, in whose place an installation's own is put.
const pluginCommand = `["obstat", "hook", "NAME"]`

// pluginFile returns the function that writes an agent's plugin.
func pluginFile(name, title, part string) func(Invocation) []byte {
	return func(c Invocation) []byte {
		var words []any
		for _, w := range c.Argv() {
			words = append(words, w)
		}
		argv, _ := jsonx.Marshal(words)
		return []byte(strings.NewReplacer(pluginCommand, string(argv), "NAME", name, "TITLE", title).
			Replace(pluginText) + part)
	}
}

// pluginWords reads the line of a plugin that has the command.
func pluginWords(line string) (words []string) {
	list, is := strings.CutPrefix(line, "const command = ")
	n, problems := jsonx.Parse([]byte(strings.TrimSuffix(strings.TrimSpace(list), ";")), jsonx.Options{})
	if !is || tree.Fatal(problems) || !n.Is(tree.Array) {
		return nil
	}
	for _, w := range n.Elems {
		words = append(words, w.Str)
	}
	return words
}

// isScript tells whether an agent would load a file as a plugin.
func isScript(name string) bool { return among(".js .ts .mjs", filepath.Ext(name)) }

func pluginStart(h *Hook, _ func(string) string) []string { return h.Invocation.Argv() }

func pluginHonours(_ *Hook, s *said) Outcome {
	return blockedIf(s.Exit != 0 || text(s.object, "decision") != "allow")
}

// pluginDecode reads the payloads of a plugin that asks at one event and tells outcomes at another.
func pluginDecode(before, after string) func(*payload, *Event) {
	return func(p *payload, e *Event) {
		r := p.root
		p.keys(r, "hook_event_name tool input call session cwd output error duration_ms")
		if e.Name != before && e.Name != after {
			p.noEvent(e)
		}
		e.Call = &obstat.Call{Tool: p.need(r, "tool"), Input: p.input(r, "input", false),
			Session: p.text(r, "session"), Dir: p.text(r, "cwd")}
		e.ToolUse = p.text(r, "call")
		if e.Name == after {
			p.after(e, "output", "duration_ms")
		}
	}
}

// pluginMarks: only obstat's own plugin for the agent sends these events.
func pluginMarks(before, after string) func(*sent) likeness {
	return func(s *sent) likeness {
		return surelyIf(s.has("hook_event_name") && (s.event == before || s.event == after))
	}
}

// pluginEncode: a plugin runs a call only where it reads an allow and the exit code is zero.
func pluginEncode(_ *Event, a *answer) Reply {
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
	}
	if a.none {
		a.input = nil
	}
	return reply(with(obj("decision", "allow"), "args", a.input), "", 0)
}

func pluginPrinted(_ *Event, _ string, out []byte) Reply {
	return reply(with(obj("decision", "allow"), "output", out), "", 0)
}

// pluginForge writes a canary; the tools and their arguments are those of probe.as.
func pluginForge(shell, write, path, content string) func(string, string, probe) object {
	return func(event, dir string, p probe) object {
		tool, args := p.as(shell, write, path, content)
		return obj("hook_event_name", event, "tool", tool, "input", args, "call", "canary", "session", canarySession,
			"cwd", dir)
	}
}

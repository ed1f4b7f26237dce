package agent

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/shell"
)

// A Canary is a forged call that must not simply run, in the agent's form.
type Canary struct {
	Name  string
	Mild  bool // a policy may allow it, and should not
	Cut   bool // the payload ends in the middle
	Stdin []byte
}

// A probe is a canary before it is put into an agent's form.
type probe struct {
	kind probeKind
	text string
	args object // of the other tool; nil: any
	cut  bool
}

type probeKind uint8

const (
	shellProbe probeKind = iota // run the text as a command
	writeProbe                  // write the file of that name
	otherProbe                  // call a tool of that name
)

// canarySession tells canaries from other calls.
const canarySession = "obstat-doctor"

// Canaries returns the calls that prove the hook; an event that has no calls of
// some kind has no canary of it. dir is where they are made.
func (h *Hook) Canaries(dir string) (out []Canary) {
	if among(h.agent.after, h.Event) {
		return nil // it decides nothing
	}
	for _, c := range []struct {
		Canary
		probe
	}{
		{Canary{Name: "rm -rf /"}, probe{kind: shellProbe, text: "rm -rf /"}},
		{Canary{Name: "write to " + filepath.Base(h.File.Name)}, probe{kind: writeProbe, text: h.File.Name}},
		{Canary{Name: "delete " + filepath.Base(h.File.Name)},
			probe{kind: shellProbe, text: "rm -f " + shell.Quote(h.File.Name)}},
		{Canary{Name: "a tool nobody knows", Mild: true}, probe{kind: otherProbe, text: "obstat_doctor_canary"}},
		{Canary{Name: "a call cut short", Cut: true}, probe{kind: shellProbe, text: "true", cut: true}},
	} {
		o := h.agent.forge(h.Event, dir, c.probe)
		if o == nil {
			continue
		}
		b, err := jsonx.Marshal(o)
		if err != nil {
			continue
		}
		if c.Cut {
			b = b[:len(b)*2/3]
		}
		c.Stdin = b
		out = append(out, c.Canary)
	}
	return append(out, h.modeCanaries(dir)...)
}

// unknownMode is a mode that no agent has.
const unknownMode = "obstat-doctor"

// modeCanaries returns a call in each mode that the agent's payloads name, and in one that does not exist: a
// denial has to stand in all of them.
func (h *Hook) modeCanaries(dir string) (out []Canary) {
	names := []string{unknownMode}
	for _, m := range h.agent.modes {
		if m.Name != AnyMode && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	for _, name := range names {
		o := h.agent.forge(h.Event, dir, probe{kind: shellProbe, text: "rm -rf /"})
		at := slices.IndexFunc(o, func(f jsonx.Field) bool { return f.Key == "permission_mode" })
		if at < 0 {
			return nil
		}
		o[at].Value = name
		if b, err := jsonx.Marshal(o); err == nil {
			out = append(out, Canary{Name: "rm -rf / in the mode " + name, Stdin: b})
		}
	}
	return out
}

// Forge returns a call in the agent's form: for the kind `shell` it runs a command, for `write` and `edit` it
// writes a file, for `mcp` it calls the tool mcp__server__tool, for others, such as `read`, `delete` or `task`,
// it calls the agent's tool of that kind with the text. It is nil where the agent, or the event, has no such
// calls.
func (h *Hook) Forge(dir, kind, text string) []byte {
	p := probe{kind: writeProbe, text: text}
	switch kind {
	case "shell":
		p.kind = shellProbe
	case "write", "edit":
	default:
		tool, field, event := h.agent.toolOf(kind)
		if tool == "" || event != h.Event {
			return nil
		}
		if tool == "apply_patch" {
			text = "*** Begin Patch\n*** Delete File: " + text + "\n*** End Patch"
		}
		if kind == "mcp" {
			server, name, ok := strings.Cut(strings.TrimPrefix(text, "mcp__"), "__")
			if !ok {
				return nil
			}
			tool, field = strings.NewReplacer("SERVER", server, "TOOL", name).Replace(tool), "x"
		}
		p = probe{kind: otherProbe, text: tool, args: obj(field, text)}
	}
	o := h.agent.forge(h.Event, dir, p)
	if o == nil || among(h.agent.after, h.Event) {
		return nil
	}
	b, err := jsonx.Marshal(o)
	if err != nil {
		return nil
	}
	return b
}

// toolOf returns the agent's tool of a kind, the argument that names its object, and the event that asks
// about it; "" if it has none that its hook is asked about.
func (a *Agent) toolOf(kind string) (tool, field, event string) {
	for entry := range strings.FieldsSeq(a.others) {
		if name, rest, _ := strings.Cut(entry, "="); name == kind {
			tool, rest, _ = strings.Cut(rest, ":")
			if field, event, _ = strings.Cut(rest, ":"); event == "" {
				event = a.events[0]
			}
		}
	}
	return tool, field, event
}

// as returns the tool and its arguments: shell runs a command, write writes the
// file in its argument pathKey.
func (p probe) as(shell, write, pathKey, contentKey string) (tool string, args object) {
	switch p.kind {
	case shellProbe:
		return shell, obj("command", p.text)
	case writeProbe:
		return write, obj(pathKey, p.text, contentKey, "")
	}
	if p.args != nil {
		return p.text, p.args
	}
	return p.text, obj("x", 1)
}

// ofServer returns the server and the tool of a call of an MCP server's.
func (p probe) ofServer() (server, tool string) {
	if server, tool, ok := strings.Cut(p.text, "/"); ok {
		return server, tool
	}
	return "canary", p.text
}

// Command returns the words that the agent starts for the hook, and the variables
// that it sets besides, for a call in dir.
func (h *Hook) Command(dir string, getenv func(string) string) (argv, env []string) {
	argv = []string{"/bin/sh", "-c", h.Text}
	if h.agent.start != nil {
		argv = h.agent.start(h, getenv)
	}
	if h.agent.environ != nil {
		env = h.agent.environ(h.Event, dir)
	}
	return argv, env
}

// withBash starts hooks the way agents do that do not use /bin/sh.
func withBash(h *Hook, _ func(string) string) []string { return []string{"bash", "-c", h.Text} }

package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// sent is a payload whose sender is to be told.
type sent struct {
	root   *tree.Node
	told   string // the agent according to the caller or the environment, "" if unknown
	event  string
	getenv func(string) string
}

// has tells whether the payload has one of the keys.
func (s *sent) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return s.root.Get(k) != nil })
}

// likeness says how surely a payload is an agent's.
type likeness uint8

const (
	foreign likeness = iota
	alike            // it may be this agent's, unless it is surely another's
	surely           // only this agent writes such a payload
)

// surelyIf is a likeness that is certain or nothing.
func surelyIf(is bool) likeness {
	if is {
		return surely
	}
	return foreign
}

// sniff returns the agent that a payload is from. The agent that was told stands
// where the payload could be its own; marks that only another agent writes
// overrule it, since agents read each other's settings.
func (l List) sniff(s *sent) string {
	best, name := foreign, s.told
	for _, a := range l {
		if a.marks == nil {
			continue
		}
		if m := a.marks(s); m > best {
			best, name = m, a.Name
		}
	}
	return name
}

// byEnv returns the agent whose variable is set, "" if none is.
func (l List) byEnv(getenv func(string) string) string {
	for _, a := range l {
		if a.variable != "" && getenv(a.variable) != "" {
			return a.Name
		}
	}
	return ""
}

// eventName returns the event, under any of the agents' keys for it.
func eventName(n *tree.Node) string {
	for _, key := range []string{"hook_event_name", "hookEventName", "agent_action_name", "hookName", "event"} {
		if v := n.Get(key); v.Is(tree.String) {
			return v.Str
		}
	}
	return ""
}

// A payload is read strictly. The first problem is kept in err, and reading goes
// on with empty values.
type payload struct {
	src    []byte
	root   *tree.Node
	getenv func(string) string
	err    error
}

func (p *payload) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// read fills the event, and checks the call that it is about.
func (p *payload) read(e *Event) {
	p.folded(p.root)
	for _, key := range []string{"hook_event_name", "hookEventName", "agent_action_name", "hookName"} {
		p.text(p.root, key) // a name that is no text is not taken for none
	}
	e.who.decode(p, e)
	if e.Call == nil || p.err != nil {
		return
	}
	e.Call.Agent = e.Agent
	typed(e.Call)
	e.Housekeeping = e.Housekeeping || among(e.who.housekeeping, e.Call.Tool)
	p.check(e)
}

// folded refuses keys that differ only in their capitals: the next reader of the
// payload may take the other one.
func (p *payload) folded(n *tree.Node) {
	if n == nil {
		return
	}
	seen := map[string]string{}
	for _, m := range n.Members {
		low := strings.ToLower(m.Key)
		if other, twice := seen[low]; twice {
			p.fail("the keys %q and %q differ only in their capitals", other, m.Key)
		}
		seen[low] = m.Key
	}
}

// keys refuses keys that are one of the known ones, separated by blanks, in other
// capitals.
func (p *payload) keys(n *tree.Node, known string) {
	if n == nil {
		return
	}
	for _, m := range n.Members {
		for k := range strings.FieldsSeq(known) {
			if m.Key != k && strings.EqualFold(m.Key, k) {
				p.fail("the key %q is not %q: the capitals differ", m.Key, k)
			}
		}
	}
}

// asks tells whether an event asks for permission; one that is in neither list is
// a problem.
func (p *payload) asks(e *Event, asking, others string) bool {
	if among(asking, e.Name) {
		return true
	}
	if !among(others, e.Name) {
		p.noEvent(e)
	}
	return false
}

// noEvent refuses an event that the agent does not have.
func (p *payload) noEvent(e *Event) {
	if e.Name == "" {
		p.fail("the event is missing")
	}
	p.fail("there is no event %q", e.Name)
}

// text returns the text at key, "" for none; anything else is a problem.
func (p *payload) text(n *tree.Node, key string) string {
	v := n.Get(key)
	switch {
	case v == nil || v.Is(tree.Null):
		return ""
	case !v.Is(tree.String):
		p.fail("%s must be text, not %s", key, v.Kind)
	}
	return v.Str
}

// lists returns an object of lists of texts, nil where there is none.
func (p *payload) lists(n *tree.Node, key string) map[string][]string {
	v := n.Get(key)
	if v == nil || v.Is(tree.Null) {
		return nil
	}
	if !v.Is(tree.Object) {
		p.fail("%s must be an object, not %s", key, v.Kind)
		return nil
	}
	out := map[string][]string{}
	for _, m := range v.Members {
		for _, one := range m.Value.Elems {
			if !one.Is(tree.String) {
				p.fail("%s must have texts, not %s", key, one.Kind)
			}
			out[m.Key] = append(out[m.Key], one.Str)
		}
	}
	return out
}

// need returns the text at key, which must be there.
func (p *payload) need(n *tree.Node, key string) string {
	s := p.text(n, key)
	if s == "" {
		p.fail("%s is missing", key)
	}
	return s
}

// input returns the arguments at key as they were sent: an object, or, where
// the agent writes it so, an object in a text.
func (p *payload) input(n *tree.Node, key string, inText bool) json.RawMessage {
	v := n.Get(key)
	switch {
	case v == nil:
		p.fail("%s is missing", key)
	case v.Is(tree.Object):
		p.folded(v)
		return json.RawMessage(v.Source(p.src))
	case !v.Is(tree.String) || !inText:
		p.fail("%s must be an object, not %s", key, v.Kind)
	default:
		inner, problems := jsonx.Parse([]byte(v.Str), jsonx.Options{})
		if tree.Fatal(problems) || !inner.Is(tree.Object) {
			p.fail("%s is text that is no JSON object", key)
		}
		p.folded(inner)
		return json.RawMessage(v.Str)
	}
	return nil
}

// made returns arguments that are put together here.
func (p *payload) made(kv ...any) json.RawMessage {
	b, err := jsonx.Marshal(obj(kv...))
	if err != nil {
		p.fail("%w", err)
	}
	return b
}

// toolCall reads {"name", "args"}.
func (p *payload) toolCall(call *tree.Node) *obstat.Call {
	if call != nil && !call.Is(tree.Object) {
		p.fail("toolCall must be an object, not %s", call.Kind)
	}
	p.folded(call)
	p.keys(call, "name args")
	return &obstat.Call{Tool: p.need(call, "name"), Input: p.input(call, "args", false)}
}

// roots returns a list of absolute directories.
func (p *payload) roots(n *tree.Node) (out []string) {
	if n == nil || n.Is(tree.Null) {
		return nil
	}
	if !n.Is(tree.Array) {
		p.fail("the workspace's directories must be a list, not %s", n.Kind)
	}
	for _, e := range n.Elems {
		if !e.Is(tree.String) || !absolute(e.Str) {
			p.fail("a directory of the workspace is no absolute path")
		}
		out = append(out, e.Str)
	}
	return out
}

// project returns the directory that a variable names, as the call's roots.
func (p *payload) project(variable string) []string {
	if dir := p.getenv(variable); absolute(dir) {
		return []string{dir}
	}
	return nil
}

// typed writes a command that is a list of words as the text that means the same, for rules are about texts:
// `["bash", "-lc", "make all"]` as `make all`: a shell tool runs a text so. Tools that take
// none but texts are left out, and refused.
func typed(c *obstat.Call) {
	if among(shellTools, c.Tool) || effect.ToolKind(c.Tool) != "shell" {
		return
	}
	n, problems := jsonx.Parse(c.Input, jsonx.Options{})
	if tree.Fatal(problems) {
		return
	}
	for _, key := range []string{"command", "cmd"} {
		v := n.Get(key)
		if !v.Is(tree.Array) || len(v.Elems) == 0 {
			continue
		}
		var words []string
		for _, e := range v.Elems {
			if !e.Is(tree.String) {
				return // judged as it is, and refused
			}
			words = append(words, e.Str)
		}
		line := shellWords(words)
		if len(words) == 3 && among("sh bash zsh dash", path.Base(words[0])) && among("-c -lc", words[1]) {
			line = words[2]
		}
		if text, err := jsonx.Marshal(line); err == nil {
			c.Input = slices.Concat(c.Input[:v.Start], text, c.Input[v.End:])
		}
		return
	}
}

// mcp names a tool of a server the way rules do: `mcp__github__create_issue`.
func mcp(server, tool string) string { return "mcp__" + server + "__" + tool }

// shellTools are the agents' tools that run the text in their argument `command`.
const shellTools = "Bash PowerShell bash powershell run_shell_command Shell execute_command run_command Execute " +
	"execute_bash run_in_terminal"

// fileKeys are arguments of the agents' own tools that name one file.
const fileKeys = "file_path filePath notebook_path absolute_path target_file"

// check refuses a call that cannot be judged: a command that is a list would be
// judged as words, and no rule could be held against a file that is not a text,
// while the agent may make sense of both.
func (p *payload) check(e *Event) {
	c, who := e.Call, e.who
	if c.Tool == "" {
		p.fail("the call names no tool")
	}
	hidden := strings.ContainsFunc(c.Tool, func(r rune) bool { return !unicode.IsPrint(r) })
	if hidden || strings.TrimSpace(c.Tool) != c.Tool {
		p.fail("the name of the tool %q has a blank at its end, or a character in it that is not shown", c.Tool)
	}
	if c.Dir != "" && !absolute(c.Dir) {
		p.fail("the working directory %q is not absolute", c.Dir)
	}
	if err := (&obstat.Facts{Call: c}).Fault(); err != nil {
		p.fail("%w", err)
	}
	n, _ := jsonx.Parse(c.Input, jsonx.Options{})
	if !who.lists && among(shellTools, c.Tool) {
		key := either(n, either(n, "command", "command_line"), "cmd")
		switch v := n.Get(key); {
		case v == nil:
			p.fail("%s is missing", key)
		case !v.Is(tree.String):
			p.fail("%s must be text, not %s", key, v.Kind)
		}
	}
	named := false
	for _, m := range n.Members {
		if !among(fileKeys, m.Key) || who.lists || strings.HasPrefix(c.Tool, "mcp") {
			continue
		}
		if named = true; !m.Value.Is(tree.String) {
			p.fail("%s must be text, not %s", m.Key, m.Value.Kind)
		}
	}
	if !named && among(who.fileTools, c.Tool) {
		p.fail("file_path is missing")
	}
	p.controls(n)
}

// controls refuses commands with control characters in them: a person would be
// shown something else than the text that runs.
func (p *payload) controls(n *tree.Node) {
	for _, m := range n.Members {
		if !among("command cmd command_line commandline script", strings.ToLower(m.Key)) {
			continue
		}
		for _, r := range m.Value.Str {
			if r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
				p.fail("the command has a control character (%U) in it", r)
			}
		}
	}
}

// either returns b where only that key is there.
func either(n *tree.Node, a, b string) string {
	if n.Get(a) == nil && n.Get(b) != nil {
		return b
	}
	return a
}

// among tells whether a word is one of those in list, which are separated by
// blanks.
func among(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// absolute tells whether p is an absolute path of any system.
func absolute(p string) bool {
	if path.IsAbs(p) || strings.HasPrefix(p, `\\`) {
		return true
	}
	letter := len(p) >= 3 && p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z'
	return letter && p[1] == ':' && strings.IndexByte(`\/`, p[2]) >= 0
}

// text returns a text of an object, "" if there is none.
func text(n *tree.Node, key string) string {
	if v := n.Get(key); v.Is(tree.String) {
		return v.Str
	}
	return ""
}

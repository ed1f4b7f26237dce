package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// A payload is what an agent sent, read strictly.
type payload struct {
	src    []byte
	root   *tree.Node
	getenv func(string) string
}

// folded refuses keys that differ only in their capitals: whoever reads the
// payload next may take the other one.
func (p *payload) folded(n *tree.Node) error {
	seen := map[string]string{}
	for _, m := range n.Members {
		low := strings.ToLower(m.Key)
		if other, twice := seen[low]; twice {
			return fmt.Errorf("the keys %q and %q differ only in their capitals", other, m.Key)
		}
		seen[low] = m.Key
	}
	return nil
}

// keys refuses keys that are one of the known ones in other capitals.
func (p *payload) keys(n *tree.Node, known ...string) error {
	for _, m := range n.Members {
		for _, k := range known {
			if m.Key != k && strings.EqualFold(m.Key, k) {
				return fmt.Errorf("the key %q is not %q: the capitals differ", m.Key, k)
			}
		}
	}
	return nil
}

// text returns the text at key; absent or null is "", anything else an error.
func (p *payload) text(n *tree.Node, key string) (string, error) {
	v := n.Get(key)
	switch {
	case v == nil || v.Is(tree.Null):
		return "", nil
	case !v.Is(tree.String):
		return "", fmt.Errorf("%s must be text, not %s", key, v.Kind)
	}
	return v.Str, nil
}

// need returns the text at key, which must be there.
func (p *payload) need(n *tree.Node, key string) (string, error) {
	s, err := p.text(n, key)
	if err == nil && s == "" {
		err = fmt.Errorf("%s is missing", key)
	}
	return s, err
}

// texts reads several keys into variables, and stops at the first problem.
func (p *payload) texts(n *tree.Node, into map[string]*string) error {
	for _, m := range n.Members {
		if to := into[m.Key]; to != nil {
			s, err := p.text(n, m.Key)
			if err != nil {
				return err
			}
			*to = s
		}
	}
	return nil
}

// input returns the arguments at key as they were sent: an object, or, where
// the agent writes it so, an object in a text.
func (p *payload) input(n *tree.Node, key string, inText bool) (json.RawMessage, error) {
	v := n.Get(key)
	switch {
	case v == nil:
		return nil, fmt.Errorf("%s is missing", key)
	case v.Is(tree.Object):
		return json.RawMessage(v.Source(p.src)), p.folded(v)
	case !v.Is(tree.String) || !inText:
		return nil, fmt.Errorf("%s must be an object, not %s", key, v.Kind)
	}
	inner, problems := jsonx.Parse([]byte(v.Str), jsonx.Options{})
	if tree.Fatal(problems) || !inner.Is(tree.Object) {
		return nil, fmt.Errorf("%s is text that is no JSON object", key)
	}
	return json.RawMessage(v.Str), p.folded(inner)
}

// made returns arguments that are put together here.
func made(fields ...jsonx.Field) (json.RawMessage, error) {
	b, err := jsonx.Marshal(jsonx.Object(fields))
	return b, err
}

// roots returns the texts of a list of absolute directories.
func (p *payload) roots(n *tree.Node) ([]string, error) {
	if n == nil || n.Is(tree.Null) {
		return nil, nil
	}
	if !n.Is(tree.Array) {
		return nil, fmt.Errorf("the workspace's directories must be a list, not %s", n.Kind)
	}
	var out []string
	for _, e := range n.Elems {
		if !e.Is(tree.String) || !absolute(e.Str) {
			return nil, fmt.Errorf("a directory of the workspace is no absolute path")
		}
		out = append(out, e.Str)
	}
	return out, nil
}

// noEvent is the error of an event that the agent does not have.
func noEvent(e *Event) error {
	if e.Name == "" {
		return fmt.Errorf("the event is missing")
	}
	return fmt.Errorf("there is no event %q", e.Name)
}

// event refuses an event's name that is no text: what is no name is not taken for
// none.
func (p *payload) event(e *Event) error {
	keys := []string{"hook_event_name", "agent_action_name", "hookName"}
	if e.Agent == Crush {
		keys = append(keys, "event")
	}
	for _, key := range keys {
		if _, err := p.text(p.root, key); err != nil {
			return err
		}
	}
	return nil
}

// mcp names a tool of a server the way rules do.
func mcp(server, tool string) string { return "mcp__" + server + "__" + tool }

// check holds for every agent's calls.
func (p *payload) check(e *Event) error {
	c := e.Call
	switch {
	case c == nil:
		return nil
	case c.Tool == "":
		return fmt.Errorf("the call names no tool")
	case c.Dir != "" && !absolute(c.Dir):
		return fmt.Errorf("the working directory %q is not absolute", c.Dir)
	}
	if err := (&obstat.Facts{Call: c}).Fault(); err != nil {
		return err
	}
	c.Agent = e.Agent
	return command(c)
}

// shellTools are the agents' tools whose command is a text and must be there.
const shellTools = "Bash PowerShell bash powershell run_shell_command Shell execute_command run_command"

// command refuses the call of a shell tool without a text to run: a list would
// be judged as words, and nobody knows what the agent makes of it. In generic's
// calls a list is a program and its arguments.
func command(c *obstat.Call) error {
	n, _ := jsonx.Parse(c.Input, jsonx.Options{})
	if c.Agent != Generic && among(shellTools, c.Tool) {
		key := either(n, "command", "command_line")
		switch v := n.Get(key); {
		case v == nil:
			return fmt.Errorf("%s is missing", key)
		case !v.Is(tree.String):
			return fmt.Errorf("%s must be text, not %s", key, v.Kind)
		}
	}
	if err := file(c, n); err != nil {
		return err
	}
	return controls(n)
}

// Keys of the agents' own tools that name one file, and Claude Code's tools that
// have to have one.
const (
	fileKeys  = "file_path filePath notebook_path absolute_path target_file"
	fileTools = "Read Write Edit MultiEdit NotebookEdit"
)

// file refuses the call of a file tool whose file is no text: no rule could be held
// against it, and nobody knows what the agent makes of it.
func file(c *obstat.Call, n *tree.Node) error {
	if c.Agent == Generic || strings.HasPrefix(c.Tool, "mcp") {
		return nil
	}
	named := false
	for _, m := range n.Members {
		if !among(fileKeys, m.Key) {
			continue
		}
		if named = true; !m.Value.Is(tree.String) {
			return fmt.Errorf("%s must be text, not %s", m.Key, m.Value.Kind)
		}
	}
	if !named && c.Agent == ClaudeCode && among(fileTools, c.Tool) {
		return errors.New("file_path is missing")
	}
	return nil
}

// controls refuses commands with control characters in them: what a person is
// shown is not what would run.
func controls(n *tree.Node) error {
	for _, m := range n.Members {
		switch strings.ToLower(m.Key) {
		case "command", "cmd", "command_line", "commandline", "script":
		default:
			continue
		}
		for _, r := range m.Value.Str {
			if r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
				return fmt.Errorf("the command has a control character (%U) in it", r)
			}
		}
	}
	return nil
}

func field(key string, value any) jsonx.Field { return jsonx.Field{Key: key, Value: value} }

// among tells whether a word is one of those in list, which has them with space
// between: a hook starts anew for every call, and a text costs it nothing.
func among(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

package agents

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// A Request says what is to be installed, or taken out, and where.
type Request struct {
	Scope   Scope
	Where   *Where // with at most one project
	Program string // path of obstat
}

// A Change is one file and what is done to it: Edit gets its bytes, nil where
// there is none, and returns the new ones, nil to remove the file.
type Change struct {
	Name string
	Edit func(old []byte) ([]byte, error)
}

// A target is one file to change.
type target struct {
	agent                        *Agent
	file, command, home, program string
}

// target returns the file that a request is about; nil where the agent reads
// none in that scope.
func (a *Agent) target(r *Request) *target {
	for _, p := range a.Places(r.Where) {
		if p.Install && p.Scope == r.Scope {
			t := &target{agent: a, file: p.Name, command: Quote(r.Program) + " hook " + a.Name, home: r.Where.Home, program: r.Program}
			if p.Dir {
				t.file = filepath.Join(p.Name, a.ownFile())
			}
			return t
		}
	}
	return nil
}

// Install returns the changes that put obstat's hook in, in the order they are
// made; nil if the agent reads no hooks in that scope.
func (a *Agent) Install(r *Request) []Change {
	t := a.target(r)
	switch {
	case t == nil:
		return nil
	case a.whole != nil:
		return []Change{{t.file, func([]byte) ([]byte, error) { return a.whole(t), nil }}}
	}
	out := []Change{{t.file, t.add}}
	if a.trust {
		out = append(out, Change{filepath.Join(t.home, ".codex", "config.toml"), t.trustHash})
	}
	return out
}

// Uninstall returns the changes that take obstat's hook out.
func (a *Agent) Uninstall(r *Request) []Change {
	t := a.target(r)
	switch {
	case t == nil:
		return nil
	case a.whole != nil:
		return []Change{{t.file, func(old []byte) ([]byte, error) {
			if old != nil && !bytes.Contains(old, []byte("obstat")) {
				return nil, fmt.Errorf("this file is not obstat's")
			}
			return nil, nil
		}}}
	}
	return []Change{{t.file, t.remove}}
}

// Quote writes an argument for a POSIX shell.
func Quote(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
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

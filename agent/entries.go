package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/tree"
)

// An Entry is one hook of an agent's settings.
type Entry struct {
	Event     string
	Line, Col int
	Text      string // the command line, as it is written
	Matcher   string
	Timeout   time.Duration // how long the agent waits; zero is not known
	// Ours: it calls obstat's hook, by Invocation.
	Ours       bool
	Invocation Invocation

	// group and handler are where it stands in the list of its event; handler is
	// -1 where there are no groups.
	group, handler int
	// lax are keys that keep the agent from waiting for the hook or from asking it
	// every time: async, if, once.
	lax []string
	// kind is the type that it claims, where that is none that runs a command.
	kind string
	// failClosed is Cursor's word for denying when the hook fails.
	failClosed bool
}

// laxKeys make an agent not wait for a hook, or not always ask it.
var laxKeys = []string{"async", "asyncRewake", "if", "once"}

// entries returns the hooks of a document.
func (a *Agent) entries(f *File) (out []Entry) {
	hooks := f.root.Get(a.form.top())
	if !hooks.Is(tree.Object) {
		return nil
	}
	for _, m := range hooks.Members {
		if !m.Value.Is(tree.Array) {
			continue
		}
		for g, node := range m.Value.Elems {
			inner := node.Get("hooks")
			if !a.form.nested || !inner.Is(tree.Array) {
				out = append(out, a.entry(f, m.Key, g, -1, node, node))
				continue
			}
			for h, handler := range inner.Elems {
				out = append(out, a.entry(f, m.Key, g, h, node, handler))
			}
		}
	}
	return out
}

func (a *Agent) entry(f *File, event string, g, h int, group, handler *tree.Node) Entry {
	e := Entry{Event: event, group: g, handler: h, Matcher: text(group, "matcher"), Timeout: a.waits()}
	e.Line, e.Col = tree.LineCol(f.data, handler.Start)
	for _, key := range append(slices.Clone(a.form.commands), "command", "exec") {
		if e.Text = text(handler, key); e.Text == "" {
			continue
		}
		words := splitWords(e.Text)
		if args := handler.Get("args"); args.Is(tree.Array) {
			words = []string{e.Text}
			for _, n := range args.Elems {
				words = append(words, n.Str)
			}
			e.Text = shellWords(words)
		}
		e.Invocation, e.Ours = a.invocation(words)
		break
	}
	if n := handler.Get(a.form.timeout); n.Is(tree.Number) {
		if v, err := strconv.ParseFloat(n.Num, 64); err == nil && v >= 0 && v < 1e9 {
			e.Timeout = time.Duration(v * float64(a.form.unit))
		}
	}
	for _, key := range laxKeys {
		if n := handler.Get(key); n != nil && !n.Is(tree.Null) && (!n.Is(tree.Bool) || n.Bool) {
			e.lax = append(e.lax, key)
		}
	}
	if kind := handler.Get("type"); a.form.nested && kind == nil {
		e.kind = "none"
	} else if kind != nil && text(handler, "type") != "command" {
		e.kind = string(kind.Source(f.data))
	}
	e.failClosed = isBool(handler.Get("failClosed"), true)
	return e
}

// waits returns how long the agent waits for a hook whose entry names no time; zero
// where entries cannot name one.
func (a *Agent) waits() time.Duration {
	if a.form.timeout == "" {
		return 0
	}
	return a.Patience
}

func isBool(n *tree.Node, value bool) bool { return n.Is(tree.Bool) && n.Bool == value }

// scriptEntry finds obstat in a plugin or script.
func (a *Agent) scriptEntry(f *File) []Entry {
	e := Entry{Event: a.events[0], group: -1, handler: -1, Line: 1, Col: 1, Timeout: a.limit}
	for i, line := range strings.Split(string(f.data), "\n") {
		words := a.script(line)
		if e.Invocation, e.Ours = a.invocation(words); e.Ours {
			e.Line, e.Text = i+1, shellWords(words)
			return []Entry{e}
		}
	}
	e.Text = filepath.Base(f.Name)
	return []Entry{e}
}

// shape returns a part of a file's hooks that the agent cannot make sense of, nil
// if there is none: it may skip the whole file for it, and obstat's hook with it.
func (a *Agent) shape(f *File) error {
	if f.root == nil || f.isTOML() || tree.Fatal(f.problems) {
		return nil
	}
	if a.strict != "" && f.root.Is(tree.Object) {
		for _, m := range f.root.Members {
			if !among(a.strict, m.Key) {
				return fmt.Errorf("the key %q is none of %s's", m.Key, a.Title)
			}
		}
	}
	return a.kinds(f.root.Get(a.form.top()), true)
}

// kinds returns where another kind of value stands than the object or list that
// has to be there: an entry that is put beside it would not be read. whole wants
// every group to have its hooks.
func (a *Agent) kinds(hooks *tree.Node, whole bool) error {
	if err := kind("hooks", hooks, tree.Object); err != nil || hooks == nil {
		return err
	}
	for _, m := range hooks.Members {
		at := "hooks." + m.Key
		if err := kind(at, m.Value, tree.Array); err != nil {
			return err
		}
		for i, e := range m.Value.Elems {
			if err := a.kindsOf(fmt.Sprintf("%s[%d]", at, i), e, whole); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Agent) kindsOf(at string, e *tree.Node, whole bool) error {
	if err := kind(at, e, tree.Object); err != nil || !a.form.nested {
		return err
	}
	inner := e.Get("hooks")
	if inner == nil {
		if whole {
			return fmt.Errorf("%s has no hooks", at)
		}
		return nil
	}
	if err := kind(at+".hooks", inner, tree.Array); err != nil {
		return err
	}
	for j, h := range inner.Elems {
		if err := kind(fmt.Sprintf("%s.hooks[%d]", at, j), h, tree.Object); err != nil {
			return err
		}
	}
	return nil
}

// kind refuses a node that is there and is another kind.
func kind(at string, n *tree.Node, want tree.Kind) error {
	if n == nil || n.Is(want) {
		return nil
	}
	return fmt.Errorf("%s is %s, not %s", at, n.Kind, want)
}

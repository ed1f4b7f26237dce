package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// An Entry is one hook of an agent's settings.
type Entry struct {
	Event string
	// Group and Handler are where it stands in the list of its event; Handler is
	// -1 where there are no groups.
	Group, Handler int
	Line, Col      int
	Text           string // the command line, as it is written
	Matcher        string
	Timeout        time.Duration // what the agent waits; zero is not known
	// Ours: it calls obstat, in the way that Call says.
	Ours bool
	Call Call
	// Lax names what keeps the agent from waiting for the hook or from asking it
	// every time: async, if, once.
	Lax []string
	// Type is what kind of hook it says it is, where that is none that runs a
	// command.
	Type string
	// FailClosed is Cursor's word for denying when the hook fails.
	FailClosed bool
}

// A File is one settings file and the hooks in it.
type File struct {
	Place Place
	Name  string
	Data  []byte
	// Root is the document, nil where it is no JSON; Problems are why.
	Root     *tree.Node
	Problems []tree.Problem
	Entries  []Entry
	toml     []tomlValue
}

// Broken returns the first problem with its position, nil if the file can be
// read.
func (f *File) Broken() error {
	if !tree.Fatal(f.Problems) {
		return nil
	}
	return &textedit.BrokenError{Src: f.Data, Problems: f.Problems}
}

// Read reads the files of a place that exist. Files that cannot be opened are
// errors; those that cannot be parsed are told by [File.Broken].
func (a *Agent) Read(p Place) ([]*File, error) {
	names := []string{p.Name}
	if p.Dir {
		list, err := os.ReadDir(p.Name)
		if err != nil {
			return nil, ifMissing(err)
		}
		names = nil
		for _, e := range list {
			if a.reads(e.Name()) {
				names = append(names, filepath.Join(p.Name, e.Name()))
			}
		}
	}
	var out []*File
	for _, name := range names {
		data, err := textedit.ReadFile(name)
		if err != nil {
			return out, err
		}
		if data != nil {
			out = append(out, a.parse(p, name, data))
		}
	}
	return out, nil
}

// ifMissing makes nothing of an error that says that there is no such file.
func ifMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// reads tells which files of a directory of hooks the agent reads.
func (a *Agent) reads(name string) bool {
	switch a.Name {
	case OpenCode:
		return slices.Contains([]string{".js", ".ts", ".mjs"}, filepath.Ext(name))
	case Cline:
		return slices.Contains(a.Events, name)
	}
	return filepath.Ext(name) == ".json"
}

func (a *Agent) parse(p Place, name string, data []byte) *File {
	f := &File{Place: p, Name: name, Data: data}
	switch {
	case filepath.Ext(name) == ".toml":
		doc := parseTOML(data)
		f.toml = doc.out
		if doc.bad >= 0 {
			f.Problems = []tree.Problem{{Offset: doc.bad, Msg: "this is not TOML"}}
		}
		a.tomlEntries(f)
	case p.Dir && a.own != nil && a.format == 0:
		f.Entries = a.scriptEntry(f)
	case len(bytes.TrimSpace(data)) > 0:
		format := a.format
		if format == 0 || strings.HasSuffix(name, ".jsonc") {
			format = textedit.JSONC
		}
		f.Root, f.Problems = format.Parse(data)
		if !tree.Fatal(f.Problems) {
			f.Entries = a.entries(f)
		}
	}
	return f
}

// entries returns the hooks of a JSON document.
func (a *Agent) entries(f *File) (out []Entry) {
	hooks := f.Root.Get("hooks")
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
	e := Entry{Event: event, Group: g, Handler: h, Matcher: text(group, "matcher"), Timeout: a.form.standard}
	e.Line, e.Col = tree.LineCol(f.Data, handler.Start)
	keys := append(slices.Clone(a.form.commands), "command", "exec")
	for _, key := range keys {
		if e.Text = text(handler, key); e.Text == "" {
			continue
		}
		args := handler.Get("args")
		if !args.Is(tree.Array) {
			e.Call, e.Ours = ParseCall(e.Text)
			break
		}
		words := []string{e.Text}
		for _, n := range args.Elems {
			words = append(words, n.Str)
		}
		e.Text = shellWords(words)
		e.Call, e.Ours = callOf(words, 2)
		break
	}
	if n := handler.Get(a.form.timeout); n.Is(tree.Number) {
		if v, err := strconv.ParseFloat(n.Num, 64); err == nil && v >= 0 && v < 1e9 {
			e.Timeout = time.Duration(v * float64(a.form.unit))
		}
	}
	for _, key := range lax {
		if n := handler.Get(key); n != nil && !n.Is(tree.Null) && (!n.Is(tree.Bool) || n.Bool) {
			e.Lax = append(e.Lax, key)
		}
	}
	if kind := handler.Get("type"); a.form.nested && kind == nil {
		e.Type = "none"
	} else if kind != nil && text(handler, "type") != "command" {
		e.Type = string(kind.Source(f.Data))
	}
	n := handler.Get("failClosed")
	e.FailClosed = n.Is(tree.Bool) && n.Bool
	return e
}

// lax are the keys that make an agent not wait for a hook, or not always ask it.
var lax = []string{"async", "asyncRewake", "if", "once"}

func text(n *tree.Node, key string) string {
	if v := n.Get(key); v.Is(tree.String) {
		return v.Str
	}
	return ""
}

// scriptEntry finds obstat in a plugin or script.
func (a *Agent) scriptEntry(f *File) []Entry {
	e := Entry{Event: a.Events[0], Group: -1, Handler: -1, Line: 1, Col: 1, Timeout: a.Limit}
	for i, line := range strings.Split(string(f.Data), "\n") {
		rest, isCommand := strings.CutPrefix(line, "const command = ")
		switch {
		case a.Name == OpenCode && isCommand:
			n, problems := jsonx.Parse([]byte(strings.TrimSuffix(strings.TrimSpace(rest), ";")), jsonx.Options{})
			if tree.Fatal(problems) || !n.Is(tree.Array) {
				continue
			}
			var words []string
			for _, w := range n.Elems {
				words = append(words, w.Str)
			}
			e.Call, e.Ours = callOf(words, 0)
			e.Text = shellWords(words)
		case a.Name == Cline && !strings.HasPrefix(line, "#"):
			e.Call, e.Ours = ParseCall(line)
			e.Text = line
		}
		if e.Ours {
			e.Line = i + 1
			return []Entry{e}
		}
	}
	e.Text = filepath.Base(f.Name)
	return []Entry{e}
}

// Intact tells whether a file that is obstat's alone is as obstat writes it.
func (a *Agent) Intact(f *File) bool {
	return a.own != nil && len(f.Entries) == 1 && f.Entries[0].Ours && bytes.Equal(f.Data, a.own(f.Entries[0].Call))
}

// Own tells whether obstat's hook is a file of its own with this agent.
func (a *Agent) Own() bool { return a.own != nil && a.format == 0 }

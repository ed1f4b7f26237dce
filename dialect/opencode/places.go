package opencode

import (
	"fmt"
	"path"
	"slices"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// placer collects places.
type placer []dialect.Place

// add adds files of a directory.
func (p *placer) add(layer, dir string, names ...string) {
	for _, name := range names {
		*p = append(*p, dialect.Place{Name: path.Join(dir, name), Layer: layer})
	}
}

// all adds a whole directory of opencode's: configuration and agents.
func (p *placer) all(layer, dir string) {
	p.add(layer, dir, "opencode.json", "opencode.jsonc")
	for _, sub := range agentDirs {
		for _, depth := range []string{"*.md", "*/*.md"} {
			*p = append(*p, dialect.Place{Name: path.Join(dir, sub, depth), Glob: true, Layer: layer})
		}
	}
}

// Places returns where opencode reads its configuration for a directory, in the
// order in which it merges it, lowest precedence first. Of the directories above
// it each is a place of its own: package policy puts them together.
//
// An organisation's configuration, which comes over the network, and the
// preferences of macOS are not among them.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p placer
	config := w.Getenv("XDG_CONFIG_HOME")
	if config == "" && w.Home != "" {
		config = path.Join(w.Home, ".config")
	}
	if config != "" {
		global := path.Join(config, "opencode")
		p.add(dialect.LayerUser, global, "config.json")
		p.all(dialect.LayerUser, global)
	}
	if f := w.Getenv("OPENCODE_CONFIG"); f != "" {
		p.env("OPENCODE_CONFIG", func() { p.add(dialect.LayerUser, "", f) })
	}
	if w.Dir != "" {
		p.add(dialect.LayerProject, w.Dir, ".opencode/config.json", "opencode.json", "opencode.jsonc")
		p.all(dialect.LayerProject, path.Join(w.Dir, ".opencode"))
	}
	if w.Home != "" {
		p.all(dialect.LayerUser, path.Join(w.Home, ".opencode"))
	}
	if d := w.Getenv("OPENCODE_CONFIG_DIR"); d != "" {
		p.env("OPENCODE_CONFIG_DIR", func() { p.all(dialect.LayerUser, d) })
	}
	p.text(w, "OPENCODE_CONFIG_CONTENT", "%s")
	p.all(dialect.LayerManaged, path.Join(w.Machine, "/etc/opencode"))
	p.text(w, "OPENCODE_PERMISSION", `{"permission": %s}`)
	return p, nil
}

// env marks the places that add adds as named by a variable.
func (p *placer) env(name string, add func()) {
	from := len(*p)
	add()
	for i := range (*p)[from:] {
		(*p)[from+i].Env = name
	}
}

// text adds the configuration that a variable holds itself.
func (p *placer) text(w *dialect.Where, name, format string) {
	if s := w.Getenv(name); s != "" {
		*p = append(*p, dialect.Place{Name: "$" + name, Layer: dialect.LayerUser, Env: name, Data: fmt.Appendf(nil, format, s)})
	}
}

// Speaks tells whether a file has rules; most that are called opencode.json name
// models and servers.
func (Dialect) Speaks(f *dialect.File) bool {
	if isMarkdown(f.Name) {
		return true
	}
	root, problems := jsonx.Parse(f.Data, jsonx.JSONC())
	if tree.Fatal(problems) || !root.Is(tree.Object) {
		return true // broken, and perhaps it had
	}
	return slices.ContainsFunc(root.Members, func(m tree.Member) bool {
		return slices.Contains([]string{keyProgram, keyDocument, "tools"}, m.Key) || (m.Key == "agent" || m.Key == "mode") && agentSpeaks(m.Value) || near(m.Key)
	})
}

// agentSpeaks tells whether one of the agents of a file has rules.
func agentSpeaks(agents *tree.Node) bool {
	return slices.ContainsFunc(agents.Members, func(m tree.Member) bool { return m.Value.Get(keyProgram) != nil || m.Value.Get("tools") != nil })
}

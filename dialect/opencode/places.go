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
type placer struct{ dialect.Places }

// all adds a whole directory of opencode's: configuration and agents.
func (p *placer) all(layer, dir string) {
	p.Add(layer, dir, "opencode.json", "opencode.jsonc")
	for _, sub := range agentDirs {
		p.Add(layer, dir, sub+"/*.md", sub+"/*/*.md")
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
		p.Add(dialect.LayerUser, config, "opencode/config.json")
		p.all(dialect.LayerUser, path.Join(config, "opencode"))
	}
	if f := w.Getenv("OPENCODE_CONFIG"); f != "" {
		p.Places = append(p.Places, dialect.Place{Name: path.Clean(f), Layer: dialect.LayerUser, Env: "OPENCODE_CONFIG"})
	}
	p.Add(dialect.LayerProject, w.Dir, documentFile, "opencode.json", "opencode.jsonc")
	if w.Dir != "" {
		p.all(dialect.LayerProject, path.Join(w.Dir, ".opencode"))
	}
	if w.Home != "" {
		p.all(dialect.LayerUser, path.Join(w.Home, ".opencode"))
	}
	from := len(p.Places)
	p.all(dialect.LayerUser, w.Getenv(configDir))
	for i := range p.Places[from:] {
		p.Places[from+i].Env = configDir
	}
	p.text(w, "OPENCODE_CONFIG_CONTENT", "%s")
	p.all(dialect.LayerManaged, path.Join(w.Machine, "/etc/opencode"))
	p.text(w, "OPENCODE_PERMISSION", `{"permission": %s}`)
	return p.Places, nil
}

// configDir is the variable that names one more directory of opencode's.
const configDir = "OPENCODE_CONFIG_DIR"

// text adds the configuration that a variable holds itself.
func (p *placer) text(w *dialect.Where, name, format string) {
	if s := w.Getenv(name); s != "" {
		p.Places = append(p.Places, dialect.Place{Name: "$" + name, Layer: dialect.LayerUser, Env: name,
			Data: fmt.Appendf(nil, format, s)})
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
		switch m.Key {
		case keyProgram, keyDocument, "tools":
			return true
		case "agent", "mode":
			return agentSpeaks(m.Value)
		}
		return near(m.Key)
	})
}

// agentSpeaks tells whether one of the agents of a file has rules.
func agentSpeaks(agents *tree.Node) bool {
	return slices.ContainsFunc(agents.Members,
		func(m tree.Member) bool { return m.Value.Get(keyProgram) != nil || m.Value.Get("tools") != nil })
}

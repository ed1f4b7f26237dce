package opencode

import (
	"path"
	"strings"

	"github.com/obstat/obstat/dialect"
)

// A Place is where opencode reads a configuration from.
type Place struct {
	// Path is a file, or a pattern of agent files where Glob is set. It is ""
	// where Data holds the configuration itself.
	Path  string
	Glob  bool
	Layer string // managed, user or project
	Data  []byte // from the environment
}

// File returns the place's file with the bytes that were read there.
func (p *Place) File(name string, data []byte) dialect.File {
	return dialect.File{Name: name, Layer: p.Layer, Data: data}
}

// placer collects places.
type placer []Place

// add adds files of a directory.
func (p *placer) add(layer, dir string, names ...string) {
	for _, name := range names {
		*p = append(*p, Place{Path: path.Join(dir, name), Layer: layer})
	}
}

// all adds a whole directory of opencode's: configuration and agents.
func (p *placer) all(layer, dir string) {
	p.add(layer, dir, "opencode.json", "opencode.jsonc")
	for _, sub := range agentDirs {
		for _, depth := range []string{"*.md", "*/*.md"} {
			*p = append(*p, Place{Path: path.Join(dir, sub, depth), Glob: true, Layer: layer})
		}
	}
}

// Places returns where opencode reads its configuration for a directory of a
// worktree, in the order in which it merges it, lowest precedence first. What
// does not exist is to be left out. getenv reads the environment.
//
// What comes over the network (an organisation's configuration) and from the
// preferences of macOS is not among them.
func Places(getenv func(string) string, home, worktree, dir string) []Place {
	var p placer
	config := getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	global := path.Join(config, "opencode")
	p.add("user", global, "config.json")
	p.all("user", global)
	if f := getenv("OPENCODE_CONFIG"); f != "" {
		p.add("user", "", f)
	}
	ups := upward(worktree, dir)
	for i := len(ups) - 1; i >= 0; i-- { // the worktree's root first
		p.add("project", ups[i], "opencode.json", "opencode.jsonc")
	}
	for _, d := range ups { // and here the directory first
		p.all("project", path.Join(d, ".opencode"))
	}
	if home != "" {
		p.all("user", path.Join(home, ".opencode"))
	}
	if d := getenv("OPENCODE_CONFIG_DIR"); d != "" {
		p.all("user", d)
	}
	if s := getenv("OPENCODE_CONFIG_CONTENT"); s != "" {
		p = append(p, Place{Layer: "user", Data: []byte(s)})
	}
	p.all("managed", "/etc/opencode")
	if s := getenv("OPENCODE_PERMISSION"); s != "" {
		p = append(p, Place{Layer: "user", Data: []byte(`{"permission": ` + s + `}`)})
	}
	return p
}

// upward returns a directory and those above it up to the worktree's root, which
// is the directory alone where there is no worktree.
func upward(worktree, dir string) []string {
	dir = path.Clean(dir)
	if worktree == "" || worktree == "/" || !strings.HasPrefix(dir+"/", strings.TrimSuffix(path.Clean(worktree), "/")+"/") {
		return []string{dir}
	}
	out := []string{dir}
	for dir != path.Clean(worktree) {
		dir = path.Dir(dir)
		out = append(out, dir)
	}
	return out
}

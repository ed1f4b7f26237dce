package person

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/agent"
)

//go:embed known.txt
var knownText string

// names are the lists of known.txt, and the agents' traits, by their kind.
type names struct{ words map[string][]string }

// known parses the lists once.
var known = sync.OnceValue(func() *names {
	n := &names{map[string][]string{}}
	for _, t := range agent.All().Traits() {
		n.words[t.Kind] = append(n.words[t.Kind], t.Text)
	}
	for line := range strings.Lines(knownText) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			n.words[f[0]] = append(n.words[f[0]], f[1:]...)
		}
	}
	return n
})

// is tells whether a name is in a list.
func (n *names) is(kind, name string) bool { return name != "" && slices.Contains(n.words[kind], name) }

// agent tells whether a process is an agent's program: `claude`,
// `node /usr/lib/node_modules/@google/gemini-cli/dist/index.js`.
func (n *names) agent(p *proc) bool {
	own := []string{p.name, filepath.Base(p.exe)}
	if len(p.args) > 0 {
		own = append(own, filepath.Base(p.args[0]))
	}
	if slices.ContainsFunc(own, func(s string) bool { return n.is(agent.ProcessTrait, s) }) {
		return true
	}
	if !slices.ContainsFunc(own, n.interprets) {
		return false
	}
	for _, arg := range p.args[min(1, len(p.args)):] {
		if !strings.HasPrefix(arg, "-") {
			return n.script(arg)
		}
	}
	return false
}

// interprets tells whether a program runs scripts: `node`, `python3.12`.
func (n *names) interprets(name string) bool {
	return n.is("interprets", strings.TrimRight(name, "0123456789."))
}

// script tells whether a path leads into an agent's package, or is its program.
func (n *names) script(path string) bool {
	segs := strings.Split(filepath.ToSlash(path), "/")
	for i, seg := range segs {
		last := i == len(segs)-1
		inside := i > 0 && (segs[i-1] == "node_modules" || strings.HasPrefix(segs[i-1], "@"))
		if last {
			seg = strings.TrimSuffix(seg, filepath.Ext(seg))
		}
		if (last || inside) && n.is(agent.ProcessTrait, seg) {
			return true
		}
	}
	return false
}

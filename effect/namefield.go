package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/paths"
)

// nameField is a pattern of the file names that a search looks at: `*.{ts,js}`, `src/**/.e*`.
func (a *analyzer) nameField(tool *Tool, v any) {
	p, ok := v.(string)
	if !ok || tool.Canonical != "grep" {
		return
	}
	for _, name := range alternatives(p) {
		if name = path.Base(strings.TrimSuffix(name, "/")); strings.Trim(name, "*") == "" || name == "." {
			name = "*"
		}
		if a.names = append(a.names, name); strings.HasPrefix(p, "!") {
			a.names = nil // all others
			return
		}
		e, hit := paths.Sensitive(name)
		if !hit {
			e, hit = a.glob(name)
		}
		if hit && e.Secret {
			read := tool.effect(Read, p)
			read.Certain, read.Sensitive, read.Secret, read.Glob = false, e.Class, true, true
			a.effect(read)
		}
	}
}

// maxAlternatives is how many alternatives of a pattern are told apart.
const maxAlternatives = 16

// alternatives returns the patterns that one with braces, or several with commas between them, stands for; any
// name if they are too many.
func alternatives(p string) []string {
	before, rest, braces := strings.Cut(p, "{")
	if !braces {
		return strings.Split(p, ",")
	}
	inside, after, closed := strings.Cut(rest, "}")
	if !closed || strings.ContainsAny(inside+after, "{") || strings.Count(inside, ",") >= maxAlternatives {
		return []string{"*"}
	}
	var out []string
	for alt := range strings.SplitSeq(inside, ",") {
		out = append(out, before+alt+after)
	}
	return out
}

// nameEffects gives the reads of a search by name these names.
func (a *analyzer) nameEffects() {
	if len(a.names) == 0 {
		return
	}
	for i := range a.an.Effects {
		e := a.an.Effects[i]
		if e.Kind != Read || !e.Recursive {
			continue
		}
		a.an.Effects[i].name = a.names[0]
		for _, name := range a.names[1:] {
			e.name = name
			a.effect(e)
		}
	}
}

package protect

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/obstat/obstat/effect"
)

// maxScript is how long a script is that is looked into, and maxScripts how many
// of them run each other.
const (
	maxScript  = 256 << 10
	maxScripts = 3
)

// scripts looks into the files that a command runs as code. A script of the
// shell that speaks of what guards is read like a command; in another language
// it counts if it changes files and names the policy in force.
func (k *check) scripts(i int) *Finding {
	if k.depth >= maxScripts {
		return nil
	}
	c := &k.a.Commands[i]
	name := ""
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Kind == effect.Code && e.Path != "" && e.Where == "" {
			name = e.Path
		}
	}
	if name == "" && strings.Contains(c.Path, "/") {
		name = k.resolve(c.Dir, c.Path).Abs
	}
	if name == "" {
		return nil
	}
	text, _ := k.content(name, maxScript)
	if strings.IndexByte(text[:min(len(text), 512)], 0) >= 0 {
		return nil // a program
	}
	return k.script(c, name, text)
}

func (k *check) script(c *effect.Command, name, text string) *Finding {
	t := fold2(text)
	if k.spoken(t) == "" {
		return nil
	}
	first, _, _ := strings.Cut(t, "\n")
	if isShell(c) || c.Program == "source" || c.Program == "." || strings.HasPrefix(first, "#!") && strings.HasSuffix(strings.TrimSpace(first), "sh") {
		inner := *k.call
		inner.Tool, inner.Subjects, inner.Dir = "Bash", nil, c.Dir
		inner.Input, _ = json.Marshal(map[string]string{"command": text})
		a := effect.Analyze(&effect.Request{Tool: inner.Tool, Input: inner.Input, Options: effect.Options{Dir: inner.Dir, Roots: inner.Roots, FS: k.world}})
		f := (&check{g: k.g, call: &inner, world: k.world, a: a, depth: k.depth + 1}).look()
		if f != nil {
			f = &Finding{Part: name, Why: "of the script " + name + ": " + f.Why}
		}
		return f
	}
	if !says(t, removers) && !says(t, writers) {
		return nil
	}
	for _, p := range k.g.Policies {
		here := path.Dir(p) == c.Dir && (strings.Contains(t, `"`+path.Base(fold(p))+`"`) || strings.Contains(t, "'"+path.Base(fold(p))+"'"))
		if here || speaks(t, fold(tailOf(p))) {
			return &Finding{Part: name, Why: "it runs " + name + ", which changes files and speaks of " + p + ", " + isPolicy + "; only a person allows that"}
		}
	}
	return nil
}

// tailOf returns what a text says that means a file: its name, and the directory
// as well if many files have that name.
func tailOf(p string) string {
	base := path.Base(p)
	for i := range table() {
		if e := &table()[i]; e.path == base && !e.generic {
			return base
		}
	}
	return path.Base(path.Dir(p)) + "/" + base
}

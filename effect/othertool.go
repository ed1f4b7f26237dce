package effect

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
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

var (
	pathKeys = kb.Table("!path-fields")
	textKeys = kb.Table("!text-fields")
)

// pathKey reports whether a field of a tool of which nothing is known holds a path, by its name.
func pathKey(key string) bool {
	key = strings.ToLower(key)
	return pathKeys().Has(key)
}

// textKey reports whether a field holds a text, not a place.
func textKey(key string) bool {
	key = strings.ToLower(key)
	return textKeys().Has(key) && !strings.Contains(key, "file")
}

// otherTool analyses a tool that is not known, by its fields alone.
func (a *analyzer) otherTool(tool *Tool, in *input) {
	a.gap(UnknownTool, "what the tool does is not known", shell.Span{}, -1)
	for i, key := range in.keys {
		a.otherField(tool, key, in.values[i], 0)
	}
}

// commandKey reports whether a field of a tool of which nothing is known holds a command, by its name: `cmd`,
// `shell_command`, `commandLine`.
func commandKey(key string) bool {
	if classOf(key)&commandField == 0 {
		return false
	}
	key = strings.ToLower(key)
	return strings.Contains(key, "command") || strings.Contains(key, "cmd")
}

// maxNested is how deep the fields of an input are looked at.
const maxNested = 8

// otherField is a field, or one inside another: `{"options": {"path": ".env"}}`.
func (a *analyzer) otherField(tool *Tool, key string, v any, depth int) {
	switch v := v.(type) {
	case string:
		if commandKey(key) {
			a.an.Source = v
			a.script(v, &frame{dir: a.opts.Dir, owner: -1})
			return
		}
		a.otherText(tool, key, v)
	case []any:
		if commandKey(key) && len(v) > 1 && words(v) {
			a.vector((&input{keys: []string{key}, values: []any{v}}).words([]string{key}), a.opts.Dir)
			return
		}
		for i := 0; i < len(v) && depth < maxNested && a.afford(1); i++ {
			a.otherField(tool, key, v[i], depth+1)
		}
	case map[string]any:
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			if depth < maxNested && a.afford(1) {
				a.otherField(tool, inner, v[inner], depth+1)
			}
		}
	}
}

func (a *analyzer) otherText(tool *Tool, key, v string) {
	switch {
	case v == "" || len(v) > maxPattern || strings.IndexByte(v, '\n') >= 0:
	case hasScheme(v, "file:"):
		a.otherPath(tool, filePath(v))
	case strings.Contains(v, "://"):
		if strings.IndexByte(v, ' ') < 0 {
			_, host := urlHost(v)
			e := tool.effect(Connect, v)
			e.Host, e.Certain = host, false
			a.effect(e)
		}
	case pathKey(key) || !textKey(key) && a.pathText(v):
		a.otherPath(tool, v)
	}
}

// pathText reports whether a text that stands anywhere is a path: `.env`, `~/x`, one in the project.
func (a *analyzer) pathText(v string) bool {
	if strings.IndexByte(v, ' ') >= 0 || len(v) < 2 {
		return false
	}
	dotted := v[0] == '.' && (v[1] == '/' || v[1] == '.' || v[1] >= 'a' && v[1] <= 'z')
	inside := a.opts.Dir != "" && strings.HasPrefix(v, strings.TrimSuffix(a.opts.Dir, "/")+"/")
	return dotted || inside || strings.HasPrefix(v, "~/")
}

func hasScheme(v, scheme string) bool {
	return len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme)
}

// filePath returns the path of an address such as `file://localhost/x%2fy`.
func filePath(uri string) string {
	p := uri[len("file:"):]
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 && (i == 0 || strings.EqualFold(rest[:i], "localhost")) {
			rest = rest[i:]
		}
		p = "/" + strings.TrimLeft(rest, "/")
	}
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

// otherPath is a path that a tool of which nothing is known may read and may write.
func (a *analyzer) otherPath(tool *Tool, p string) {
	from := len(a.an.Effects)
	a.path(tool, Read, p)
	a.path(tool, Write, p)
	for i := from; i < len(a.an.Effects); i++ {
		a.an.Effects[i].Certain = false
	}
}

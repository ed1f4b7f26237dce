package jiuwen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/paths"
)

// An externalConfig is the treatment of paths outside the workspace: the level
// of the longest prefix that holds a path, or else the general one.
type externalConfig struct {
	General  externalLevel `json:"general"`
	Prefixes []prefixLevel `json:"prefixes,omitempty"`
}

// An externalLevel is a verdict, or no opinion at all, as of allow and (in the bare document)
// of an unknown level. The zero value asks, as an
// external_directory that is not there does.
type externalLevel string

const (
	externalAsk  externalLevel = ""
	externalDeny externalLevel = "deny"
	externalNone externalLevel = "none"
)

type prefixLevel struct {
	Path  string        `json:"path"`
	Level externalLevel `json:"level"`
}

// external reads external_directory: a level, or prefixes with levels and "*".
func (r *reader) external(n *tree.Node) (c externalConfig) {
	switch {
	case n == nil:
	case n.Is(tree.String):
		c.General = r.externalLevel(n, "external_directory")
	case n.Is(tree.Object):
		for _, m := range n.Members {
			r.prefix(&c, m)
		}
	case n.Is(tree.Null) && !r.bare:
		r.Warn(n, obstat.CodeMissing, "", "external_directory is empty: paths outside the workspace ask")
	default:
		r.Warn(n, obstat.CodeWrongType, `write {"*": level}`,
			"external_directory should be a level or an object of prefixes and levels, not %v: paths outside the workspace are denied", n.Kind)
		c.General = externalDeny
	}
	return c
}

func (r *reader) prefix(c *externalConfig, m tree.Member) {
	what := fmt.Sprintf("external_directory[%q]", m.Key)
	level := r.externalLevel(m.Value, what)
	if m.Key == "*" {
		c.General = level
		return
	}
	key := strings.TrimRight(slashes(m.Key), "/")
	if !strings.Contains(key, "/") {
		r.Warn(m.KeyNode, obstat.CodeNoEffect, `write the whole path; "*" speaks for all`,
			"%s is too short for a prefix and is not read", what)
		return
	}
	c.Prefixes = append(c.Prefixes, prefixLevel{key, level})
}

func (r *reader) externalLevel(n *tree.Node, what string) externalLevel {
	v, ok := r.level(n, what, false)
	switch {
	case !ok && r.bare || ok && v == obstat.Allow:
		return externalNone
	case ok && v == obstat.Ask:
		return externalAsk
	}
	return externalDeny
}

// verdict returns the level of a path outside the workspace.
func (c *externalConfig) level(world obstat.World, p string) externalLevel {
	level, longest := c.General, -1
	for _, pre := range c.Prefixes {
		dir, ok := resolve(world, "/", pre.Path)
		if !ok || !strings.HasPrefix(pre.Path, "/") {
			continue // a path of another system lies in no directory of this one
		}
		if len(dir) > longest && paths.Inside(dir, p) {
			level, longest = pre.Level, len(dir)
		}
	}
	return level
}

// An externalCheck judges the paths of a call that lie outside the workspace
// (section 4). It has an opinion only where one of them asks or is denied.
type externalCheck struct{ *params }

// Check returns the strictest level of the paths outside the workspace.
func (c externalCheck) Check(f *obstat.Facts) obstat.Finding {
	roots := workspace(f, c.Bare)
	if len(roots) == 0 {
		return obstat.Finding{Pass: true}
	}
	found, err := c.paths(f, roots[0])
	if err != nil {
		return obstat.Finding{Note: err.Error()}
	}
	strictest := obstat.Finding{Pass: true, Verdict: obstat.Allow}
	for _, p := range found {
		if c.internal(roots, p) {
			continue
		}
		v := obstat.Allow
		switch c.External.level(f.World, p) {
		case externalDeny:
			v = obstat.Deny
		case externalAsk:
			v = obstat.Ask
		}
		if v < strictest.Verdict {
			strictest = obstat.Finding{Verdict: v, Note: p + " lies outside the workspace", Part: p}
		}
	}
	return strictest
}

// workspace returns the resolved roots of the workspace. Without one nothing is
// outside of it; the working directory stands in for it where it can.
func workspace(f *obstat.Facts, bare bool) (out []string) {
	add := func(dir string) {
		if real, ok := resolve(f.World, "/", dir); ok && dir != "" {
			out = append(out, real)
		}
	}
	for _, root := range f.Call.Roots {
		add(root)
	}
	if len(out) == 0 && !bare {
		add(f.Call.Dir)
	}
	return out
}

func (c externalCheck) internal(roots []string, p string) bool {
	for _, root := range roots {
		if c.Bare && contains(root, p) || !c.Bare && paths.Inside(root, p) {
			return true
		}
	}
	return false
}

// paths returns the resolved paths that a call speaks of: those that the
// document's rules find, and outside the bare document all that its effects
// touch.
func (c externalCheck) paths(f *obstat.Facts, root string) (out []string, err error) {
	args, err := arguments(f)
	if err != nil {
		return nil, err
	}
	base, texts := root, []string(nil)
	switch categories[c.tool(f.Call.Tool)] {
	case shellTools:
		if base, err = workdir(f.World, root, args); err != nil {
			return nil, err
		}
		texts = commandPaths(commandText(args))
	case pathTools:
		for _, s := range pathArguments(args) {
			texts = append(texts, strings.Trim(strings.Trim(s, `"`), "'"))
		}
	default:
		return nil, nil
	}
	for _, s := range texts {
		p, ok := resolve(f.World, base, s)
		if !ok {
			return nil, fmt.Errorf("the links of %s lead in a circle", s)
		}
		out = append(out, p)
	}
	if !c.Bare {
		out = append(out, effectPaths(f, base)...)
	}
	return out, nil
}

// workdir returns where a command runs: the workspace, or the call's own workdir.
func workdir(world obstat.World, root string, args *tree.Node) (string, error) {
	n := args.Get("workdir")
	if n == nil {
		return root, nil
	}
	if !n.Is(tree.String) {
		return "", fmt.Errorf("workdir should be a path, not %v", n.Kind)
	}
	dir, ok := resolve(world, root, n.Str)
	if !ok {
		return "", fmt.Errorf("the links of %s lead in a circle", n.Str)
	}
	return dir, nil
}

// pathCommands are the programs whose arguments the original looks at.
var pathCommands = strings.Fields(`cd rm cp mv mkdir touch chmod chown cat ls dir type del rd copy move md head tail more
	less vim nano gedit notepad`)

// commandPaths returns the words of a command that the original takes for
// paths: it knows two dozen programs, and looks only at the first word.
func commandPaths(cmd string) (out []string) {
	words := lexWords(cmd)
	if len(words) == 0 || !slices.Contains(pathCommands, strings.ToLower(words[0])) {
		return nil
	}
	for _, w := range words[1:] {
		w = strings.Trim(strings.Trim(pytext.Strip(w), `"`), "'")
		if w == "" || strings.HasPrefix(w, "-") {
			continue
		}
		if strings.ContainsAny(w, `/\`) || paths.HasDrive(w) {
			out = append(out, w)
		}
	}
	return out
}

// lexWords is Python's shlex.split(cmd, posix=False): a quote opens only where
// a word starts, its word ends where it closes, and the quotes stay. Text that
// it cannot split is split at blanks.
func lexWords(cmd string) (out []string) {
	const blanks = " \t\r\n"
	rest := strings.TrimLeft(cmd, blanks)
	for rest != "" {
		end := strings.IndexAny(rest, blanks)
		if end < 0 {
			end = len(rest)
		}
		if q := rest[0]; q == '"' || q == '\'' {
			stop := strings.IndexByte(rest[1:], q)
			if stop < 0 {
				return strings.FieldsFunc(cmd, func(r rune) bool { return pytext.Strip(string(r)) == "" })
			}
			end = stop + 2
		}
		out = append(out, rest[:end])
		rest = strings.TrimLeft(rest[end:], blanks)
	}
	return out
}

package codex

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// isConfig tells whether a file is Codex's configuration, `.codex/config.toml`: dotfiles have it in `codex`.
func isConfig(f *dialect.File) bool {
	dir := path.Base(path.Dir(f.Slashed()))
	return path.Base(f.Slashed()) == configFile && (dir == ".codex" || dir == "codex")
}

var _ dialect.Speaker = Dialect{}

// Speaks tells whether a file has something to say about permissions. A configuration does where it sets the
// approval policy or the sandbox.
func (Dialect) Speaks(f *dialect.File) bool {
	if !isConfig(f) {
		return true
	}
	root, problems := tomlx.Parse(f.Data)
	return tree.Fatal(problems) || slices.ContainsFunc([]string{"approval_policy", "sandbox_mode", "profile"},
		func(key string) bool { return root.Get(key) != nil })
}

// config reads the configuration: its approval policy is the mode in force, and a sandbox that only reads lets no
// command write. Those of the profile that it chooses win. Its other keys are about models, servers and screens.
func (l *loader) config(f *dialect.File) {
	root := l.Read(f, tomlx.Parse)
	if root == nil {
		return
	}
	tables := []*tree.Node{root}
	if name := root.Get("profile"); name.Is(tree.String) {
		tables = append(tables, root.At("profiles", name.Str))
	}
	counts := false
	for _, t := range tables {
		counts = l.approval(t.Get("approval_policy")) || counts
		if n := t.Get("sandbox_mode"); n != nil && l.Is(n, "sandbox_mode", tree.String) {
			counts = true
			l.params.ReadOnly = n.Str == sandboxModes[0]
			if !slices.Contains(sandboxModes, n.Str) {
				l.Fail(n, obstat.CodeBadValue, dialect.Near(n.Str, sandboxModes...), "there is no sandbox %q; there are %s",
					n.Str, strings.Join(sandboxModes, ", "))
			}
		}
	}
	if !counts {
		l.Warn(root, obstat.CodeNoEffect, "rules belong into "+defaultFile,
			"nothing of this file decides: approval_policy and sandbox_mode would, and those of the chosen profile")
	}
}

// approval sets the mode of an approval policy, and tells whether there is one.
func (l *loader) approval(n *tree.Node) bool {
	switch {
	case n == nil:
		return false
	case n.Is(tree.Object):
		l.Warn(n, obstat.CodeNoEffect, "", "a granular approval policy is taken as %q here", modeUntrusted)
		l.prog.Mode = modeUntrusted
	case !l.Is(n, "approval_policy", tree.String):
	case n.Str == "on-failure":
		l.prog.Mode = modeOnRequest
	case !slices.Contains(modeNames, n.Str):
		l.Fail(n, obstat.CodeBadValue, dialect.Near(n.Str, modeNames...),
			"there is no approval policy %q; there are %s", n.Str, strings.Join(modeNames, ", "))
	default:
		l.prog.Mode = obstat.Mode(n.Str)
	}
	return true
}

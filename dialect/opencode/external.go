package opencode

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/paths"
)

// dir returns the instance's directory.
func (c *callView) dir() string { return c.f.Call.Dir }

// worktree returns the root of the repository, which rules start from: "/" where there
// is none. A host that names no root works in the directory.
func (c *callView) worktree() string { return c.f.Call.Anchor() }

// absolute returns where a path of the input leads, by its text alone: the
// program expands nothing in it.
func (c *callView) absolute(p string) string { return joinPath(c.dir(), p) }

func joinPath(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// relative returns a path as the rules have it: from the root of the worktree, or from where
// that leads.
func (c *callView) relative(p string) string {
	tree := c.worktree()
	if real := c.real(tree); real != tree && paths.Inside(real, p) && !paths.Inside(tree, p) {
		tree = real
	}
	return relative(tree, p)
}

// relative is what Node's path.relative returns for clean absolute paths.
func relative(from, to string) string {
	rel, err := filepath.Rel(from, to)
	if err != nil || from == "" || !path.IsAbs(to) {
		return to
	}
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// place returns the patterns that a path of the input is asked about: where it
// leads by its text, and, where links lead elsewhere, that place as well. Both
// are looked at for being outside.
func (c *callView) place(p string, dir bool) []string {
	abs := c.absolute(p)
	out := []string{c.relative(abs)}
	c.outside(abs, dir || c.isDir(abs))
	if real := c.real(abs); real != abs {
		out = appendNew(out, c.relative(real))
		c.outside(real, dir || c.isDir(real))
	}
	return out
}

// real follows the links of a path.
func (c *callView) real(abs string) string {
	if p := (paths.Resolver{FS: c.f.World}).Literal(abs); p.Real != "" {
		return p.Real
	}
	return abs
}

func (c *callView) isDir(p string) bool { return c.f.World != nil && c.f.World.IsDir(p) }

// outside notes a path that lies outside the project: its directory, or in the
// document's order the path itself.
func (c *callView) outside(p string, dir bool) {
	if !c.isOutside(p) {
		return
	}
	if c.Order == Last {
		if !dir {
			p = path.Dir(p)
		}
		p = joinPath(p, "*")
	}
	c.dirs.add(p)
}

// isOutside tells whether a path lies outside the project. In the document that
// is the working directory; a name of it that starts with two dots counts as
// outside there.
func (c *callView) isOutside(p string) bool {
	dir := c.dir()
	if dir == "" || !path.IsAbs(p) {
		return strings.HasPrefix(path.Clean(p), "..") || path.IsAbs(p)
	}
	if c.Order == First {
		return strings.HasPrefix(relative(dir, p), "..")
	}
	tree := c.worktree()
	return !paths.Inside(dir, p) && (tree == "/" || !paths.Inside(tree, p))
}

// cutGlob returns the part of a path before its first wildcard.
func cutGlob(p string) string {
	if i := strings.IndexAny(p, "*?[{"); i >= 0 {
		return p[:i]
	}
	return p
}

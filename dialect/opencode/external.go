package opencode

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/paths"
)

// dir returns the instance's directory; for a part of a call, where rules start.
func (c *callView) dir() string {
	if c.part {
		return c.worktree()
	}
	return c.f.Call.Dir
}

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
	if !paths.Inside(tree, p) {
		if real := c.real(tree); real != tree && paths.Inside(real, p) {
			tree = real
		}
	}
	return relative(tree, p)
}

// relative is Node's path.relative, for clean absolute paths.
func relative(from, to string) string {
	if rest, below := strings.CutPrefix(to, from); below && len(from) > 1 && from[0] == '/' && strings.HasPrefix(rest, "/") {
		return rest[1:]
	}
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
	return c.places(abs, c.real(abs), dir)
}

// places is place for a path whose links were followed.
func (c *callView) places(abs, real string, dir bool) []string {
	out := []string{c.relative(abs)}
	c.outside(abs, dir)
	if real != abs {
		out = appendNew(out, c.relative(real))
		c.outside(real, dir)
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
// document's order the path itself. dir says that it is a directory; else World does.
func (c *callView) outside(p string, dir bool) {
	if !c.isOutside(p) {
		return
	}
	if c.Order == Last {
		if !dir && !c.isDir(p) {
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

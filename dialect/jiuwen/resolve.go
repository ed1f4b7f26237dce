package jiuwen

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/paths"
)

// resolve is pathlib's Path.resolve: the path from base on, every link
// followed, "." and ".." taken out. ok is false where links go round in circles.
func resolve(world obstat.World, base, name string) (real string, ok bool) {
	if !strings.HasPrefix(name, "/") {
		name = base + "/" + name
	}
	p := paths.Resolver{FS: world}.Literal(name)
	return p.Real, p.Known() && p.Real != ""
}

// contains is [paths.Inside] as the original has it: by the text of the relative
// path, so that a file called "..x" of the workspace counts as outside of it.
func contains(dir, p string) bool {
	rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
	return paths.Inside(dir, p) && !strings.HasPrefix(rel, "..")
}

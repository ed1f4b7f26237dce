package jiuwen

import (
	"path"
	"strings"

	"github.com/obstat/obstat"
)

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// resolve is pathlib's Path.resolve: the path from base on, every link
// followed, "." and ".." taken out. ok is false where links go round in circles.
func resolve(world obstat.World, base, name string) (real string, ok bool) {
	if !strings.HasPrefix(name, "/") {
		name = base + "/" + name
	}
	todo, done, links := strings.Split(name, "/"), "/", 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		target, isLink := readlink(world, next)
		if !isLink {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, true
}

func readlink(world obstat.World, name string) (string, bool) {
	if world == nil {
		return "", false
	}
	return world.Readlink(name)
}

// inside tells whether a resolved path is dir or lies below it.
func inside(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// contains is inside as the original has it: by the text of the relative path,
// so that a file called "..x" of the workspace counts as outside of it.
func contains(dir, p string) bool {
	if !inside(dir, p) {
		return false
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
	return !strings.HasPrefix(rel, "..")
}

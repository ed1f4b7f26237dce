package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// mount is a directory of this machine that a container is given: `docker run -v .:/app`.
type mount struct {
	inside string // where the container has it
	host   string // absolute, with links followed; "" if it is not known
}

// mount notes the directories of a word: here:there, or `type=bind,src=here,dst=there`.
func (c *call) mount(w *shell.Word) {
	text := w.Text
	if !w.Known {
		text = w.Shape()
	}
	var from, to string
	if strings.Contains(text, "=") {
		for field := range strings.SplitSeq(text, ",") {
			switch k, v, _ := strings.Cut(field, "="); k {
			case "source", "src":
				from = v
			case "target", "destination", "dst":
				to = v
			}
		}
	} else {
		from, to, _ = strings.Cut(text, ":")
		to, _, _ = strings.Cut(to, ":")
	}
	switch {
	case to == "" || from == "" && w.Known, strings.Contains(to, shell.Unknown):
		if !w.Known {
			c.f.mounts = append(c.f.mounts, mount{inside: "/"}) // any directory, at any place
		}
		return
	case !strings.ContainsAny(from, "/.~\x00"):
		return // a volume of the container's own
	}
	m := mount{inside: path.Clean("/" + to)}
	if !strings.Contains(from, shell.Unknown) {
		p := c.a.resolve(c.f.dir, &shell.Word{Text: from, Known: true, Tilde: true})
		m.host = or(p.Real, p.Abs)
	}
	c.f.mounts = append(c.f.mounts[:len(c.f.mounts):len(c.f.mounts)], m) // a list of this frame's own
	c.a.afford(len(c.f.mounts))
}

// throughMounts turns an effect inside a container into one on this machine, where a directory
// that the container is given has the path. A path from a directory that is not known may be in
// any of them.
func (a *analyzer) throughMounts(e *Effect, w *shell.Word, f *frame) {
	var found []Effect
	for _, m := range f.mounts {
		if !a.afford(1) {
			break
		}
		rest, ok := m.below(w, f.dir, e.Recursive)
		if !ok {
			continue
		}
		more := *e
		more.Where, more.Host = "", ""
		switch {
		case m.host == "" || !w.Known:
			shape := shell.Unknown
			if m.host != "" {
				shape = m.host + "/" + shell.Unknown
			}
			more.shape, more.bound, more.Certain = &shape, true, false
		default:
			p := a.resolve(m.host, &shell.Word{Text: rest, Known: true})
			more.Path, more.Real, more.Glob = p.Abs, p.Real, w.Glob
			a.classify(&more, or(p.Real, p.Abs), w.Glob)
		}
		found = append(found, more)
	}
	for i := 1; i < len(found); i++ {
		a.effect(found[i])
	}
	if len(found) > 0 {
		*e = found[0]
	}
}

// below returns where a word of a command in the container lies in the mount, from there.
func (m *mount) below(w *shell.Word, dir string, tree bool) (rest string, ok bool) {
	at := w.Text
	switch {
	case !w.Known:
		return "", true
	case path.IsAbs(at):
	case dir == "":
		return at, true
	default:
		at = path.Join(dir, at)
	}
	at = path.Clean(at)
	if tree && paths.Inside(at, m.inside) {
		return ".", true // all that is in it
	}
	if w.Glob {
		return m.globbed(at)
	}
	if !paths.Inside(m.inside, at) {
		return "", false
	}
	return "." + at[len(strings.TrimSuffix(m.inside, "/")):], true
}

// globbed is below for a pattern, which may lead into the mount by its name: `cat /*/.env`.
func (m *mount) globbed(at string) (rest string, ok bool) {
	inside := strings.Split(strings.TrimSuffix(m.inside, "/"), "/")
	names := strings.Split(at, "/")
	for i, name := range inside {
		if i >= len(names) {
			return "", false
		}
		if names[i] != name && !paths.Matching(names[i]).Has(name) {
			return "", false
		}
	}
	return path.Join(append([]string{"."}, names[len(inside):]...)...), true
}

package effect

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/shell"
)

// mount notes the directories of a word: here:there, or `type=bind,src=here,dst=there`.
func (c *call) mount(w *shell.Word) {
	text := w.Text
	if !w.Known {
		text = w.Shape()
	}
	from, to := left.ReadMount(text)
	switch {
	case to == "" || from == "" && w.Known, strings.Contains(to, shell.Unknown):
		if !w.Known {
			c.f.mounts = append(c.f.mounts, left.Mount{Inside: "/"}) // any directory, at any place
		}
		return
	case !strings.ContainsAny(from, "/.~\x00"):
		return // a volume of the container's own
	}
	m := left.Mount{Inside: path.Clean("/" + to)}
	if !strings.Contains(from, shell.Unknown) {
		p := c.a.resolve(c.f.dir, &shell.Word{Text: from, Known: true, Tilde: true})
		m.Host = word.Or(p.Real, p.Abs)
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
		rest, ok := m.Below(w, f.dir, e.Recursive)
		if !ok {
			continue
		}
		more := *e
		more.Where, more.Host = "", ""
		switch {
		case m.Host == "" || !w.Known:
			shape := shell.Unknown
			if m.Host != "" {
				shape = m.Host + "/" + shell.Unknown
			}
			more.open(shape)
			more.Certain = false
		default:
			p := a.resolve(m.Host, &shell.Word{Text: rest, Known: true})
			more.Path, more.Real, more.Glob = p.Abs, p.Real, w.Glob
			a.classify(&more, word.Or(p.Real, p.Abs), w.Glob)
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

package effect

import (
	"strings"

	"github.com/obstat/obstat/shell"
)

// module is a module of Python: what `pip install x` does, `python3 -m pip install x` does, too.
func (c *call) module(w *shell.Word) {
	if w.Text == "zipfile" || w.Text == "tarfile" {
		c.unpacks()
	}
	name := strings.ReplaceAll(w.Text, "_", "-")
	sp := lookup(name)
	if sp == nil || !w.Known || sp.style&styleBuiltin != 0 || !pythons(c.name) || pythons(name) {
		return
	}
	for i := 1; i < len(c.words); i++ {
		if t := c.words[i].Text; t != w.Text && t != "-m"+w.Text {
			continue
		}
		words := append([]shell.Word{*w}, c.words[i+1:]...)
		text, _, _ := canonical(words, "")
		c.a.an.Commands[c.cmd].Alts = append(c.a.an.Commands[c.cmd].Alts, text)
		as := call{a: c.a, f: c.f, words: words, cmd: c.cmd, name: name, spec: sp, root: sp, rest: -1, seenAt: len(c.a.seen), opsAt: len(c.a.ops)}
		as.run()
		c.a.seen, c.a.ops = c.a.seen[:as.seenAt], c.a.ops[:as.opsAt]
		return
	}
}

// pythons reports whether a program runs modules of Python.
func pythons(name string) bool {
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") || name == "uv"
}

package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

var (
	pythons     = kb.Table("!pythons")
	unpackers   = kb.Table("!unpacks")
	unpacksNone = kb.Table("!unpacks-not")
	consoles    = kb.Table("!python-consoles")
)

// module is a module of Python: `python3 -m pip install x` does all that `pip install x` does.
func (c *call) module(w *shell.Word) {
	if unpackers().Has(w.Text) {
		c.unpacks(w.Text)
	}
	if consoles().Has(w.Text) && pythons().Has(c.name) {
		c.standardInput(&operand{role: roleCode, lang: "Python"})
		return
	}
	name := strings.ReplaceAll(w.Text, "_", "-")
	sp := c.a.dict.lookup(name)
	if sp == nil || !w.Known || sp.style&styleBuiltin != 0 || !pythons().Has(c.name) || pythons().Has(name) {
		return
	}
	at := slices.IndexFunc(c.words[1:], func(t shell.Word) bool { return t.Text == w.Text || t.Text == "-m"+w.Text })
	if at < 0 {
		return
	}
	words := append([]shell.Word{*w}, c.words[at+2:]...)
	text, _, _ := canonical(words, "")
	c.a.an.Commands[c.cmd].Alts = append(c.a.an.Commands[c.cmd].Alts, text)
	as := c.a.newCall(words, name, sp, c.cmd, &c.f)
	as.run()
	c.a.seen, c.a.ops = c.a.seen[:as.seenAt], c.a.ops[:as.opsAt]
}

// unpacks is `python3 -m zipfile -e x.zip dir`: files of any name appear in the directory.
func (c *call) unpacks(module string) {
	at, operands := c.f.dir, 0
	for i := range c.words {
		switch t := c.words[i].Text; {
		case t == module:
			operands = 1
		case unpacksNone().Has(t):
			return
		case operands > 0 && !word.IsFlag(t):
			if operands++; operands == 3 {
				at = c.realPath(&c.words[i])
			}
		}
	}
	e := c.own(Write, "extracted files", Contents)
	e.Unnamed, e.at = true, at
	c.a.effect(e)
}

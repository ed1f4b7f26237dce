package effect

import (
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

var (
	sshRuns      = kb.Table("!ssh-runs")
	sshWrites    = kb.Table("!ssh-writes")
	sshHosts     = kb.Table("!ssh-hosts")
	sshCommands  = kb.Table("!ssh-commands")
	socatStreams = kb.Table("!socat-streams")
	socatRuns    = kb.Table("!socat-runs")
	socatNetwork = kb.Table("!socat-network")
)

// sshOption is a setting of ssh: some run a command on this machine.
func (c *call) sshOption(w *shell.Word) {
	name, _, _ := strings.Cut(strings.ToLower(strings.Replace(w.Text, " ", "=", 1)), "=")
	switch {
	case name == "" || sshRuns().Has(name):
		c.gap(NotPlain, "a setting that can make ssh run a program", w)
		if i := strings.IndexAny(w.Text, "= "); i > 0 && sshCommands().Has(name) {
			v := after(w, i+1)
			c.shellText(&v)
		}
	case !w.Known:
		c.gap(DynamicOperand, "a setting is known only at run time", w)
	default:
		i := strings.IndexAny(w.Text, "= ")
		if v := after(w, i+1); i > 0 && sshWrites().Has(name) && v.Text != "none" {
			c.changeFile(Write, &v)
		} else if i > 0 && sshHosts().Has(name) {
			c.via(&v)
		}
	}
}

// tarFile is an archive, which may lie on another machine.
func (c *call) tarFile(w *shell.Word) {
	if host, ok := remotePath(w.Text); ok && w.Known {
		e := c.newEffect(Connect, w)
		e.Host, e.Detail = host, "transfer"
		c.a.effect(e)
		return
	}
	if w.Known && w.Text == "-" {
		return
	}
	dir, recursive := c.f.dir, c.recursive
	c.f.dir, c.recursive = c.start, false // a directory that is gone to does not count for the archive
	if c.create {
		c.changeFile(Write, w)
	} else {
		c.readFile(w, false)
	}
	c.f.dir, c.recursive = dir, recursive
}

// socat's addresses can be files, hosts and programs.
func (c *call) socat(w *shell.Word) {
	kind, rest, _ := strings.Cut(w.Text, ":")
	switch kind = strings.ToUpper(kind); {
	case !w.Known:
		c.gap(DynamicOperand, "an address is known only at run time", w)
	case socatStreams().Has(kind):
	case socatRuns().Has(kind):
		v := after(w, len(w.Text)-len(rest))
		v.Text, _, _ = strings.Cut(v.Text, ",")
		v.Text = strings.ReplaceAll(v.Text, `\ `, " ")
		v.Raw = ""
		c.shellText(&v)
		c.gap(NotPlain, "an address that runs a program", w)
	case socatNetwork().Has(kind):
		c.connect(hostOf(rest), w, false)
	default:
		e := c.newEffect(Write, w)
		e.Detail = "socat address"
		c.a.effect(e)
	}
}

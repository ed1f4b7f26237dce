package effect

import (
	"strings"

	"github.com/obstat/obstat/shell"
)

// gitConfig is a setting given on git's command line: most can make it run programs.
func (c *call) gitConfig(w *shell.Word) {
	name, value, _ := strings.Cut(strings.ToLower(w.Text), "=")
	if !w.Known && !strings.Contains(w.Text, "=") {
		c.gap(NotPlain, "which setting is changed is known only at run time", w)
		return
	}
	if harmlessGitConfig(name) || name == "core.hookspath" && value == "/dev/null" && w.Known { // no hooks
		return
	}
	if strings.HasPrefix(name, "alias.") {
		c.gap(NotPlain, "an alias can stand for any command", w)
		return
	}
	c.gap(NotPlain, "a setting that can make git run a program", w)
}

// gitRuns reports whether a setting names a program that git runs, or where such settings are read from.
func gitRuns(name string) bool {
	switch name {
	case "core.editor", "core.pager", "core.sshcommand", "core.hookspath", "core.fsmonitor", "core.gitproxy", "core.askpass", "core.alternaterefscommand",
		"sequence.editor", "diff.external", "init.templatedir", "uploadpack.packobjectshook", "web.browser", "include.path":
		return true
	}
	for _, p := range [...]string{"alias.", "pager.", "credential", "filter.", "includeif.", "url.", "sendemail.", "browser.", "man.", "instaweb.", "protocol.", "gpg."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, p := range [...]string{"cmd", "command", ".driver", ".textconv", ".process", ".clean", ".smudge", ".program", ".helper", ".uploadpack", ".receivepack", ".vcs", ".update", ".path"} {
		if strings.HasSuffix(name, p) {
			return true
		}
	}
	return false
}

func harmlessGitConfig(name string) bool {
	switch name {
	case "core.quotepath", "core.worktree", "core.autocrlf", "core.ignorecase", "core.precomposeunicode", "core.abbrev", "core.filemode",
		"core.longpaths", "core.commentchar", "core.bare", "core.preloadindex", "core.untrackedcache", "core.optionallocks", "core.symlinks",
		"core.eol", "core.safecrlf", "core.whitespace", "core.checkstat", "core.trustctime", "advice.detachedhead", "user.name", "user.email",
		"log.showsignature", "log.date", "log.decorate", "log.follow", "log.mailmap", "status.short", "status.branch", "status.showuntrackedfiles",
		"status.relativepaths", "status.renames", "column.ui", "init.defaultbranch", "safe.directory", "protocol.version", "rerere.enabled",
		"submodule.recurse", "submodule.fetchjobs", "fetch.prune", "http.version", "pack.threads", "gc.auto", "maintenance.auto",
		"commit.gpgsign", "tag.gpgsign", "blame.date", "grep.linenumber", "grep.patterntype", "versionsort.suffix", "branch.sort", "tag.sort":
		return true
	}
	for _, p := range [...]string{"color.", "advice.", "diff.renames", "diff.algorithm", "diff.context", "diff.colormoved", "diff.noprefix", "diff.mnemonicprefix"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// sshOption is a setting of ssh: some run a command on this machine.
func (c *call) sshOption(w *shell.Word) {
	name, _, _ := strings.Cut(strings.ToLower(strings.Replace(w.Text, " ", "=", 1)), "=")
	switch name {
	case "proxycommand", "localcommand", "permitlocalcommand", "knownhostscommand", "include", "identityagent", "pkcs11provider",
		"securitykeyprovider", "xauthlocation", "match", "proxyusefdpass", "":
		c.gap(NotPlain, "a setting that can make ssh run a program", w)
		if i := strings.IndexAny(w.Text, "= "); i > 0 && strings.HasSuffix(name, "command") && name != "permitlocalcommand" {
			v := after(w, i+1)
			c.shellText(&v)
		}
	default:
		if !w.Known {
			c.gap(DynamicOperand, "a setting is known only at run time", w)
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
	case w.Text == "-" || kind == "STDIO" || kind == "STDIN" || kind == "STDOUT" || kind == "STDERR":
	case kind == "EXEC" || kind == "SYSTEM" || kind == "SHELL":
		v := after(w, len(w.Text)-len(rest))
		v.Text, _, _ = strings.Cut(v.Text, ",")
		v.Text = strings.ReplaceAll(v.Text, `\ `, " ")
		v.Raw = ""
		c.shellText(&v)
		c.gap(NotPlain, "an address that runs a program", w)
	case strings.Contains(kind, "TCP") || strings.Contains(kind, "UDP") || strings.Contains(kind, "SSL") || strings.Contains(kind, "SOCKS") || strings.Contains(kind, "PROXY"):
		c.connect(hostOf(rest), w, false)
	default:
		e := c.newEffect(Write, w)
		e.Detail = "socat address"
		c.a.effect(e)
	}
}

package protect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
)

// commands looks at what the call's commands do beyond the paths that could be
// seen.
func (k *check) commands() *Finding {
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		for _, look := range []func(*effect.Command) *Finding{k.obstat, k.kill, k.agent, k.git} {
			if f := look(c); f != nil {
				return f
			}
		}
		if c.ReadOnly || isObstat(c.Path) {
			continue
		}
		if f := k.loose(i); f != nil {
			return f
		}
		if f := k.scripts(i); f != nil {
			return f
		}
	}
	return k.hidden()
}

// later are programs that have commands run by somebody else.
var later = []string{"at", "batch", "crontab", "tmux", "screen", "systemd-run"}

// hidden: where it cannot be seen what runs, or on which file, what guards the
// agent may not even be spoken of.
func (k *check) hidden() *Finding {
	if k.a.Source == "" {
		return nil
	}
	if f := k.variables(); f != nil {
		return f
	}
	if slices.ContainsFunc(k.a.Commands, func(c effect.Command) bool { return slices.Contains(later, c.Program) }) {
		return k.source()
	}
	for i := range k.a.Gaps {
		g := &k.a.Gaps[i]
		if g.Command >= 0 && g.Command < len(k.a.Commands) && k.a.Commands[g.Command].ReadOnly {
			continue
		}
		if !g.Hides && g.Kind != effect.DynamicOperand {
			continue
		}
		if f := k.fed(g); f != nil {
			return f
		}
		if f := k.source(); f != nil {
			return f
		}
	}
	return nil
}

// deeds sums up what a command does that has no path.
type deeds struct {
	unnamed bool        // changes files or the machine, without saying which
	code    bool        // runs code
	away    bool        // happens elsewhere: in a container, by ssh
	gap     bool        // something is not understood
	changes bool        // it does more than to read
	tags    effect.Tags // of the unnamed effects
}

func (k *check) deeds(cmd int) (d deeds) {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if e.Command != cmd {
			continue
		}
		d.changes = d.changes || e.Kind != effect.Read && !e.Harmless
		switch {
		case e.Where != "":
			d.away = true
		case e.Harmless:
		case e.Kind == effect.Code:
			d.code = true
		case e.Kind == effect.System, e.Kind == effect.Connect && e.Tags.Has(effect.Transfer), (e.Path == "" || e.Unnamed) && (e.Kind == effect.Write || e.Kind == effect.Delete):
			d.unnamed = true
			d.tags |= e.Tags
		}
	}
	for i := range k.a.Gaps {
		d.gap = d.gap || k.a.Gaps[i].Command == cmd
	}
	return d
}

// loose looks at a command whose effects have no path, or that is not
// understood: what guards the agent may not be among its words.
func (k *check) loose(i int) *Finding {
	c := &k.a.Commands[i]
	d := k.deeds(i)
	if !d.unnamed && !d.code && !d.gap && !d.away && c.Catalogued && !isShell(c) {
		return nil
	}
	if f := k.spread(c, &d); f != nil {
		return f
	}
	if c.Program == "git" && gitKeeps(c) {
		return nil
	}
	if f := k.fd(c); f != nil {
		return f
	}
	if f := k.unpacks(c); f != nil {
		return f
	}
	words := c.Args()
	for j := range words {
		if !words[j].Known && !d.changes && c.Catalogued {
			continue // it reads: see hidden for what could be a flag
		}
		if f := k.word(&words[j], c.Dir); f != nil {
			return f
		}
		if installs(c) && isObstat(strings.Split(words[j].Text, "@")[0]) {
			return &Finding{Part: c.Text, Why: "it would change " + isProgram + "; only a person allows that"}
		}
	}
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Kind == effect.Code && e.Raw != "" && e.Path == "" && e.Where == "" {
			if f := k.code(e.Raw, c.Dir); f != nil {
				return f
			}
		}
	}
	if d.away || d.gap || d.code || !c.Catalogued {
		if strings.Contains(k.a.Source, "<<") || !c.Known {
			return k.source() // what it is fed stands there as well
		}
		return k.mentions(c.Text)
	}
	return nil
}

// isShell tells whether a command is a shell, which may hand its arguments on.
func isShell(c *effect.Command) bool {
	switch c.Program {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish":
		return true
	}
	return false
}

// spread looks at a command that changes files all over a directory.
func (k *check) spread(c *effect.Command, d *deeds) *Finding {
	var f *Finding
	if d.tags.Has(effect.Contents) {
		f = k.contents(c)
	}
	if f == nil && d.tags.Has(effect.Transfer) {
		f = k.transfers(c)
	}
	if f == nil && d.tags.Has(effect.Found) {
		f = k.foundHere(c)
	}
	if f == nil && d.tags.Has(effect.Taken) {
		f = k.taken(c)
	}
	return f
}

// contents: files of any name may appear in the directory that the command
// works in.
func (k *check) contents(c *effect.Command) *Finding {
	dirs, known := k.destination(c)
	if !known {
		return &Finding{Part: c.Text, Why: "it would put files in this project, and it cannot be seen which; one could be a policy or a hook entry, and only a person allows that"}
	}
	for _, dir := range dirs {
		if f := k.fills(c, dir); f != nil {
			return f
		}
	}
	return nil
}

// topLevel is a flag of tar's that has its value, if any, behind an equals sign.
const topLevel = "--one-top-level"

// intoFlags returns the flags with which a program is told where to put things.
func intoFlags(program string) []string {
	switch program {
	case "tar", "gtar":
		return []string{"-C", "--directory", topLevel}
	case "bsdtar":
		return []string{"-C", "--directory"}
	case "cpio":
		return []string{"-D", "--directory"}
	case "patch":
		return []string{"-d", "--directory"}
	case "unzip":
		return []string{"-d"}
	case "7z", "7za", "7zr", "7zz":
		return []string{"-o"}
	}
	return nil
}

// destination returns the directories that an archive's files go to.
func (k *check) destination(c *effect.Command) (dirs []string, known bool) {
	dir := c.Dir
	words := c.Args()
	for i := range words {
		w, value := &words[i], ""
		for _, f := range intoFlags(c.Program) {
			rest, ok := strings.CutPrefix(w.Text, f)
			switch {
			case ok && rest == "" && i+1 < len(words) && f != topLevel:
				w, value = &words[i+1], words[i+1].Text
			case ok && !strings.HasPrefix(f, "--"):
				value = rest
			case ok && strings.HasPrefix(rest, "="):
				value = rest[1:]
			}
		}
		if value == "" && w == &words[i] {
			continue
		}
		if !w.Known {
			// Somewhere else, unless it is said in so many words that it is here.
			if raw := fold(w.Raw); strings.Contains(raw, "pwd") || strings.Contains(raw, "rev-parse") || strings.Contains(raw, "home") {
				return nil, false
			}
			return dirs, true
		}
		if p := k.resolve(dir, value); p.Abs != "" {
			dirs = append(dirs, fold(p.Abs), fold(p.Real))
			dir = p.Abs
		}
	}
	if len(dirs) == 0 && c.Dir != "" {
		dirs = []string{fold(c.Dir)}
	}
	return dirs, true
}

// foundHere is find -delete.
func (k *check) foundHere(c *effect.Command) *Finding {
	start := fold(c.Dir)
	if words := c.Args(); len(words) > 0 && !strings.HasPrefix(words[0].Text, "-") {
		if !k.mayBe(words[0].Shape(), c.Dir) {
			return nil
		}
		start = fold(k.resolve(c.Dir, likely(&words[0])).Real)
	}
	names, known := searched(c)
	for i := range k.items() {
		it := &k.items()[i]
		if it.common || !inside(start, it.path) || !it.inUse && !k.exists(it.name) {
			continue
		}
		if !known || slices.ContainsFunc(names, func(p string) bool { return anySegment(p, it.path) }) {
			return finding(it.name, it.what, c.Text)
		}
	}
	return nil
}

// taken: what the words name is removed, with everything in it.
func (k *check) taken(c *effect.Command) *Finding {
	for i := range c.Args() {
		w := &c.Args()[i]
		e := effect.Effect{Kind: effect.Delete, Raw: w.Text, Glob: w.Glob, Recursive: true}
		if p := k.resolve(c.Dir, w.Text); w.Known && p.Abs != "" && !strings.HasPrefix(w.Text, "-") {
			e.Path, e.Real = p.Abs, p.Real
			if f := k.changes(&e); f != nil {
				return f
			}
		}
	}
	return nil
}

// installing are words of package managers for installing, replacing and removing.
var installing = []string{"install", "uninstall", "reinstall", "remove", "purge", "upgrade", "update", "add", "i", "rm", "un", "link", "unlink", "-S", "-R", "-i", "-r", "-e"}

// installs tells whether a command installs, replaces or removes programs.
func installs(c *effect.Command) bool {
	return slices.ContainsFunc(c.Args(), func(w wordT) bool { return slices.Contains(installing, w.Text) })
}

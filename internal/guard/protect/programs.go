package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// isObstat tells whether a word names one of obstat's programs.
func isObstat(s string) bool {
	if len(s) > maxPath {
		return false
	}
	return is("self", strings.TrimSuffix(path.Base(fold(s)), ".exe"))
}

// obstat looks at an agent that runs obstat, or that installs, replaces or removes it:
// `brew uninstall obstat`.
func (k *check) obstat(c *effect.Command) *Finding {
	own := isObstat(c.Path)
	if !own && strings.Contains(c.Path, "/") {
		real := fold(k.resolve(c.Dir, c.Path).Real)
		own = slices.ContainsFunc(k.g.Programs, func(p string) bool { return fold(p) == real })
	}
	if own && !onlyLooks(c.Args()) {
		return &Finding{Part: c.Text, Why: "it would change what obstat allows or has written down; only a person does that"}
	}
	if c.ReadOnly || is("versions", c.Program) {
		return nil
	}
	names := slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
		name, _, _ := strings.Cut(w.Text, "@")
		return w.Known && isObstat(name)
	})
	if names && slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return is("installs", w.Text) }) {
		return &Finding{Part: c.Text, Why: "it would change " + isProgram + "; only a person allows that"}
	}
	return nil
}

// onlyLooks tells whether the arguments are those of a command that changes
// nothing.
func onlyLooks(args []shell.Word) bool {
	ops := operands(args)
	if len(ops) == 0 {
		return true // its help
	}
	command := ops[0].Text
	switch {
	case !ops[0].Known:
		return false
	case flag(args, "--help", "-h") || is("looks", command):
		return true
	case is("mostly", command): // flags before the subcommand may have values
		return !slices.ContainsFunc(args, func(w shell.Word) bool { return !w.Known || is("mostly", command+"."+w.Text) })
	}
	if is("looks", command+"."+append(ops, shell.Word{})[1].Text) {
		return true
	}
	return slices.ContainsFunc(args, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-") &&
			is("looks", command+"."+w.Text)
	})
}

// changesObstat tells whether a text that is not understood runs obstat.
func changesObstat(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "obstat")
		if !ok {
			return false
		}
		rest = after
		word := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(after, "-hook"), ".exe"), " \t\"',[]()-")
		if slices.ContainsFunc(listed("changes"), func(c string) bool { return strings.HasPrefix(word, c) }) {
			return true
		}
	}
}

// kill looks at commands that end processes.
func (k *check) kill(c *effect.Command) *Finding {
	hit := false
	switch {
	case is("ends", c.Program):
		hit = matchesObstat(c.Args())
	case is("endsall", c.Program):
		hit = true
	case is("endsone", c.Program):
		all := len(c.Args()) > 1 && slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return w.Text == "-1" })
		hit = all || !c.Known && k.looksForObstat() || speaks(lower(k.a.Source), "obstat")
	default:
		hit = !c.ReadOnly && is("manages", c.Program) && strings.Contains(lower(c.Text), "obstat")
	}
	if hit {
		return &Finding{Part: c.Text, Why: "it would end obstat, which guards this agent; only a person allows that"}
	}
	return nil
}

// looksForObstat tells whether one of the commands looks for obstat's processes.
func (k *check) looksForObstat() bool {
	return slices.ContainsFunc(k.a.Commands, func(c effect.Command) bool {
		ops := operands(c.Args())
		return is("finds", c.Program) && len(ops) > 0 && matchesObstat(ops[:1])
	})
}

// processes are obstat's command lines.
var processes = []string{"obstat", "obstat-hook claude-code", "/usr/local/bin/obstat hook claude-code"}

// matchesObstat tells whether a pattern of processes takes obstat's.
func matchesObstat(args []shell.Word) bool {
	for _, w := range args {
		if !w.Known {
			return true
		}
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		re, err := pattern.Compile(pattern.Search, "(?i)"+w.Text)
		if err != nil || slices.ContainsFunc(processes, func(process string) bool {
			ok, err := re.Match(process)
			return ok || err != nil
		}) {
			return true
		}
	}
	return false
}

// forgets tells whether a command takes variables away: `unset HOME`, `env -i`.
func forgets(c effect.Command) bool {
	return slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
		switch {
		case is("unsets", c.Program):
			return !w.Known || is("moves", w.Text)
		case c.Program != "" && slices.ContainsFunc(listed("clears"), func(entry string) bool {
			program, word, _ := strings.Cut(entry, ":")
			return program == c.Program && (word == w.Text || word != "-" && flag([]shell.Word{w}, word))
		}):
			return true
		}
		return false
	})
}
